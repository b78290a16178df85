#include "lifeguard/safety/solve/joint_descent.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>

#include "tests/support/projection_problems.hpp"

namespace lifeguard::joint_descent_test {

using test_support::Draws;
using test_support::RandomProjection;

struct Problem {
  RandomProjection data;
  TightenedTasks tightened;
  JointProblem joint;

  Problem(std::uint64_t seed, const test_support::ProjectionSize& size) {
    Draws draws(derive_seed(41, seed));
    data = test_support::random_projection(draws, size);
    tightened.tighten(data.tasks, 1e-10);
    joint = {&tightened.tasks(), &data.target,      1.3,   0.7,
             std::sqrt(data.p),  std::sqrt(data.q), 1e-10, {}};
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  double objective(const Knowledge& at) const {
    return joint.mu1 * (at.coefficients - data.target.coefficients).squaredNorm() +
           joint.mu2 * (at.basis - data.target.basis).squaredNorm();
  }
};

JointDescent::Outcome run(JointDescent& descent, const Problem& problem, int most = 1000) {
  descent.begin(problem.joint, problem.data.last, 0.05, 1e-10);
  JointDescent::Outcome outcome = JointDescent::Outcome::going_on;
  while (outcome == JointDescent::Outcome::going_on) {
    outcome = descent.advance(most);
    most -= descent.steps();
  }
  return outcome;
}

// Random small moves that stay feasible do not lower the objective by more than is left to gain.
TEST(JointDescent, EndsWhereNoSmallMoveIsBetter) {
  int stationary = 0;
  int reached = 0;
  long moves = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem(seed, {6, 4, 12, 5});
    JointDescent descent;
    const JointDescent::Outcome outcome = run(descent, problem);
    ASSERT_NE(outcome, JointDescent::Outcome::failed) << seed;
    if (outcome != JointDescent::Outcome::stationary) continue;
    ++stationary;
    if (test_support::unsafe_count(problem.data, problem.data.target) == 0) {
      ++reached;
      EXPECT_LT(descent.objective(), 1e-9 * problem.objective(problem.data.last)) << seed;
    }
    const Knowledge& at = descent.point();
    ASSERT_EQ(test_support::unsafe_count(problem.data, at), 0) << seed;
    const double value = problem.objective(at);
    EXPECT_DOUBLE_EQ(value, descent.objective());
    Draws draws(derive_seed(42, seed));
    for (int i = 0; i < 300; ++i) {
      const double length = draws.power(1e-9, 1e-2);
      Knowledge moved = at;
      // Half of them towards the target, where lower values are.
      const double share = draws.chance(0.5) ? length : 0;
      moved.basis += share * (problem.data.target.basis - at.basis) +
                     length * draws.normals(at.parameters(), at.basis_size());
      moved.coefficients += share * (problem.data.target.coefficients - at.coefficients) +
                            length * draws.normals(at.basis_size(), at.tasks());
      if (test_support::unsafe_count(problem.data, moved) > 0) continue;
      ++moves;
      EXPECT_GE(problem.objective(moved), value * (1 - 1e-6)) << seed << " " << length;
    }
  }
  // In eight problems a thousand steps are too few: p and q, or opposite rows, are a millionth
  // apart, and a straight step soon leaves what lies between them.
  EXPECT_EQ(stationary, 52);
  // In others the target itself is inside.
  EXPECT_GE(reached, 10);
  EXPECT_GT(moves, 200);
}

TEST(JointDescent, EveryPointOnTheWayIsStrictlyInside) {
  const Problem problem(7, {8, 8, 20, 6});
  for (int most = 1; most < 30; most += 4) {
    JointDescent descent;
    EXPECT_EQ(run(descent, problem, most), JointDescent::Outcome::step_limit);
    EXPECT_EQ(test_support::unsafe_count(problem.data, descent.point()), 0) << most;
  }
}

TEST(JointDescent, SaysWhatEndedIt) {
  Problem late(8, {6, 6, 10, 4});
  late.joint.deadline = Deadline::after(0);
  JointDescent descent;
  EXPECT_EQ(run(descent, late), JointDescent::Outcome::time_limit);

  Problem overflowing(9, {6, 6, 10, 4});
  overflowing.data.target.basis *= 1e200;
  EXPECT_EQ(run(descent, overflowing), JointDescent::Outcome::failed);

  Problem large(10, {6, 6, 10, 1});
  large.data.last.basis = Eigen::MatrixXd::Identity(51, 50);
  EXPECT_EQ(run(descent, large), JointDescent::Outcome::too_large);
}

}  // namespace lifeguard::joint_descent_test
