// Learning under constraints that cut off the best policy: what each method costs in the end, and
// how many policies it handed out that were not safe. For the mass and the cart-pole the best safe
// policy is found by brute force, without looking at any learner.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::bench_safe_learning {

struct Options {
  int seeds = 5;
  int first_seed = 0;
  int tasks = 10;
  int rounds = 300;
  int start_states = 100;
};

/// A task with the safe set it must obey: the LQR gains scaled down to `reach` bound every gain in
/// its own direction, which cuts the optimum off, and the start lies inside.
struct SafeTask {
  Task task;
  SafeSet set;
  Eigen::VectorXd start;
};

SafeTask constrained(const Task& task, double reach, const Eigen::VectorXd& start) {
  const Eigen::VectorXd best = parameters_from_gains(lqr_gains(task));
  return {task,
          gain_box_towards(best, reach, -1.0, default_gain_names(task.actions(), task.states())),
          start};
}

double cost_of(const Task& task, const Eigen::VectorXd& alpha, const Options& options,
               std::uint64_t seed) {
  RolloutSettings settings;
  settings.trajectories = options.start_states;
  settings.seed = derive_seed(seed, 999);
  return evaluate(task, GaussianPolicy::from_parameters(alpha, task.actions(), 0.0), settings)
      .mean_cost;
}

/// The best policy in the box: the best of a coarse grid, then ever finer grids around the best.
Eigen::VectorXd best_safe_by_search(const SafeTask& safe, const Options& options,
                                    std::uint64_t seed) {
  const int d = safe.set.parameters();
  // The rows of gain_box come as upper and lower limits of each gain.
  Eigen::VectorXd low(d), high(d);
  for (int row = 0; row < safe.set.rows(); ++row) {
    for (int i = 0; i < d; ++i) {
      if (safe.set.coefficients()(row, i) > 0) high(i) = safe.set.limits()(row);
      if (safe.set.coefficients()(row, i) < 0) low(i) = -safe.set.limits()(row);
    }
  }
  Eigen::VectorXd centre = 0.5 * (low + high), half = 0.5 * (high - low), best = centre;
  double best_cost = cost_of(safe.task, best, options, seed);
  const int points = d <= 2 ? 21 : 7;
  for (int level = 0; level < (d <= 2 ? 5 : 8); ++level) {
    std::vector<int> index(d, 0);
    for (bool more = true; more;) {
      Eigen::VectorXd alpha(d);
      for (int i = 0; i < d; ++i) {
        alpha(i) =
            std::clamp(centre(i) + half(i) * (2.0 * index[i] / (points - 1) - 1), low(i), high(i));
      }
      const double cost = cost_of(safe.task, alpha, options, seed);
      if (cost < best_cost) {
        best_cost = cost;
        best = alpha;
      }
      more = false;
      for (int i = 0; i < d && !more; ++i) {
        if (++index[i] < points) {
          more = true;
        } else {
          index[i] = 0;
        }
      }
    }
    centre = best;
    half *= d <= 2 ? 0.25 : 0.5;
  }
  return best;
}

struct MethodResult {
  std::string name;
  double final_cost = 0;
  long unsafe = 0;
  long handed_out = 0;
};

MethodResult learn(const std::string& method, const std::vector<SafeTask>& tasks,
                   const Options& options, std::uint64_t seed) {
  MethodResult result{method};
  const auto learner =
      make_learner(Methods{}, method, tasks[0].task.states(), tasks[0].task.actions());
  for (const SafeTask& t : tasks) {
    const PerAction sigma = t.task.settings.sigma;
    if (auto* safe = dynamic_cast<Learner*>(learner.get())) {
      safe->add_task(t.task.name, t.set, sigma, t.start);
    } else {
      learner->add_task(t.task.name, t.start, sigma);
    }
  }
  Trajectories batch;
  for (int round = 0; round < options.rounds; ++round) {
    const SafeTask& t = tasks[static_cast<std::size_t>(round) % tasks.size()];
    RolloutSettings settings;
    settings.trajectories = method == "pg" ? 100 : 50;
    settings.seed = derive_seed(derive_seed(seed, 7), static_cast<std::uint64_t>(round));
    const GaussianPolicy policy = learner->policy(t.task.name);
    rollout(t.task, policy, settings, batch);
    learner->observe(t.task.name, batch);
    for (const SafeTask& other : tasks) {
      ++result.handed_out;
      const Eigen::VectorXd alpha = learner->policy(other.task.name).parameters();
      if (!check_policy(other.set, alpha).empty()) ++result.unsafe;
    }
  }
  for (const SafeTask& t : tasks) {
    result.final_cost += cost_of(t.task, learner->policy(t.task.name).parameters(), options, seed) /
                         static_cast<double>(tasks.size());
  }
  return result;
}

void study(const Family& family, double reach, double start_share, const Options& options) {
  fmt::print("{} (gains up to {} of LQR's)\n", family.name, reach);
  const bool search = family.draw(0, 0).states() <= 4;
  const std::vector<std::string_view> methods = method_names();
  std::vector<MethodResult> sums(methods.size());
  double best = 0, lqr = 0, begin = 0;
  for (int s = options.first_seed; s < options.first_seed + options.seeds; ++s) {
    const auto seed = static_cast<std::uint64_t>(s);
    std::vector<SafeTask> tasks;
    for (const Task& task : family.draw_many(seed, options.tasks)) {
      const Eigen::VectorXd gains = parameters_from_gains(lqr_gains(task));
      tasks.push_back(constrained(task, reach, start_share * gains));
    }
    for (std::size_t method = 0; method < methods.size(); ++method) {
      const MethodResult r = learn(std::string(methods[method]), tasks, options, seed);
      sums[method].name = r.name;
      sums[method].final_cost += r.final_cost / options.seeds;
      sums[method].unsafe += r.unsafe;
      sums[method].handed_out += r.handed_out;
    }
    const double share = 1.0 / (options.seeds * options.tasks);
    for (const SafeTask& t : tasks) {
      begin += share * cost_of(t.task, t.start, options, seed);
      lqr += share * cost_of(t.task, parameters_from_gains(lqr_gains(t.task)), options, seed);
      if (search) {
        best += share * cost_of(t.task, best_safe_by_search(t, options, seed), options, seed);
      }
    }
  }
  fmt::print("  {:<12}{:>12}{:>22}{:>14}\n", "", "final cost", "against best safe", "unsafe");
  for (const MethodResult& r : sums) {
    fmt::print("  {:<12}{:>12.5f}{:>22}{:>14}\n", r.name, r.final_cost,
               search ? fmt::format("{:+.2f} %", 100 * (r.final_cost / best - 1)) : "-",
               fmt::format("{} / {}", r.unsafe, r.handed_out));
  }
  fmt::print("  {:<12}{:>12.5f}\n", "start", begin);
  if (search) fmt::print("  {:<12}{:>12.5f}   (brute force)\n", "best safe", best);
  fmt::print("  {:<12}{:>12.5f}   (not safe)\n\n", "LQR", lqr);
}

int run(int argc, char** argv) {
  CLI::App app("Final cost and unsafe policies under constraints that cut off the optimum");
  Options options;
  app.add_option("--seeds", options.seeds)->capture_default_str();
  app.add_option("--first-seed", options.first_seed)->capture_default_str();
  app.add_option("--rounds", options.rounds)->capture_default_str();
  app.add_option("--tasks", options.tasks)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  study(mass_spring_family(), 0.5, 0.0, options);
  study(cart_pole_family(), 0.7, 0.0, options);
  study(quadrotor_family(), 0.5, 0.15, options);
  return 0;
}

}  // namespace lifeguard::bench_safe_learning

int main(int argc, char** argv) { return lifeguard::bench_safe_learning::run(argc, argv); }
