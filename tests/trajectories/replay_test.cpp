// A batch replayed with the scalar definitions: CounterRandom, Features, Task::step, Task::cost.
// Start, features, actions, states and lengths must agree to the bit, because the kernel runs the
// same templates on vectors and every operation in them rounds correctly. Costs agree to 1e-12
// only: the kernel fuses multiplications into its sums and Task::cost does not.

#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::replay_test {

/// K φ + σ z in the order of the kernel, each product fused into the sum.
double noisy_action(const GaussianPolicy& policy, int a, const Eigen::VectorXd& phi, double z) {
  double u = policy.gains()(a, 0) * phi(0);
  for (int f = 1; f < policy.features(); ++f) u = std::fma(policy.gains()(a, f), phi(f), u);
  return policy.noise().largest() > 0 ? std::fma(policy.sigma(a), z, u) : u;
}

void expect_replays(const Task& task, const GaussianPolicy& policy,
                    const RolloutSettings& settings) {
  const Trajectories batch = rollout(task, policy, settings);
  for (int i = 0; i < settings.trajectories; ++i) {
    const std::uint64_t index = settings.first_index + static_cast<std::uint64_t>(i);
    const CounterRandom start(settings.seed, RandomStream::start_state, index);
    const CounterRandom noise(settings.seed, RandomStream::exploration, index);
    Eigen::VectorXd x(task.states());
    for (int n = 0; n < task.states(); ++n) {
      x(n) = start.uniform(static_cast<std::uint32_t>(n), task.settings.start_low(n),
                           task.settings.start_high(n));
    }
    int m = 0;
    for (; m < settings.steps && !task.failed(x); ++m) {
      const Eigen::VectorXd phi = settings.features.evaluate(x, task.settings.goal);
      for (int f = 0; f < phi.size(); ++f) ASSERT_EQ(batch.feature(i, m, f), phi(f));
      Eigen::VectorXd u(task.actions());
      for (int a = 0; a < task.actions(); ++a) {
        const auto n = static_cast<std::uint32_t>(m * task.actions() + a);
        u(a) = noisy_action(policy, a, phi, noise.normal(n));
        ASSERT_EQ(batch.action(i, m, a), u(a));
      }
      const double cost = task.cost(x, u);
      ASSERT_NEAR(batch.cost(i, m), cost, 1e-12 * (1 + cost));
      x = task.step(x, u);
    }
    ASSERT_EQ(batch.length(i), m);
    for (; m < settings.steps; ++m) ASSERT_EQ(batch.cost(i, m), task.settings.failure_cost);
  }
}

TEST(Replay, EverySystemIntegratorAndFeatureMap) {
  for (Task task : test_support::built_in_tasks()) {
    task.settings.goal(0) = 0.1;
    for (const auto integrator : test_support::kIntegrators) {
      task.settings.integrator = integrator;
      for (const bool bias : {false, true}) {
        for (const bool second_order : {false, true}) {
          const Features features{bias, second_order};
          for (const GaussianPolicy& policy : test_support::assorted_policies(task, features)) {
            expect_replays(task, policy,
                           {.trajectories = 7, .steps = 61, .seed = 3, .features = features});
          }
        }
      }
    }
  }
}

TEST(Replay, IndicesBeyond32Bits) {
  const Task task = make_task("quadrotor", Quadrotor{});
  const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
  for (const std::uint64_t first : {(1ull << 32) - 3, (1ull << 53) + 1, ~0ull - 4}) {
    expect_replays(task, policy,
                   {.trajectories = 10, .steps = 10, .seed = ~0ull, .first_index = first});
  }
}

}  // namespace lifeguard::replay_test
