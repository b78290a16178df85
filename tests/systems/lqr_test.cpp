#include "lifeguard/systems/lqr.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "tests/support/invalid_input.hpp"
#include "tests/support/tasks.hpp"

#include "lifeguard/systems/built_in_systems.hpp"

namespace lifeguard::lqr_test {

LqrResult solve(const Task& task) {
  return solve_lqr(task.linearise(), task.settings.state_weights.asDiagonal(),
                   task.settings.action_weights.asDiagonal());
}

/// P = Q + K'RK + (A + BK)' P (A + BK), which has the solution's P only with the optimal K, and the
/// residual of the Riccati equation itself; both relative to the largest entry of P.
double riccati_residual(const Task& task, const LqrResult& lqr) {
  const LinearModel model = task.linearise();
  const Eigen::MatrixXd q = task.settings.state_weights.asDiagonal();
  const Eigen::MatrixXd r = task.settings.action_weights.asDiagonal();
  const Eigen::MatrixXd& p = lqr.cost_to_go;
  const Eigen::MatrixXd pb = p * model.b;
  const Eigen::MatrixXd s = r + model.b.transpose() * pb;
  const Eigen::MatrixXd riccati =
      q + model.a.transpose() * (p - pb * s.inverse() * pb.transpose()) * model.a - p;
  const Eigen::MatrixXd closed = model.a + model.b * lqr.gains;
  const Eigen::MatrixXd lyapunov =
      q + lqr.gains.transpose() * r * lqr.gains + closed.transpose() * p * closed - p;
  return std::max(riccati.cwiseAbs().maxCoeff(), lyapunov.cwiseAbs().maxCoeff()) /
         p.cwiseAbs().maxCoeff();
}

class EveryFamily : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, EveryFamily, ::testing::ValuesIn(family_names()),
                         [](const auto& name) {
                           std::string label = name.param;
                           std::replace(label.begin(), label.end(), '-', '_');
                           return label;
                         });

TEST_P(EveryFamily, RiccatiResidualAndStableLoopForAThousandTasks) {
  const Family family = family_by_name(GetParam());
  double worst_residual = 0, largest_radius = 0, smallest_eigenvalue = 1;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const Task task = family.draw(2015, index);
    const LqrResult lqr = solve(task);
    ASSERT_EQ(lqr.status, LqrStatus::solved) << task.name;
    worst_residual = std::max({worst_residual, riccati_residual(task, lqr), lqr.relative_residual});
    const LinearModel model = task.linearise();
    const Eigen::MatrixXd closed = model.a + model.b * lqr.gains;
    largest_radius = std::max(largest_radius, closed.eigenvalues().cwiseAbs().maxCoeff());
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> p(lqr.cost_to_go);
    smallest_eigenvalue = std::min(smallest_eigenvalue, p.eigenvalues()(0));
  }
  EXPECT_LT(worst_residual, 1e-11);
  EXPECT_LT(largest_radius, 0.999);
  EXPECT_GT(smallest_eigenvalue, 0);
}

TEST_P(EveryFamily, EveryIntegratorHasAStableLoop) {
  for (const auto integrator : test_support::kIntegrators) {
    for (std::uint64_t index = 0; index < 50; ++index) {
      Task task = family_by_name(GetParam()).draw(2016, index);
      task.settings.integrator = integrator;
      const LqrResult lqr = solve(task);
      ASSERT_EQ(lqr.status, LqrStatus::solved);
      EXPECT_LT(riccati_residual(task, lqr), 1e-11);
    }
  }
}

/// Cost of 3,000 steps of the task itself under u = K x, from near the goal, where it is linear.
double horizon_cost(const Task& task, const Eigen::MatrixXd& gains) {
  double cost = 0;
  for (std::uint64_t n = 0; n < 2; ++n) {
    Eigen::VectorXd x = test_support::random_vector(task.states(), 1e-3, n);
    for (int m = 0; m < 3000; ++m) {
      const Eigen::VectorXd u = gains * x;
      cost += task.cost(x, u);
      x = task.step(x, u);
    }
  }
  return cost;
}

TEST(Lqr, EveryChangeOfTheGainsCostsMore) {
  for (const Task& task : test_support::built_in_tasks()) {
    const Eigen::MatrixXd gains = lqr_gains(task);
    const double best = horizon_cost(task, gains);
    ASSERT_TRUE(std::isfinite(best));
    for (std::uint64_t n = 0; n < 10; ++n) {
      const Eigen::MatrixXd change =
          test_support::random_matrix(task.actions(), task.states(), 0.01 * gains.norm(), n);
      // Towards either side, so a gradient that is not zero would show.
      EXPECT_GT(horizon_cost(task, gains + change), best) << task.name;
      EXPECT_GT(horizon_cost(task, gains - change), best) << task.name;
    }
  }
}

TEST(Lqr, CostToGoIsTheCostOfTheLinearLoop) {
  for (const Task& task : test_support::built_in_tasks()) {
    const LqrResult lqr = solve(task);
    double predicted = 0;
    for (std::uint64_t n = 0; n < 2; ++n) {
      const Eigen::VectorXd x = test_support::random_vector(task.states(), 1e-3, n);
      predicted += x.dot(lqr.cost_to_go * x);
    }
    EXPECT_NEAR(horizon_cost(task, lqr.gains) / predicted, 1, 1e-4) << task.name;
  }
}

TEST(Lqr, BiasHoldsAMassAtItsGoal) {
  Task task = make_task("mass", MassSpring{.actuator_gain = 2});
  task.settings.goal << 0.7, 0;
  const Features features{.bias = true};
  const Eigen::MatrixXd gains = lqr_policy_gains(task, features);
  const auto closed_step = [&](const Eigen::VectorXd& x) {
    return task.step(x, gains * features.evaluate(x, task.settings.goal));
  };
  EXPECT_TRUE(closed_step(task.settings.goal).isApprox(task.settings.goal, 1e-15));
  Eigen::VectorXd x = Eigen::Vector2d(-1, 1);
  for (int m = 0; m < 1000; ++m) x = closed_step(x);
  EXPECT_NEAR(x(0), 0.7, 1e-9);
  EXPECT_NEAR(x(1), 0, 1e-9);
  // Without the bias the spring pulls it off.
  const Eigen::VectorXd pulled = task.step(task.settings.goal, Eigen::VectorXd::Zero(1));
  EXPECT_LT(pulled(1), -0.01);
}

TEST(Lqr, PolicyGainsAreZeroOnSecondOrderTerms) {
  for (const Task& task : test_support::built_in_tasks()) {
    const Features features{.bias = true, .second_order = true};
    const Eigen::MatrixXd gains = lqr_policy_gains(task, features);
    ASSERT_EQ(gains.cols(), features.count(task.states()));
    EXPECT_EQ(gains.leftCols(task.states()), lqr_gains(task));
    EXPECT_TRUE(gains.rightCols(gains.cols() - task.states() - 1).isZero(0));
  }
}

TEST(Lqr, ResultIsBornNotRun) {
  const LqrResult result;
  EXPECT_EQ(result.status, LqrStatus::not_run);
  EXPECT_TRUE(std::isnan(result.relative_residual));
}

TEST(Lqr, UnreachableUnstableModeIsNotSolved) {
  LinearModel model{Eigen::Matrix2d::Identity() * 1.5, Eigen::MatrixXd::Zero(2, 1)};
  model.b(0, 0) = 1;
  const LqrResult result =
      solve_lqr(model, Eigen::Matrix2d::Identity(), Eigen::MatrixXd::Identity(1, 1));
  EXPECT_EQ(result.status, LqrStatus::not_converged);
}

TEST(Lqr, AnActionWithoutWeightIsRefused) {
  Task task = make_task("quadrotor", Quadrotor{});
  task.settings.action_weights(2) = 0;
  test_support::expect_invalid([&] { lqr_gains(task); }, "action_weights[2]", "0",
                               "greater than 0");
}

}  // namespace lifeguard::lqr_test
