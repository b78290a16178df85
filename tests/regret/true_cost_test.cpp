#include "lifeguard/regret/true_cost.hpp"

#include <gtest/gtest.h>

#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::true_cost_test {

TEST(TrueCost, IsTheNoiseFreeCostFromFixedStartStates) {
  const Task task = cart_pole_family().draw(1, 0);
  const Eigen::VectorXd alpha = parameters_from_gains(lqr_gains(task));
  RolloutSettings rollouts;
  rollouts.trajectories = 7;
  rollouts.seed = 3;
  const GaussianPolicy quiet = GaussianPolicy::from_parameters(alpha, 1, 0.0);
  EXPECT_EQ(true_cost(task, alpha, {7, 150, 3}), evaluate(task, quiet, rollouts).mean_cost);
  EXPECT_GT(true_cost(task, alpha, {7, 150, 3, true}), true_cost(task, alpha, {7, 150, 3}));
}

// Against a fine grid over a box that cuts LQR off.
TEST(TrueCost, FindsTheBestSafePolicyOfAMass) {
  const Task task = mass_spring_family().draw(2, 0);
  const Eigen::VectorXd lqr = parameters_from_gains(lqr_gains(task));
  const Eigen::VectorXd side = 0.5 * lqr.cwiseAbs();
  const SafeSet box = gain_box(-side, side, default_gain_names(1, 2));
  BestPolicySettings settings;
  settings.cost.start_states = 10;
  const BestPolicy best = best_known_policy(task, box, {}, settings);
  EXPECT_EQ(best.status, BestPolicyStatus::from_projection);
  EXPECT_TRUE(strictly_safe(box, best.alpha));
  EXPECT_LE(best.cost, best.candidate_cost);
  double grid = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= 60; ++i) {
    for (int j = 0; j <= 60; ++j) {
      const Eigen::Vector2d alpha(side(0) * (i / 30.0 - 1), side(1) * (j / 30.0 - 1));
      grid = std::min(grid, true_cost(task, alpha, settings.cost));
    }
  }
  EXPECT_NEAR(best.cost, grid, 1e-3 * grid);
  const BestPolicy free = best_known_policy(task, SafeSet(2), {best.alpha}, settings);
  EXPECT_EQ(free.status, BestPolicyStatus::from_candidate);
  EXPECT_LT(free.cost, best.cost);
}

TEST(TrueCost, IntegratesGapsBetweenMeasuredRounds) {
  EXPECT_DOUBLE_EQ(integrated_regret({1, 2, 3}, {5, 3, 1}, 3), 9);
  EXPECT_DOUBLE_EQ(integrated_regret({1, 5}, {4, 0}, 5), 4 + 3 + 2 + 1 + 0);
  EXPECT_DOUBLE_EQ(integrated_regret({2, 4}, {1, 3}, 4), 1 + 1 + 2 + 3);
  EXPECT_DOUBLE_EQ(integrated_regret({1, 5}, {4, 0}, 2), 7);
  EXPECT_THROW(integrated_regret({1, 5}, {4, 0}, 6), InvalidInput);
  EXPECT_EQ(log_spaced_rounds(100, 1), (std::vector<long>{1, 10, 100}));
  EXPECT_EQ(log_spaced_rounds(30, 2), (std::vector<long>{1, 3, 10, 30}));
}

}  // namespace lifeguard::true_cost_test
