// A user's own equations, compiled for vectors: the bits of the form for doubles on every SIMD
// target, and those of a built-in system with the same equations.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "examples/fast_pendulum.hpp"
#include "examples/pendulum.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/own_cart_pole.hpp"
#include "tests/support/own_faulty.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::compiled_system_test {

using test_support::OwnCartPole;
using test_support::OwnFaulty;
using test_support::same_bits;
using test_support::well_formed;

/// The same equations in the form for doubles.
template <class S>
struct ForDoubles {
  static constexpr int kStates = S::kStates;
  static constexpr int kActions = S::kActions;
  using State = std::array<double, kStates>;
  using Action = std::array<double, kActions>;
  S own;

  State start(const CounterRandom& random) const { return own.start(random); }
  State step(const State& x, const Action& u) const {
    State next{};
    S::equations().step(&own, x.data(), u.data(), next.data());
    return next;
  }
  double cost(const State& x, const Action& u) const {
    return S::equations().cost(&own, x.data(), u.data());
  }
  bool failed(const State& x) const { return S::equations().failed(&own, x.data()); }
};
template <class S>
struct WithFeatures : ForDoubles<S> {
  static constexpr int kFeatures = S::kFeatures;
  std::array<double, kFeatures> features(const std::array<double, S::kStates>& x) const {
    std::array<double, kFeatures> out{};
    S::equations().features(&this->own, x.data(), out.data());
    return out;
  }
};

/// One batch of both tasks on every target; gives the batch.
Trajectories expect_same_bits(const Task& compiled, const Task& other, const GaussianPolicy& policy,
                              const RolloutSettings& settings) {
  Trajectories expected = rollout(other, policy, settings);
  const Evaluation evaluation = evaluate(other, policy, settings);
  EXPECT_TRUE(well_formed(expected, other.settings.failure_cost));
  for (const std::string& target : simd_targets()) {
    select_simd_target(target);
    EXPECT_TRUE(same_bits(rollout(compiled, policy, settings), expected)) << target;
    EXPECT_TRUE(same_bits(rollout(other, policy, settings), expected)) << target;
    const Evaluation own = evaluate(compiled, policy, settings);
    EXPECT_EQ(own.mean_cost, evaluation.mean_cost) << target;
    EXPECT_EQ(own.failed, evaluation.failed) << target;
    EXPECT_EQ(own.diverged, evaluation.diverged) << target;
    select_simd_target("");
  }
  return expected;
}

/// The cart-pole in three forms with the settings of the built-in one.
struct CartPoles {
  Task built_in, compiled, for_doubles;

  explicit CartPoles(const TaskSettings& settings, bool own_failure = false)
      : built_in(make_task("cart-pole", CartPole{}, settings)) {
    OwnCartPole own;
    own.integrator = settings.integrator;
    for (unsigned i = 0; i < 4; ++i) own.goal[i] = settings.goal(i);
    TaskSettings others = settings;
    if (own_failure) {
      own.position_limit = settings.failure_bounds(0);
      own.angle_limit = settings.failure_bounds(2);
      others.failure_bounds.setConstant(kInfinity);
    }
    compiled = make_task("own", make_custom_system(own), others);
    for_doubles = make_task("own", make_custom_system(ForDoubles<OwnCartPole>{own}), others);
  }
};

TEST(CompiledSystem, HasTheBitsOfTheBuiltInCartPole) {
  int failed = 0, diverged = 0;
  for (const Integrator integrator : test_support::kIntegrators) {
    TaskSettings settings = CartPole::default_settings();
    settings.integrator = integrator;
    settings.goal(0) = 0.1;
    for (const Features& features : {Features{}, Features{true, false}, Features{true, true}}) {
      for (const bool own_failure : {false, true}) {
        const CartPoles carts(settings, own_failure);
        for (const GaussianPolicy& policy :
             test_support::assorted_policies(carts.built_in, features)) {
          const RolloutSettings batch{.trajectories = 37,
                                      .steps = 43,
                                      .seed = 4,
                                      .first_index = (1ull << 32) - 30,
                                      .features = features};
          failed += expect_same_bits(carts.compiled, carts.built_in, policy, batch).failed();
          expect_same_bits(carts.for_doubles, carts.built_in, policy, batch);
        }
      }
    }
  }
  // Without limits some of them leave every range.
  TaskSettings settings = CartPole::default_settings();
  settings.failure_bounds.setConstant(kInfinity);
  settings.action_low.setConstant(-kInfinity);
  settings.action_high.setConstant(kInfinity);
  const CartPoles carts(settings);
  for (const double gain : {10.0, 1e4, 1e200}) {
    const GaussianPolicy policy(Eigen::RowVector4d::Constant(gain), 1.0);
    const RolloutSettings batch{.trajectories = 21, .steps = 60};
    diverged += expect_same_bits(carts.compiled, carts.built_in, policy, batch).diverged();
    expect_same_bits(carts.for_doubles, carts.built_in, policy, batch);
  }
  EXPECT_GT(failed, 100);
  EXPECT_GT(diverged, 30);
}

TEST(CompiledSystem, HasTheBitsOfTheBuiltInOneWithClippedNoiseAndTightActions) {
  TaskSettings settings = CartPole::default_settings();
  settings.noise_limit = 1.5;
  settings.action_low.setConstant(-0.7);
  settings.action_high.setConstant(0.4);
  const CartPoles carts(settings);
  const GaussianPolicy policy(lqr_gains(carts.built_in), 1.0);
  expect_same_bits(carts.compiled, carts.built_in, policy, {.trajectories = 50});
  expect_same_bits(carts.for_doubles, carts.built_in, policy, {.trajectories = 50});
}

TEST(CompiledSystem, HasTheBitsOfItsFormForDoubles) {
  const Task compiled = make_task("pendulum", make_custom_system(FastPendulum{}));
  const Task for_doubles = make_task("pendulum", make_custom_system(WithFeatures<FastPendulum>{}),
                                     FastPendulum::default_settings());
  for (const double sigma : {0.0, 0.3, 5.0}) {
    for (const int count : {1, 7, 50, 130}) {
      const GaussianPolicy policy(Eigen::RowVector3d(0.5, -10, -2), sigma);
      const Trajectories batch = expect_same_bits(compiled, for_doubles, policy,
                                                  {.trajectories = count, .steps = 101, .seed = 9});
      EXPECT_EQ(batch.failed(), 0);
    }
  }
}

TEST(CompiledSystem, LargeBatchesAreTheirTrajectoriesOneByOne) {
  // More than are written past the caches, with a last part that is not whole.
  const RolloutSettings large{.trajectories = kLargeBatch + 3, .steps = 300, .seed = 5};
  const Task compiled = make_task("pendulum", make_custom_system(FastPendulum{}));
  const CartPoles carts(CartPole::default_settings());
  const GaussianPolicy swing(Eigen::RowVector3d(0.5, -10, -2), 0.3);
  const GaussianPolicy hold(-0.5 * lqr_gains(carts.built_in), 1.0);
  for (const auto& [task, policy] : {std::pair{compiled, swing},
                                     {carts.built_in, hold},
                                     {carts.compiled, hold},
                                     {carts.for_doubles, hold}}) {
    for (const std::string& target : simd_targets()) {
      select_simd_target(target);
      const Trajectories whole = rollout(task, policy, large);
      EXPECT_TRUE(well_formed(whole, task.settings.failure_cost)) << target;
      RolloutSettings threads = large;
      threads.threads = 2;
      EXPECT_TRUE(same_bits(rollout(task, policy, threads), whole)) << target;
      RolloutSettings part = large;
      part.trajectories = 30;
      part.first_index = 490;
      const Trajectories some = rollout(task, policy, part);
      for (int i = 0; i < 25; ++i) {
        for (int m = 0; m < large.steps; ++m) {
          ASSERT_EQ(some.cost(i, m), whole.cost(490 + i, m)) << target;
          ASSERT_EQ(some.action(i, m, 0), whole.action(490 + i, m, 0)) << target;
          ASSERT_EQ(some.feature(i, m, 2), whole.feature(490 + i, m, 2)) << target;
        }
      }
      select_simd_target("");
    }
  }
}

TEST(CompiledSystem, IsThePendulumOfTheSimpleForm) {
  const Task compiled = make_task("pendulum", make_custom_system(FastPendulum{}));
  const Task simple = make_task("pendulum", make_custom_system(Pendulum{}));
  for (int i = 0; i < 200; ++i) {
    const Eigen::VectorXd x = test_support::random_vector(2, 8.0, 2 * i);
    const Eigen::VectorXd u = test_support::random_vector(1, 4.0, 2 * i + 1);
    EXPECT_TRUE(compiled.step(x, u).isApprox(simple.step(x, u), 1e-13));
    EXPECT_NEAR(compiled.cost(x, u), simple.cost(x, u), 1e-12);
    EXPECT_TRUE(compiled.input(x).isApprox(simple.input(x), 1e-13));
    EXPECT_FALSE(compiled.failed(x));
  }
  const GaussianPolicy policy(Eigen::RowVector3d(0, -10, -2), 0.3);
  EXPECT_NEAR(evaluate(compiled, policy, {}).mean_cost, evaluate(simple, policy, {}).mean_cost,
              1e-6);
}

TEST(CompiledSystem, NothingBadReachesTheResult) {
  const double bads[] = {kNaN, kInfinity, -1e308};
  for (const double bad : bads) {
    for (int where = 0; where < 3; ++where) {
      OwnFaulty system;
      if (where == 0) system.state = bad;
      if (where == 1) system.cost_value = bad;
      if (where == 2) system.feature = bad;
      Task compiled = make_task("faulty", make_custom_system(system));
      compiled.settings.failure_cost = 3;
      const Task for_doubles = make_task(
          "faulty", make_custom_system(WithFeatures<OwnFaulty>{{system}}), compiled.settings);
      const GaussianPolicy policy(Eigen::MatrixXd::Constant(2, 2, 0.1), 0.1);
      const Trajectories batch =
          expect_same_bits(compiled, for_doubles, policy, {.trajectories = 40, .steps = 9});
      EXPECT_GT(batch.diverged(), 5) << where << ' ' << bad;
      EXPECT_LT(batch.diverged(), 35) << where << ' ' << bad;
      EXPECT_EQ(batch.failed(), batch.diverged());
      for (int i = 0; i < batch.count(); ++i) {
        // A bad state ends the trajectory after the step that reached it, the others before theirs.
        EXPECT_EQ(batch.length(i), batch.diverged_flags()[i] == 0 ? 9 : where == 0 ? 3 : 2);
      }
    }
  }
}

}  // namespace lifeguard::compiled_system_test
