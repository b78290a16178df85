// The noise of each action as it is played: its own deviation and its own limit, in every kernel.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/regret/true_cost.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::action_noise_rollout_test {

/// Goes where its three actions say, for doubles only.
struct Follower {
  static constexpr int kStates = 3;
  static constexpr int kActions = 3;
  std::array<double, 3> start(const CounterRandom& /*random*/) const { return {0, 0, 0}; }
  std::array<double, 3> step(const std::array<double, 3>& /*x*/,
                             const std::array<double, 3>& u) const {
    return u;
  }
  double cost(const std::array<double, 3>& /*x*/, const std::array<double, 3>& u) const {
    return u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  }
};

PerAction list(std::initializer_list<double> values) {
  Eigen::VectorXd each(static_cast<Eigen::Index>(values.size()));
  std::copy(values.begin(), values.end(), each.begin());
  return PerAction(std::move(each));
}

/// Deviation and largest size of the actions of a policy without gains, of each action.
struct Spread {
  Eigen::VectorXd deviation;
  Eigen::VectorXd largest;

  explicit Spread(const Trajectories& t)
      : deviation(Eigen::VectorXd::Zero(t.actions())), largest(Eigen::VectorXd::Zero(t.actions())) {
    for (int a = 0; a < t.actions(); ++a) {
      for (int i = 0; i < t.count(); ++i) {
        for (int m = 0; m < t.length(i); ++m) {
          deviation(a) += std::pow(t.action(i, m, a), 2) / (t.count() * t.steps());
          largest(a) = std::max(largest(a), std::abs(t.action(i, m, a)));
        }
      }
    }
    deviation = deviation.cwiseSqrt();
  }
};

TEST(ActionNoiseRollout, EachActionHasItsOwnDeviationAndLimit) {
  Task follower = make_task("follower", make_custom_system(Follower{}));
  Task quadrotor = make_task("quadrotor", Quadrotor{});
  for (Task* task : {&follower, &quadrotor}) {
    const int actions = task->actions();
    Eigen::VectorXd sigma(actions);
    Eigen::VectorXd limit(actions);
    for (int a = 0; a < actions; ++a) {
      sigma(a) = 0.001 * std::pow(10, a);
      limit(a) = a == 1 ? kInfinity : sigma(a) * (1.2 + a);
    }
    task->settings.sigma = PerAction(sigma);
    task->settings.noise_limit = PerAction(limit);
    task->settings.failure_bounds.setConstant(kInfinity);
    task->settings.action_low.setConstant(-kInfinity);
    task->settings.action_high.setConstant(kInfinity);
    const GaussianPolicy policy(Eigen::MatrixXd::Zero(actions, task->inputs()),
                                task->settings.sigma);
    for (const std::string& target : simd_targets()) {
      select_simd_target(target);
      const Spread spread(rollout(*task, policy, {.trajectories = 300, .steps = 100, .seed = 3}));
      for (int a = 0; a < actions; ++a) {
        EXPECT_NEAR(spread.deviation(a), sigma(a), 0.02 * sigma(a)) << target << ' ' << a;
        if (a == 1) continue;
        EXPECT_EQ(spread.largest(a), limit(a)) << target << ' ' << a;
      }
      EXPECT_GT(spread.largest(1), 3 * sigma(1));
    }
    select_simd_target("");
  }
}

TEST(ActionNoiseRollout, TheDrawsOfAnActionDoNotDependOnTheOthersNoise) {
  const Task follower = make_task("follower", make_custom_system(Follower{}));
  const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(3, 3);
  const RolloutSettings settings{.trajectories = 20, .steps = 30, .seed = 4};
  const Trajectories one = rollout(follower, {none, 1.0}, settings);
  const Trajectories each = rollout(follower, {none, list({1, 8, 0})}, settings);
  for (int i = 0; i < one.count(); ++i) {
    for (int m = 0; m < one.steps(); ++m) {
      ASSERT_EQ(each.action(i, m, 0), one.action(i, m, 0));
      ASSERT_EQ(each.action(i, m, 1), 8 * one.action(i, m, 1));
      ASSERT_EQ(each.action(i, m, 2), 0);
    }
  }
  // A list of equal numbers is that number, to the bit.
  EXPECT_TRUE(rollout(follower, {none, list({1, 1, 1})}, settings) == one);
}

TEST(ActionNoiseRollout, TrueCostsExploreWithEachActionsNoise) {
  Task task = make_task("follower", make_custom_system(Follower{}));
  task.settings.sigma = list({1, 2, 3});
  TrueCostSettings settings;
  settings.start_states = 2000;
  settings.steps = 50;
  settings.exploration = true;
  EXPECT_NEAR(true_cost(task, Eigen::VectorXd::Zero(9), settings), 1 + 4 + 9, 0.1);
}

TEST(ActionNoiseRollout, RefusesListsThatDoNotFit) {
  Task task = make_task("follower", make_custom_system(Follower{}));
  const auto refusal = [&](PerAction sigma, PerAction limit) -> std::string {
    task.settings.sigma = std::move(sigma);
    task.settings.noise_limit = std::move(limit);
    try {
      task.validate();
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(list({1, 2, 3}), list({4, 4, 4})), "");
  EXPECT_EQ(refusal(list({1, 2}), kInfinity),
            "sigma = [1, 2]: must be one number, or 3: one for each action");
  EXPECT_EQ(refusal(list({1, -2, 1}), kInfinity), "sigma[1] = -2: must be finite and at least 0");
  EXPECT_EQ(refusal(list({1, 2, 3}), 2.5),
            "noise_limit = 2.5: must be greater than sigma; infinity means none");
  EXPECT_EQ(refusal(1.0, list({2, 1, 2})),
            "noise_limit[1] = 1: must be greater than sigma; infinity means none");
}

}  // namespace lifeguard::action_noise_rollout_test
