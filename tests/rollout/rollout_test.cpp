#include "lifeguard/rollout/rollout.hpp"

#include <gtest/gtest.h>

#include "lifeguard/rollout/kernel.hpp"
#include "lifeguard/tasks/lqr.hpp"
#include "tests/support/scalar_rollout.hpp"

namespace lifeguard {
namespace {

Task task_of(int kind) {
  if (kind == 0) return make_task("mass", MassSpring{});
  if (kind == 1) return make_task("cart", CartPole{});
  return make_task("quadrotor", Quadrotor{});
}

class EverySystem : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Systems, EverySystem, ::testing::Values(0, 1, 2));

TEST_P(EverySystem, KernelAgreesWithThePlainLoop) {
  const Task task = task_of(GetParam());
  RolloutSettings settings;
  settings.trajectories = 37;
  settings.seed = 11;
  settings.first_index = 1000;
  const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
  const Trajectories fast = rollout(task, policy, settings);
  Trajectories plain;
  testing::scalar_rollout(task, policy, settings, plain);
  for (int i = 0; i < settings.trajectories; ++i) {
    ASSERT_EQ(fast.length(i), plain.length(i));
    for (int m = 0; m < settings.steps; ++m) {
      ASSERT_NEAR(fast.cost(i, m), plain.cost(i, m), 1e-9 * (1 + plain.cost(i, m)));
      for (int f = 0; f < fast.features(); ++f) {
        ASSERT_NEAR(fast.feature(i, m, f), plain.feature(i, m, f), 1e-9);
      }
      for (int a = 0; a < fast.actions(); ++a) {
        ASSERT_NEAR(fast.action(i, m, a), plain.action(i, m, a), 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace lifeguard
