#include "lifeguard/systems/custom_system.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::custom_system_test {

using test_support::well_formed;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using State = std::array<double, 2>;
using Action = std::array<double, 1>;

/// The mass-spring-damper with semi-implicit Euler steps, as a user would write it.
struct OwnMass {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  double spring = 5.5, damping = 0.105, mass = 2.75, dt = 0.05;
  State start(const CounterRandom& random) const {
    return {random.uniform(0, -2, 2), random.uniform(1, -2, 2)};
  }
  State step(const State& x, const Action& u) const {
    const double v = x[1] + dt * (u[0] - spring * x[0] - damping * x[1]) / mass;
    return {x[0] + dt * v, v};
  }
  double cost(const State& x, const Action& u) const {
    return x[0] * x[0] + 0.1 * x[1] * x[1] + 0.001 * u[0] * u[0];
  }
};

Task own_mass_task(const Task& built_in) {
  Task task = make_task("own mass", make_custom_system(OwnMass{}));
  task.settings.action_low = built_in.settings.action_low;
  task.settings.action_high = built_in.settings.action_high;
  task.settings.failure_bounds = built_in.settings.failure_bounds;
  task.settings.failure_cost = built_in.settings.failure_cost;
  task.settings.goal = built_in.settings.goal;
  return task;
}

void expect_equal_batches(const Task& a, const Task& b, const GaussianPolicy& policy,
                          const RolloutSettings& settings) {
  const Trajectories one = rollout(a, policy, settings);
  const Trajectories other = rollout(b, policy, settings);
  ASSERT_EQ(one.features(), other.features());
  for (int i = 0; i < one.count(); ++i) {
    ASSERT_EQ(one.length(i), other.length(i));
    for (int m = 0; m < one.steps(); ++m) {
      ASSERT_NEAR(one.cost(i, m), other.cost(i, m), 1e-9);
      ASSERT_NEAR(one.action(i, m, 0), other.action(i, m, 0), 1e-9);
      for (int f = 0; f < one.features(); ++f) {
        ASSERT_NEAR(one.feature(i, m, f), other.feature(i, m, f), 1e-9);
      }
    }
  }
  EXPECT_TRUE(well_formed(other, b.settings.failure_cost));
}

TEST(CustomSystem, EqualsTheBuiltInMass) {
  const Task built_in = make_task("mass", MassSpring{});
  const Task own = own_mass_task(built_in);
  for (const Features& features : {Features{}, Features{true, false}, Features{true, true}}) {
    for (const GaussianPolicy& policy : test_support::assorted_policies(built_in, features)) {
      expect_equal_batches(built_in, own, policy,
                           {.trajectories = 37, .seed = 4, .first_index = 9, .features = features});
    }
  }
}

TEST(CustomSystem, EqualsTheBuiltInMassWithFailures) {
  Task built_in = make_task("mass", MassSpring{});
  built_in.settings.failure_bounds << 1.5, 1.9;
  const Task own = own_mass_task(built_in);
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 2), 0.5);
  expect_equal_batches(built_in, own, policy, {.trajectories = 60});
  EXPECT_GT(rollout(own, policy, {.trajectories = 60}).failed(), 20);
}

TEST(CustomSystem, LinearisesAndHasTheLqrOfTheBuiltInMass) {
  const Task built_in = make_task("mass", MassSpring{});
  Task own = own_mass_task(built_in);
  EXPECT_TRUE(own.linearise().a.isApprox(built_in.linearise().a, 1e-8));
  EXPECT_TRUE(own.linearise().b.isApprox(built_in.linearise().b, 1e-8));
  own.settings.state_weights = built_in.settings.state_weights;
  own.settings.action_weights = built_in.settings.action_weights;
  EXPECT_TRUE(lqr_gains(own).isApprox(lqr_gains(built_in), 1e-7));
}

TEST(CustomSystem, StepAndCostOfTheTaskAreItsOwn) {
  const Task built_in = make_task("mass", MassSpring{});
  const Task own = own_mass_task(built_in);
  const Eigen::Vector2d x(0.3, -1);
  const Eigen::VectorXd u = Eigen::VectorXd::Constant(1, 25);  // beyond the limit of 20
  EXPECT_TRUE(own.step(x, u).isApprox(built_in.step(x, u), 1e-14));
  EXPECT_NEAR(own.cost(x, u), built_in.cost(x, u), 1e-14);
}

TEST(CustomSystem, ThreadsSplitsAndEvaluationAgree) {
  const Task own = own_mass_task(make_task("mass", MassSpring{}));
  const GaussianPolicy policy(Eigen::RowVector2d(-1, -2), 0.5);
  RolloutSettings settings{.trajectories = 50, .seed = 3};
  const Trajectories whole = rollout(own, policy, settings);
  EXPECT_EQ(evaluate(own, policy, settings).mean_cost, whole.mean_cost());
  for (const int threads : {2, 3, 0}) {
    settings.threads = threads;
    EXPECT_TRUE(test_support::same_bits(rollout(own, policy, settings), whole));
  }
  settings.trajectories = 11;
  settings.first_index = 39;
  const Trajectories part = rollout(own, policy, settings);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(part.mean_cost(i), whole.mean_cost(39 + i));
}

/// Features (1, x) of its own, a failure of its own below zero, and a fixed path.
struct Countdown {
  static constexpr int kStates = 1;
  static constexpr int kActions = 1;
  static constexpr int kFeatures = 2;
  std::array<double, 1> start(const CounterRandom&) const { return {5}; }
  std::array<double, 1> step(const std::array<double, 1>& x, const Action&) const {
    return {x[0] - 1};
  }
  double cost(const std::array<double, 1>& x, const Action& u) const { return x[0] + u[0]; }
  bool failed(const std::array<double, 1>& x) const { return x[0] < 0; }
  std::array<double, 2> features(const std::array<double, 1>& x) const { return {1, x[0]}; }
};

TEST(CustomSystem, OwnFeaturesAndOwnFailure) {
  Task task = make_task("countdown", make_custom_system(Countdown{}));
  task.settings.failure_cost = 7;
  EXPECT_EQ(feature_count(task, Features{}), 2);
  const GaussianPolicy policy(Eigen::RowVector2d(10, 1), 0);
  const Trajectories batch = rollout(task, policy, {.trajectories = 3, .steps = 9});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(batch.length(i), 6);  // 5, 4, 3, 2, 1, 0
    EXPECT_EQ(batch.feature(i, 2, 0), 1);
    EXPECT_EQ(batch.feature(i, 2, 1), 3);
    EXPECT_EQ(batch.action(i, 2, 0), 13);
    EXPECT_EQ(batch.cost(i, 2), 16);
    EXPECT_EQ(batch.cost(i, 6), 7);
  }
  EXPECT_EQ(batch.failed(), 3);
  EXPECT_EQ(batch.diverged(), 0);
  EXPECT_TRUE(well_formed(batch, 7));
  test_support::expect_invalid([&] { rollout(task, policy, {.features = {.bias = true}}); },
                               "features", "bias or second order", "must be the default");
}

/// Goes wrong at its third step in a way to choose.
struct Faulty {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr int kFeatures = 1;
  double state = 0, cost_value = 0, feature = 0;
  State start(const CounterRandom&) const { return {0, 0}; }
  State step(const State& x, const Action&) const { return {x[0] + 1, x[0] >= 2 ? state : 0}; }
  double cost(const State& x, const Action&) const { return x[0] >= 2 ? cost_value : 0; }
  std::array<double, 1> features(const State& x) const { return {x[0] >= 2 ? feature : 0}; }
};

TEST(CustomSystem, NothingBadReachesTheResult) {
  const double bads[] = {kNan, std::numeric_limits<double>::infinity(), 1e308};
  for (const double bad : bads) {
    for (int where = 0; where < 3; ++where) {
      Faulty system;
      if (where == 0) system.state = bad;
      if (where == 1) system.cost_value = bad;
      if (where == 2) system.feature = bad;
      const Task task = make_task("faulty", make_custom_system(system));
      const GaussianPolicy policy(Eigen::MatrixXd::Ones(1, 1), 0.1);
      const RolloutSettings settings{.trajectories = 2, .steps = 8};
      const Trajectories batch = rollout(task, policy, settings);
      EXPECT_TRUE(well_formed(batch, task.settings.failure_cost)) << where << ' ' << bad;
      EXPECT_TRUE(std::isfinite(batch.mean_cost())) << where << ' ' << bad;
      EXPECT_EQ(batch.diverged(), 2) << where << ' ' << bad;
      // A bad state ends the trajectory after the step that reached it, the others before theirs.
      EXPECT_EQ(batch.length(0), where == 0 ? 3 : 2);
    }
  }
}

}  // namespace lifeguard::custom_system_test
