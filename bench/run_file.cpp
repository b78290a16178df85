// What it costs to keep a run in a file: the same run with and without, in turns, in one process.
// And what it costs to count the unsafe policies after every round with the independent checker.
//
//   bench_run_file --rounds 2000 --repeats 5

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "bench/timing.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard::bench_run_file {

int run(int argc, char** argv) {
  int rounds = 2000;
  int repeats = 5;
  CLI::App app("Time of a safe quadrotor run with and without its file");
  app.add_option("--rounds", rounds)->capture_default_str();
  app.add_option("--repeats", repeats)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const ExperimentConfig config =
      parse_config(fmt::format("[experiment]\nname = \"quadrotor\"\nrounds = {}\n"
                               "[family]\nbase = \"quadrotor\"\n[safe_set.lqr_box]\nreach = 0.5\n",
                               rounds),
                   "bench");
  const auto path = std::filesystem::temp_directory_path() / "lifeguard-bench.run";
  const std::vector<double> best = best_in_turns({[&] {
                                                    Run run(config);
                                                    run.evaluate_now();
                                                    while (!run.finished()) run.play();
                                                  },
                                                  [&] {
                                                    std::filesystem::remove(path);
                                                    start_run(config, path);
                                                  }},
                                                 repeats);
  std::filesystem::remove(path);

  Run run(config);
  while (!run.finished()) run.play();
  const Eigen::MatrixXd policies = run.policies();
  constexpr int kCounts = 1000;
  long safe = 0;
  const std::vector<double> count =
      best_in_turns({[&] {
                      for (int i = 0; i < kCounts; ++i) {
                        for (int t = 0; t < config.tasks; ++t) {
                          safe += obeys_exactly(run.drawn().safe_sets[t], policies.col(t));
                        }
                      }
                    }},
                    repeats);
  if (safe == 0) fmt::print("no policy is safe\n");
  fmt::print("all {} policies counted: {:.2f} us, {:.2f} % of a round\n", config.tasks,
             1e6 * count[0] / kCounts, 100 * count[0] / kCounts / (best[0] / rounds));
  fmt::print("{} rounds: {:.3f} s in memory, {:.3f} s into a file, {:+.1f} %\n", rounds, best[0],
             best[1], 100 * (best[1] / best[0] - 1));
  return 0;
}

}  // namespace lifeguard::bench_run_file

int main(int argc, char** argv) { return lifeguard::bench_run_file::run(argc, argv); }
