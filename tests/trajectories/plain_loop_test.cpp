// The vectorised kernels against a plain scalar loop with the C library's mathematics.

#include <gtest/gtest.h>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/scalar_rollout.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::plain_loop_test {

void expect_near(const Trajectories& fast, const Trajectories& plain) {
  const auto near = [](double a, double b) {
    return std::fabs(a - b) <= 1e-9 * (1 + std::fabs(b));
  };
  for (int i = 0; i < plain.count(); ++i) {
    ASSERT_EQ(fast.length(i), plain.length(i)) << i;
    for (int m = 0; m < plain.steps(); ++m) {
      ASSERT_TRUE(near(fast.cost(i, m), plain.cost(i, m))) << i << ' ' << m;
      for (int f = 0; f < plain.features(); ++f) {
        ASSERT_TRUE(near(fast.feature(i, m, f), plain.feature(i, m, f))) << i << ' ' << m;
      }
      for (int a = 0; a < plain.actions(); ++a) {
        ASSERT_TRUE(near(fast.action(i, m, a), plain.action(i, m, a))) << i << ' ' << m;
      }
    }
  }
}

TEST(PlainLoop, AgreesForEverySystemAndPolicy) {
  for (const Task& task : test_support::built_in_tasks()) {
    int failed = 0;
    for (const GaussianPolicy& policy : test_support::assorted_policies(task, Features{})) {
      for (const std::uint64_t first_index : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 20}) {
        const RolloutSettings settings{
            .trajectories = 37, .steps = 122, .seed = 11, .first_index = first_index};
        const Trajectories fast = rollout(task, policy, settings);
        Trajectories plain;
        test_support::scalar_rollout(task, policy, settings, plain);
        expect_near(fast, plain);
        failed += fast.failed();
      }
    }
    // A system with failure bounds must have had failures to agree on.
    if (task.settings.failure_bounds.minCoeff() < kInfinity) {
      EXPECT_GT(failed, 20) << task.name;
    }
  }
}

TEST(PlainLoop, AgreesForDrawnTasks) {
  for (const Family& family : test_support::built_in_families()) {
    for (std::uint64_t index = 0; index < 5; ++index) {
      const Task task = family.draw(8, index);
      const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
      const RolloutSettings settings{.trajectories = 9, .seed = index};
      Trajectories plain;
      test_support::scalar_rollout(task, policy, settings, plain);
      expect_near(rollout(task, policy, settings), plain);
    }
  }
}

TEST(PlainLoop, AgreesOnTrajectoriesThatStartAsFailures) {
  Task task = make_task("cart-pole", CartPole{});
  task.settings.start_low(2) = -0.9;
  task.settings.start_high(2) = 0.9;
  const GaussianPolicy policy(lqr_gains(task), 1);
  const RolloutSettings settings{.trajectories = 50, .steps = 20};
  const Trajectories fast = rollout(task, policy, settings);
  Trajectories plain;
  test_support::scalar_rollout(task, policy, settings, plain);
  expect_near(fast, plain);
  int at_once = 0;
  for (int i = 0; i < 50; ++i) at_once += fast.length(i) == 0 ? 1 : 0;
  EXPECT_GT(at_once, 5);
  EXPECT_LT(at_once, 40);
}

}  // namespace lifeguard::plain_loop_test
