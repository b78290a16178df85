#include "lifeguard/safety/solve/semidefinite_program.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include "lifeguard/core/check.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::semidefinite_program_test {

using test_support::Draws;

Eigen::MatrixXd random_symmetric(Draws& draws, long n) {
  const Eigen::MatrixXd m = draws.normals(n, n);
  return m + m.transpose();
}

TEST(SemidefiniteProgram, FindsTheSmallestEigenvalue) {
  Draws draws(1);
  for (int trial = 0; trial < 20; ++trial) {
    const long n = draws.integer(1, 8);
    const Eigen::MatrixXd m = random_symmetric(draws, n);
    SemidefiniteProgram program(1);
    program.maximise(Eigen::VectorXd::Ones(1));
    const int place = program.require_semidefinite([&](const Eigen::VectorXd& y) {
      return Eigen::MatrixXd(m - y(0) * Eigen::MatrixXd::Identity(n, n));
    });
    const SemidefiniteResult result = program.solve();
    ASSERT_EQ(result.status, SemidefiniteStatus::solved);
    const double smallest =
        Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m).eigenvalues().minCoeff();
    EXPECT_NEAR(result.objective, smallest, 1e-5 * (1 + m.norm()));
    // The multiplier is the projector on the eigenvector.
    EXPECT_NEAR(result.weights[static_cast<std::size_t>(place)], 1, 1e-5);
  }
}

// A P with A P Aᵀ − P = −Q is the smallest of all with A P Aᵀ − P ⪯ −Q.
TEST(SemidefiniteProgram, FindsTheSolutionOfLyapunovsEquation) {
  Draws draws(2);
  for (int trial = 0; trial < 10; ++trial) {
    const long n = draws.integer(2, 4);
    Eigen::MatrixXd a = draws.normals(n, n);
    a *= 0.9 / a.eigenvalues().cwiseAbs().maxCoeff();
    Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(n, n);
    Eigen::MatrixXd power = Eigen::MatrixXd::Identity(n, n);
    for (int k = 0; k < 600; ++k, power = (a * power).eval()) {
      expected += power * power.transpose();
    }
    const auto matrix = [&](const Eigen::VectorXd& y) {
      Eigen::MatrixXd p(n, n);
      long next = 0;
      for (long j = 0; j < n; ++j) {
        for (long i = 0; i <= j; ++i) p(i, j) = p(j, i) = y(next++);
      }
      return p;
    };
    SemidefiniteProgram program(static_cast<int>(n * (n + 1) / 2));
    Eigen::VectorXd trace = Eigen::VectorXd::Zero(program.variables());
    for (long i = 0; i < n; ++i) trace(i * (i + 1) / 2 + i) = -1;
    program.maximise(trace);
    program.require_semidefinite([&](const Eigen::VectorXd& y) {
      const Eigen::MatrixXd p = matrix(y);
      return Eigen::MatrixXd(p - a * p * a.transpose() - Eigen::MatrixXd::Identity(n, n));
    });
    const SemidefiniteResult result = program.solve();
    ASSERT_EQ(result.status, SemidefiniteStatus::solved);
    EXPECT_LT((matrix(result.y) - expected).norm(), 1e-4 * expected.norm());
  }
}

// A linear program of numbers alone, a box: the corner that the objective points to.
TEST(SemidefiniteProgram, SolvesNumbersAsALinearProgram) {
  Draws draws(3);
  for (int trial = 0; trial < 10; ++trial) {
    const int n = draws.integer(1, 6);
    SemidefiniteProgram program(n);
    const Eigen::VectorXd c = draws.normals(n, 1);
    program.maximise(c);
    for (int i = 0; i < n; ++i) {
      program.require_not_negative(2, Eigen::VectorXd::Unit(n, i));
      program.require_not_negative(3, -Eigen::VectorXd::Unit(n, i));
    }
    const SemidefiniteResult result = program.solve();
    ASSERT_EQ(result.status, SemidefiniteStatus::solved);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(result.y(i), c(i) > 0 ? 3 : -2, 1e-4);
  }
}

// Random programs with matrices and numbers: the answer is feasible, and its multipliers' dual
// value is the same.
TEST(SemidefiniteProgram, RandomProgramsEndFeasibleAndNoPointNearbyIsBetter) {
  Draws draws(4);
  for (int trial = 0; trial < 20; ++trial) {
    const int variables = draws.integer(1, 5);
    const long n = draws.integer(2, 5);
    std::vector<Eigen::MatrixXd> factors;
    for (int i = 0; i < variables; ++i) factors.push_back(random_symmetric(draws, n));
    const auto matrix = [&](const Eigen::VectorXd& y) {
      Eigen::MatrixXd m = 5 * Eigen::MatrixXd::Identity(n, n);
      for (int i = 0; i < variables; ++i) m += y(i) * factors[static_cast<std::size_t>(i)];
      return m;
    };
    SemidefiniteProgram program(variables);
    const Eigen::VectorXd c = draws.normals(variables, 1);
    program.maximise(c);
    program.require_semidefinite(matrix);
    for (int i = 0; i < variables; ++i) {
      program.require_not_negative(4, Eigen::VectorXd::Unit(variables, i));
      program.require_not_negative(4, -Eigen::VectorXd::Unit(variables, i));
    }
    const SemidefiniteResult result = program.solve();
    ASSERT_EQ(result.status, SemidefiniteStatus::solved);
    const auto feasible = [&](const Eigen::VectorXd& y, double room) {
      return y.cwiseAbs().maxCoeff() <= 4 + room &&
             Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix(y)).eigenvalues()(0) >= -room;
    };
    EXPECT_TRUE(feasible(result.y, 1e-5));
    for (int k = 0; k < 200; ++k) {
      const Eigen::VectorXd other =
          result.y + draws.power(1e-3, 3) * Eigen::VectorXd(draws.normals(variables, 1));
      EXPECT_TRUE(!feasible(other, 0) || c.dot(other) <= result.objective + 1e-4);
    }
  }
}

TEST(SemidefiniteProgram, SaysWhatIsImpossibleAndWhatHasNoEnd) {
  SemidefiniteProgram impossible(1);
  impossible.maximise(Eigen::VectorXd::Ones(1));
  impossible.require_not_negative(-1, Eigen::VectorXd::Ones(1));   // y ≥ 1
  impossible.require_not_negative(-1, -Eigen::VectorXd::Ones(1));  // y ≤ -1
  EXPECT_EQ(impossible.solve().status, SemidefiniteStatus::infeasible);
  SemidefiniteProgram endless(1);
  endless.maximise(Eigen::VectorXd::Ones(1));
  endless.require_not_negative(1, Eigen::VectorXd::Ones(1));
  EXPECT_EQ(endless.solve().status, SemidefiniteStatus::unbounded);
}

TEST(SemidefiniteProgram, RefusesWhatIsNotFiniteOrNotSymmetric) {
  SemidefiniteProgram program(2);
  EXPECT_THROW(SemidefiniteProgram(0), InvalidInput);
  EXPECT_THROW(program.solve(), InvalidInput);
  EXPECT_THROW(program.require_not_negative(kNaN, Eigen::VectorXd::Ones(2)), InvalidInput);
  EXPECT_THROW(program.require_not_negative(0, Eigen::VectorXd::Ones(3)), InvalidInput);
  EXPECT_THROW(program.maximise(Eigen::VectorXd::Constant(2, kInfinity)), InvalidInput);
  EXPECT_THROW(program.require_semidefinite([](const Eigen::VectorXd&) {
    return Eigen::MatrixXd(Eigen::MatrixXd::Ones(2, 3));
  }),
               InvalidInput);
  EXPECT_THROW(program.require_semidefinite([](const Eigen::VectorXd&) {
    Eigen::MatrixXd m = Eigen::MatrixXd::Ones(2, 2);
    m(0, 1) = 2;
    return m;
  }),
               InvalidInput);
  program.require_not_negative(1, Eigen::Vector2d(1, 0));
  EXPECT_THROW(program.solve(), InvalidInput);  // the second variable stands nowhere
}

TEST(SemidefiniteProgram, KeepsADeadline) {
  SemidefiniteProgram program(1);
  program.require_not_negative(1, -Eigen::VectorXd::Ones(1));
  program.maximise(Eigen::VectorXd::Ones(1));
  const SemidefiniteResult result = program.solve(Deadline::after(0));
  EXPECT_EQ(result.status, SemidefiniteStatus::deadline_passed);
  EXPECT_FALSE(result.has_candidate());
  EXPECT_EQ(program.solve().status, SemidefiniteStatus::solved);
}

}  // namespace lifeguard::semidefinite_program_test
