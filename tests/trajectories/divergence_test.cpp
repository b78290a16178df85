// Whatever the gains and the dynamics do, no result has a NaN or an infinity in it: a trajectory
// that blows up is absorbed at the failure cost and counted.

#include <gtest/gtest.h>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::divergence_test {

using test_support::well_formed;

/// Without action limits and failure bounds nothing holds a bad policy back.
Task unlimited(Task task) {
  task.settings.action_low.setConstant(-kInfinity);
  task.settings.action_high.setConstant(kInfinity);
  task.settings.failure_bounds.setConstant(kInfinity);
  return task;
}

TEST(Divergence, HugeGainsEndEveryTrajectoryAtOnce) {
  for (const Task& task : test_support::built_in_tasks()) {
    for (const double size : {1e200, 1e308, -1e308}) {
      for (const Features& features : {Features{}, Features{true, true}}) {
        const int columns = features.count(task.states());
        const GaussianPolicy policy(Eigen::MatrixXd::Constant(task.actions(), columns, size), 0.5);
        const RolloutSettings settings{.trajectories = 21, .steps = 10, .features = features};
        const Trajectories batch = rollout(task, policy, settings);
        EXPECT_TRUE(well_formed(batch, task.settings.failure_cost)) << task.name;
        EXPECT_EQ(batch.diverged(), 21);
        EXPECT_EQ(batch.failed(), 21);
        EXPECT_EQ(batch.mean_cost(), task.settings.failure_cost);
        EXPECT_EQ(evaluate(task, policy, settings).mean_cost, task.settings.failure_cost);
        EXPECT_EQ(evaluate(task, policy, settings).diverged, 21);
        EXPECT_NO_THROW(batch.validate());
      }
    }
  }
}

TEST(Divergence, HugeGainsOfBothSignsCancelToNothingFinite) {
  // ∞ - ∞ inside the sum of one action.
  for (const Task& task : test_support::built_in_tasks()) {
    Eigen::MatrixXd gains = Eigen::MatrixXd::Constant(task.actions(), task.states(), 1.7e308);
    for (int f = 0; f < task.states(); f += 2) gains.col(f) *= -1;
    const Trajectories batch = rollout(task, {gains, 0.0}, {.trajectories = 21, .steps = 10});
    EXPECT_TRUE(well_formed(batch, task.settings.failure_cost));
    EXPECT_EQ(batch.diverged(), 21);
  }
}

TEST(Divergence, HugeNoise) {
  for (const Task& task : test_support::built_in_tasks()) {
    const Eigen::MatrixXd gains = lqr_gains(task);
    for (const double sigma : {1e99, 1e200, 1.7e308}) {
      for (const Task& limits : {task, unlimited(task)}) {
        const Trajectories batch =
            rollout(limits, {gains, sigma}, {.trajectories = 21, .steps = 30});
        EXPECT_TRUE(well_formed(batch, task.settings.failure_cost)) << task.name << sigma;
      }
    }
  }
}

TEST(Divergence, UnstableLoopsWithoutLimits) {
  for (const Task& base : test_support::built_in_tasks()) {
    for (const auto integrator : test_support::kIntegrators) {
      for (const double factor : {-3.0, -1e10, -1e90, 1e10, 1e90}) {
        Task task = unlimited(base);
        task.settings.integrator = integrator;
        const GaussianPolicy policy(factor * lqr_gains(base), base.settings.sigma);
        const RolloutSettings settings{.trajectories = 21, .steps = 1500};
        const Trajectories batch = rollout(task, policy, settings);
        EXPECT_TRUE(well_formed(batch, task.settings.failure_cost)) << task.name << factor;
        // At -3 the pole may end up hanging or spinning at a finite speed.
        if (factor != -3) {
          EXPECT_EQ(batch.diverged(), 21) << task.name << ' ' << factor;
        }
        EXPECT_EQ(evaluate(task, policy, settings).mean_cost, batch.mean_cost());
      }
    }
  }
}

TEST(Divergence, UnstableIntegration) {
  // A stiff spring at a step far beyond the stability limit of every integrator.
  for (const auto integrator : test_support::kIntegrators) {
    Task task = make_task("stiff", MassSpring{.spring_newtons_per_metre = 1e9});
    task.settings.integrator = integrator;
    const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 2), 0.5);
    const Trajectories batch = rollout(task, policy, {.trajectories = 21, .steps = 50});
    EXPECT_TRUE(well_formed(batch, task.settings.failure_cost));
    EXPECT_EQ(batch.diverged(), 21);
  }
}

TEST(Divergence, ParametersAtTheEndsOfTheRangeOfDoubles) {
  for (const Task& base : test_support::built_in_tasks()) {
    for (const std::string& name : parameter_names(base.system)) {
      for (const double extreme : {1e-308, 1e-160, 1e160, 1.7e308}) {
        for (const auto integrator : test_support::kIntegrators) {
          Task task = base;
          task.settings.integrator = integrator;
          set_parameter(task.system, name, extreme);
          const GaussianPolicy policy(lqr_gains(base), base.settings.sigma);
          const Trajectories batch = rollout(task, policy, {.trajectories = 5, .steps = 10});
          EXPECT_TRUE(well_formed(batch, task.settings.failure_cost)) << name << ' ' << extreme;
        }
      }
    }
  }
}

TEST(Divergence, SettingsAtTheEndsOfWhatIsAllowed) {
  for (Task task : test_support::built_in_tasks()) {
    const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
    task = unlimited(task);
    task.settings.state_weights.setConstant(1e100);
    task.settings.action_weights.setConstant(1e100);
    task.settings.start_low.setConstant(-1e308);
    task.settings.start_high.setConstant(1e308);
    for (const double dt : {1e-308, 1e308}) {
      task.settings.dt_seconds = dt;
      const Trajectories batch = rollout(task, policy, {.trajectories = 21, .steps = 10});
      EXPECT_TRUE(well_formed(batch, task.settings.failure_cost));
      EXPECT_TRUE(std::isfinite(batch.mean_cost()));
    }
  }
}

TEST(Divergence, HugeGoalsAndActionLimitsAreRefusedOrHarmless) {
  // The rule is that no accepted task puts a NaN or an infinity into a result.
  for (const Task& base : test_support::built_in_tasks()) {
    const GaussianPolicy still(Eigen::MatrixXd::Zero(base.actions(), base.states()), 0.1);
    const auto expect_refused_or_harmless = [&](const Task& task, const char* what) {
      try {
        const Trajectories batch = rollout(task, still, {.trajectories = 5, .steps = 10});
        EXPECT_TRUE(well_formed(batch, task.settings.failure_cost)) << what << ' ' << task.name;
        EXPECT_TRUE(std::isfinite(batch.mean_cost())) << what << ' ' << task.name;
      } catch (const InvalidInput&) {
        // Refused.
      }
    };
    for (const double huge : {1e160, 1e308, kInfinity}) {
      Task task = base;
      task.settings.goal.setConstant(huge);
      expect_refused_or_harmless(task, "goal");
      task = base;
      task.settings.action_low.setConstant(huge);
      task.settings.action_high.setConstant(huge);
      expect_refused_or_harmless(task, "action_low");
      task.settings.action_low.setConstant(-huge);
      task.settings.action_high.setConstant(-huge);
      expect_refused_or_harmless(task, "action_high");
      task = base;
      task.settings.failure_cost = huge;
      task.settings.start_low.setConstant(-1e308);
      task.settings.start_high.setConstant(1e308);
      expect_refused_or_harmless(task, "failure_cost");
    }
  }
}

TEST(Divergence, OneBadLaneLeavesItsNeighboursAlone) {
  // Only large starts diverge, so vectors of trajectories are of both kinds.
  Task task = unlimited(make_task("cart-pole", CartPole{}));
  task.settings.start_low.setConstant(-2e6);
  task.settings.start_high.setConstant(2e6);
  task.settings.start_low.tail(3).setZero();
  task.settings.start_high.tail(3).setZero();
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 4), 0.0);
  const Trajectories batch = rollout(task, policy, {.trajectories = 64, .steps = 9});
  EXPECT_TRUE(well_formed(batch, task.settings.failure_cost));
  int diverged = 0;
  for (int i = 0; i < 64; ++i) {
    const CounterRandom random(0, RandomStream::start_state, static_cast<std::uint64_t>(i));
    const bool outside = std::fabs(random.uniform(0, -2e6, 2e6)) > kDivergenceBound;
    EXPECT_EQ(batch.length(i), outside ? 0 : 9);
    EXPECT_EQ(batch.diverged_flags()[i], outside ? 1 : 0);
    diverged += outside ? 1 : 0;
  }
  EXPECT_EQ(batch.diverged(), diverged);
  EXPECT_GT(diverged, 16);
  EXPECT_LT(diverged, 48);
}

TEST(Divergence, AFallIsAFailureButNotADivergence) {
  const Task task = make_task("cart-pole", CartPole{});
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 4), 0.0);
  const Trajectories batch = rollout(task, policy, {.trajectories = 40});
  EXPECT_GT(batch.failed(), 30);
  EXPECT_EQ(batch.diverged(), 0);
  EXPECT_TRUE(well_formed(batch, 5));
}

}  // namespace lifeguard::divergence_test
