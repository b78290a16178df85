// What a round costs: learning beside the rollouts that it learns from, early and late, with the
// learner of version 0.1, the rule that learns its basis, and that with the critic, the default.
// All take their rounds in turns, so that a slow moment of the machine hits each of them.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
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

enum class Limits { none, gains, closed_loops };

struct Timed {
  std::string_view name;
  Learner learner;
  std::vector<double> rollouts, learning, projecting;
};

Timed timed(std::string_view name, UpdateRule update, bool critic, Limits limits,
            const std::vector<Task>& tasks, const DrawnTasks& machines) {
  LearnerSettings settings;
  settings.update = update;
  Timed made{name, Learner(6, 4, settings), {}, {}, {}};
  const Eigen::VectorXd limit = Eigen::VectorXd::Constant(24, 1.0);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks[t];
    const Eigen::VectorXd start = parameters_from_gains(0.15 * lqr_gains(task));
    if (limits == Limits::closed_loops) {
      made.learner.add_task(task.name, machines.safe_sets[t], task.settings.sigma,
                            machines.first[t].parameters);
    } else if (limits == Limits::gains) {
      made.learner.add_task(task.name, gain_box(-limit, limit, default_gain_names(4, 6)),
                            task.settings.sigma, start);
    } else {
      made.learner.add_task(task.name, start, task.settings.sigma);
    }
    // What the critic has to be told, as runs do.
    if (critic) {
      made.learner.set_action_range(task.name,
                                    {task.settings.action_low, task.settings.action_high});
    }
  }
  return made;
}

int run(int argc, char** argv) {
  CLI::App app("Time of learning and of rollouts in a round, quadrotor, ten tasks");
  int rounds = 10000;
  int window = 500;
  app.add_option("--rounds", rounds, "at least twice the window")->capture_default_str();
  app.add_option("--window", window, "rounds that a median is taken over")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const std::vector<Task> drawn = quadrotor_family().draw_many(1, 10);
  const DrawnTasks machines = draw_tasks(load_config("configs/examples/safe-quadrotor.toml"));
  fmt::print("{:<32}{:>8}{:>12}{:>13}{:>15}{:>12}{:>12}\n", "", "rounds", "rollout µs",
             "learning µs", "projection µs", "/ rollouts", "round / 0.1");
  for (const Limits limits : {Limits::none, Limits::gains, Limits::closed_loops}) {
    const std::vector<Task>& tasks = limits == Limits::closed_loops ? machines.tasks : drawn;
    std::vector<Timed> learners;
    learners.push_back(
        timed("linearised (0.1)", UpdateRule::linearised, false, limits, tasks, machines));
    learners.push_back(
        timed("empirical Bayes", UpdateRule::empirical_bayes, false, limits, tasks, machines));
    learners.push_back(timed("empirical Bayes, critic", UpdateRule::empirical_bayes, true, limits,
                             tasks, machines));
    Trajectories batch;
    RolloutSettings settings;
    for (int round = 0; round < rounds; ++round) {
      const Task& task = tasks[static_cast<std::size_t>(round) % tasks.size()];
      settings.seed = derive_seed(1, static_cast<std::uint64_t>(round));
      for (Timed& one : learners) {
        const GaussianPolicy policy = one.learner.policy(task.name);
        one.rollouts.push_back(seconds_of([&] { rollout(task, policy, settings, batch); }));
        RoundRecord record;
        one.learning.push_back(seconds_of([&] { record = one.learner.observe(task.name, batch); }));
        one.projecting.push_back(record.safeguard.seconds);
      }
    }
    fmt::print("{}\n", limits == Limits::none    ? "without constraints"
                       : limits == Limits::gains ? "gains limited to ±1"
                                                 : "closed loops");
    for (const int from : {100, rounds - window}) {
      const auto part = [&](const std::vector<double>& all) {
        return 1e6 * median({all.begin() + from, all.begin() + from + window});
      };
      const double before = part(learners[0].rollouts) + part(learners[0].learning);
      for (const Timed& one : learners) {
        const double rolling = part(one.rollouts);
        const double learning = part(one.learning);
        fmt::print("  {:<30}{:>8}{:>12.1f}{:>13.1f}{:>15.1f}{:>12.2f}{:>12.2f}\n", one.name,
                   fmt::format("{}+", from), rolling, learning, part(one.projecting),
                   learning / rolling, (rolling + learning) / before);
      }
    }
  }
  return 0;
}

}  // namespace lifeguard::bench_round_time

int main(int argc, char** argv) { return lifeguard::bench_round_time::run(argc, argv); }
