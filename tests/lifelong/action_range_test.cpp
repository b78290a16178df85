#include "lifeguard/policy/action_range.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::action_range_test {

LearnerSettings with_critic(UpdateRule rule) {
  LearnerSettings settings;
  settings.update = rule;
  settings.round.base_learner.critic = CriticUse::automatic;
  return settings;
}

Learner working_masses(const LearnerSettings& settings, std::vector<Task>& tasks) {
  tasks = mass_spring_family().draw_many(3, 3);
  Learner learner(2, 1, settings);
  for (Task& task : tasks) {
    task.settings.sigma = 0.15;
    learner.add_task(task.name, 0.6 * parameters_from_gains(lqr_gains(task)), task.settings.sigma);
    learner.set_action_range(task.name, {task.settings.action_low, task.settings.action_high});
  }
  return learner;
}

void play(Learner& learner, const std::vector<Task>& tasks, int from, int to) {
  for (int round = from; round < to; ++round) {
    const Task& task = tasks[static_cast<std::size_t>(round) % tasks.size()];
    RolloutSettings rollouts;
    rollouts.trajectories = 8;
    rollouts.seed = static_cast<std::uint64_t>(round);
    learner.observe(task.name, rollout(task, learner.policy(task.name), rollouts));
  }
}

std::string saved(const Learner& learner) {
  std::ostringstream out;
  learner.save(out);
  return out.str();
}

TEST(ActionRange, IsPartOfALearner) {
  for (const UpdateRule rule : {UpdateRule::linearised, UpdateRule::empirical_bayes}) {
    std::vector<Task> tasks;
    Learner learner = working_masses(with_critic(rule), tasks);
    play(learner, tasks, 0, 4);
    std::istringstream in(saved(learner));
    Learner loaded = Learner::load(in);
    EXPECT_EQ(loaded.action_range(tasks[1].name), learner.action_range(tasks[1].name));
    play(learner, tasks, 4, 8);
    play(loaded, tasks, 4, 8);
    EXPECT_EQ(saved(loaded), saved(learner));
  }
}

TEST(ActionRange, IsWhatTheCriticNeeds) {
  // Two rounds on each mass from 0.6 of their LQR gains. Saturated first actions hide the way from
  // a critic that takes them for what they were meant to be.
  const auto left_with = [](bool told) {
    std::vector<Task> tasks;
    Learner learner = working_masses(with_critic(UpdateRule::empirical_bayes), tasks);
    double left = 0;
    for (const Task& task : tasks) {
      if (!told) learner.set_action_range(task.name, {});
    }
    play(learner, tasks, 0, 6);
    for (const Task& task : tasks) {
      RolloutSettings rollouts;
      const Eigen::MatrixXd lqr = lqr_gains(task);
      const auto cost = [&](const Eigen::MatrixXd& gains) {
        return evaluate(task, GaussianPolicy(gains, 0.0), rollouts).mean_cost;
      };
      left += (cost(learner.policy(task.name).gains()) - cost(lqr)) / (cost(0.6 * lqr) - cost(lqr));
    }
    return left / 3;
  };
  EXPECT_LT(left_with(true), 0.1);
  EXPECT_GT(left_with(false), left_with(true));
}

TEST(ActionRange, IsChecked) {
  Learner learner(2, 1);
  learner.add_task("one", Eigen::Vector2d::Zero(), 0.5);
  EXPECT_FALSE(learner.action_range("one").known());
  EXPECT_THROW(learner.set_action_range("one", {Eigen::Vector2d(-1, -1), Eigen::Vector2d(1, 1)}),
               InvalidInput);
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(1);
  EXPECT_THROW(learner.set_action_range("one", {one, one}), InvalidInput);
  EXPECT_THROW(learner.set_action_range("one", {-one, {}}), InvalidInput);
  EXPECT_THROW(learner.set_action_range("two", {-one, one}), InvalidInput);
  learner.set_action_range("one", {-one, one});
  EXPECT_TRUE(learner.action_range("one").known());
}

}  // namespace lifeguard::action_range_test
