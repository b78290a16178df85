// Tasks that common steps have led to where their own gradients say nothing.
#include <gtest/gtest.h>

#include <sstream>

#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::retreat_test {

constexpr int kTasks = 10;

/// A round-robin run on the masses whose actuator gains differ by up to nine times.
struct WideMasses {
  WideMasses(std::uint64_t run_seed, const LearnerSettings& settings)
      : seed(run_seed),
        tasks(family_by_name("wide-mass-spring").draw_many(run_seed, kTasks)),
        learner(2, 1, settings) {
    for (const Task& task : tasks) {
      learner.add_task(task.name, Eigen::VectorXd::Zero(2), task.settings.sigma);
    }
  }

  void play(int rounds) {
    Trajectories batch;
    for (int i = 0; i < rounds; ++i) {
      const Task& task = tasks[learner.rounds() % kTasks];
      RolloutSettings settings;
      settings.trajectories = 50;
      settings.steps = 150;
      settings.seed = derive_seed(seed, static_cast<std::uint64_t>(learner.rounds() + 1));
      rollout(task, learner.policy(task.name), settings, batch);
      learner.observe(task.name, batch);
    }
  }

  /// Relative to LQR's cost.
  double cost(int t) const {
    RolloutSettings settings;
    settings.trajectories = 100;
    settings.steps = 150;
    settings.seed = derive_seed(seed, 1000000);
    const GaussianPolicy lqr(lqr_gains(tasks[t]), 0.0);
    return evaluate(tasks[t], learner.policy(tasks[t].name).without_noise(), settings).mean_cost /
           evaluate(tasks[t], lqr, settings).mean_cost;
  }

  double worst_cost() const {
    double worst = 0;
    for (int t = 0; t < kTasks; ++t) worst = std::max(worst, cost(t));
    return worst;
  }

  std::uint64_t seed;
  std::vector<Task> tasks;
  Learner learner;
};

LearnerSettings never_retreating() {
  LearnerSettings settings;
  settings.linearised.retreat_factor = 1e9;
  return settings;
}

// Task 0 was seen at the start and then led far away; in seed 1119 task 6 is in saturation when it
// is seen for the first time. Without a way back both stay there forever.
TEST(Retreat, BringsBackTasksThatTheOthersLedAstray) {
  for (const std::uint64_t seed : {1218, 1119, 1003}) {
    WideMasses with(seed, {});
    with.play(200);
    EXPECT_LT(with.worst_cost(), 1.6) << "seed " << seed;
    WideMasses without(seed, never_retreating());
    without.play(200);
    EXPECT_GT(without.worst_cost(), 5.0) << "seed " << seed;
  }
}

TEST(Retreat, IsPartOfTheSavedState) {
  WideMasses whole(1119, {});
  whole.play(25);  // task 6 has gone to its anchor
  std::stringstream saved;
  whole.learner.save(saved);
  WideMasses resumed(1119, {});
  resumed.learner = Learner::load(saved);
  whole.play(30);
  resumed.play(30);
  EXPECT_EQ(whole.learner.knowledge().coefficients, resumed.learner.knowledge().coefficients);
}

// With nothing but noise left, the lowest of many noisy costs is no reason to go back to the policy
// that was lucky: near the optimum a long run must not depend on the retreat at all.
TEST(Retreat, DoesNotTakeLuckForALowCost) {
  const auto run = [](const LearnerSettings& settings) {
    WideMasses masses(1000, settings);
    masses.play(1500);
    return masses.learner.knowledge().coefficients;
  };
  EXPECT_EQ(run({}), run(never_retreating()));
}

}  // namespace lifeguard::retreat_test
