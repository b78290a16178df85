// What a round costs, and how much memory tasks need, with ten quadrotors and with a million of
// them that were all visited. Losses are made up: their rollouts would take hours.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <Eigen/Core>
#include <fstream>
#include <string>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"

namespace lifeguard::bench_many_tasks {

constexpr int kFeatures = 6;
constexpr int kActions = 4;
constexpr int kParameters = kFeatures * kActions;

/// Of this process, in bytes, as the kernel counts it now.
double memory() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

Eigen::VectorXd normals(const CounterRandom& random, std::uint32_t first) {
  Eigen::VectorXd values(kParameters);
  for (std::uint32_t i = 0; i < kParameters; ++i) values(i) = random.normal(first + i);
  return values;
}

/// What a base learner says of a task whose best policy is `optimum`.
void look(const Eigen::VectorXd& optimum, const Eigen::VectorXd& noise,
          const Eigen::VectorXd& played, RoundLoss& loss) {
  loss.status = RoundLossStatus::ok;
  loss.curvature.setIdentity(kFeatures, kFeatures);
  loss.played = played;
  loss.cost_gradient = played - optimum + 0.3 * noise;
  loss.natural_norm_squared = loss.cost_gradient.squaredNorm();
  loss.noise_share = 0.09 * kParameters / loss.natural_norm_squared;
  loss.shrinkage = std::max(0.05, 1 - loss.noise_share);
  loss.newton_radius = loss.radius = loss.trust_region = 0.5 * loss.natural_norm_squared;
  loss.target = played - loss.shrinkage * loss.cost_gradient;
  loss.constant = 0;
  loss.trajectories = 50;
  loss.mean_cost = 1 + (played - optimum).squaredNorm();
}

int run(int argc, char** argv) {
  CLI::App app("Time of a round and memory by the number of tasks, d = 24");
  int most = 1000000;
  int rounds = 5000;
  bool box = false;
  app.add_option("--tasks", most, "the most of them")->capture_default_str();
  app.add_option("--rounds", rounds, "that the median is taken over")->capture_default_str();
  app.add_flag("--box", box, "every gain within ±2");
  CLI11_PARSE(app, argc, argv);

  LearnerSettings settings;
  settings.update = UpdateRule::empirical_bayes;
  const Eigen::VectorXd limit = Eigen::VectorXd::Constant(kParameters, 2.0);
  const SafeSet set =
      box ? gain_box(-limit, limit, default_gain_names(kActions, kFeatures)) : SafeSet(kParameters);
  double first = 0;
  fmt::print("{:>10}{:>14}{:>10}{:>16}\n", "tasks", "µs a round", "ratio", "bytes a task");
  for (const int tasks : {10, 1000, 100000, 1000000}) {
    if (tasks > most) break;
    const double before = memory();
    Learner learner(kFeatures, kActions, settings);
    std::vector<std::string> ids;
    for (int t = 0; t < tasks; ++t) {
      ids.push_back(std::to_string(t));
      learner.add_task(ids.back(), set, 0.5, Eigen::VectorXd::Zero(kParameters));
    }
    RoundLoss loss;
    const auto play = [&](std::uint32_t round, int t) {
      const CounterRandom task(1, RandomStream::user, static_cast<std::uint32_t>(t));
      const CounterRandom noise(2, RandomStream::user, round);
      const Eigen::VectorXd played = learner.policy(ids[t]).parameters();
      look(normals(task, 0), normals(noise, 0), played, loss);
      return seconds_of([&] { learner.observe(ids[t], loss); });
    };
    std::uint32_t round = 0;
    for (int t = 0; t < tasks; ++t) play(round++, t);
    for (; round < 2000; ++round) play(round, static_cast<int>(round) % tasks);
    std::vector<double> times;
    const CounterRandom order(3, RandomStream::user, 0);
    for (int i = 0; i < rounds; ++i) {
      times.push_back(
          play(round++, static_cast<int>(order.uniform(static_cast<std::uint32_t>(i), 0, tasks))));
    }
    const double time = 1e6 * median(times);
    if (first == 0) first = time;
    fmt::print("{:>10}{:>14.1f}{:>10.2f}{:>16.0f}\n", tasks, time, time / first,
               (memory() - before) / tasks);
  }
  return 0;
}

}  // namespace lifeguard::bench_many_tasks

int main(int argc, char** argv) { return lifeguard::bench_many_tasks::run(argc, argv); }
