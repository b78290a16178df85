// What a round costs: learning beside the rollouts that it learns from, early and late. Medians of
// rounds of the same run, so that a slow moment of the machine hits both.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_round_time {
int run(int argc, char** argv) {
  CLI::App app("Time of learning and of rollouts in a round, quadrotor, ten tasks");
  int rounds = 10000;
  int window = 500;
  std::string update = "linearised";
  app.add_option("--rounds", rounds, "at least twice the window")->capture_default_str();
  app.add_option("--window", window, "rounds that a median is taken over")->capture_default_str();
  app.add_option("--update", update, "\"linearised\" or \"empirical Bayes\"")
      ->capture_default_str();
  bool critic = false;
  app.add_flag("--critic", critic, "tell the learner the limits of the actions, as runs do");
  CLI11_PARSE(app, argc, argv);
  LearnerSettings rule;
  if (update == "empirical Bayes") {
    rule.update = UpdateRule::empirical_bayes;
    rule.projection.p = 1e-6;
  }

  const std::vector<Task> drawn = quadrotor_family().draw_many(1, 10);
  const ExperimentConfig closed = load_config("configs/examples/safe-quadrotor.toml");
  const DrawnTasks machines = draw_tasks(closed);
  fmt::print("{:<26}{:>8}{:>14}{:>14}{:>14}{:>10}\n", "", "rounds", "rollout µs", "learning µs",
             "projection µs", "ratio");
  for (const std::string kind : {"without constraints", "gains limited to ±1", "closed loops"}) {
    Learner learner(6, 4, rule);
    const Eigen::VectorXd limit = Eigen::VectorXd::Constant(24, 1.0);
    const std::vector<Task>& tasks = kind == "closed loops" ? machines.tasks : drawn;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const Task& task = tasks[t];
      const Eigen::VectorXd start = parameters_from_gains(0.15 * lqr_gains(task));
      if (kind == "closed loops") {
        learner.add_task(task.name, machines.safe_sets[t], task.settings.sigma,
                         machines.first[t].parameters);
      } else if (kind == "gains limited to ±1") {
        learner.add_task(task.name, gain_box(-limit, limit, default_gain_names(4, 6)),
                         task.settings.sigma, start);
      } else {
        learner.add_task(task.name, start, task.settings.sigma);
      }
      if (critic) {
        learner.set_action_range(task.name, {task.settings.action_low, task.settings.action_high});
      }
    }
    std::vector<double> rollouts, learning, projecting;
    Trajectories batch;
    RolloutSettings settings;
    for (int round = 0; round < rounds; ++round) {
      const Task& task = tasks[static_cast<std::size_t>(round) % tasks.size()];
      settings.seed = derive_seed(1, static_cast<std::uint64_t>(round));
      const GaussianPolicy policy = learner.policy(task.name);
      rollouts.push_back(seconds_of([&] { rollout(task, policy, settings, batch); }));
      RoundRecord record;
      learning.push_back(seconds_of([&] { record = learner.observe(task.name, batch); }));
      projecting.push_back(record.safeguard.seconds);
    }
    const auto part = [&](const std::vector<double>& all, int from) {
      return 1e6 * median({all.begin() + from, all.begin() + from + window});
    };
    double seconds = 0;
    for (const auto* times : {&rollouts, &learning}) {
      for (const double one : *times) seconds += one;
    }
    for (const int from : {100, rounds - window}) {
      fmt::print("{:<26}{:>8}{:>14.1f}{:>14.1f}{:>14.1f}{:>10.2f}\n", kind,
                 fmt::format("{}+", from), part(rollouts, from), part(learning, from),
                 part(projecting, from), part(learning, from) / part(rollouts, from));
    }
    fmt::print("{:<26}{:.1f} s\n", "  the whole run", seconds);
  }
  return 0;
}

}  // namespace lifeguard::bench_round_time

int main(int argc, char** argv) { return lifeguard::bench_round_time::run(argc, argv); }
