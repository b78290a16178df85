#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lifeguard/runs/config.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/statistics.hpp"

namespace lifeguard {

/// One method over all seeds.
struct MethodSummary {
  std::string name;
  MeanInterval rounds_to_90_percent;
  int never_reached = 0;  // seeds that stayed above that level; they count with all their rounds
  MeanInterval mean_cost;
  MeanInterval final_cost;
  MeanInterval final_gap_percent;  // above the best, in percent of the improvement
  MeanInterval observations_until_safe;
  int tasks_never_safe = 0;
  long unsafe_policies = 0;
  long policies_handed_out = 0;
  double seconds = 0;
};

struct Comparison {
  /// [method][seed], in the order of the configuration.
  std::vector<std::vector<RunSummary>> runs;
  /// The lowest mean cost that LQR or any method's policies reached, for each seed; in an
  /// experiment with constraints only policies count that obey them.
  std::vector<double> best_costs;
  std::vector<MethodSummary> methods;
};

struct ComparisonOptions {
  /// Where the run files go, METHOD-SEED.run; finished ones are read, others resumed. Empty: no
  /// files.
  std::filesystem::path folder = {};
  /// 0 uses all cores. Results do not depend on it.
  int threads = 0;
  /// Called after each run with how many are done of how many; from any thread, one at a time.
  std::function<void(long, long)> after_run = {};
  /// Asked after each round; true stops, with RunsStopped.
  std::function<bool()> stop = {};
};

struct RunsStopped {};

/// Runs every method of the configuration with the seeds seed, seed + 1, …
Comparison compare_methods(const ExperimentConfig& config, const ComparisonOptions& options = {});

/// Statistics of runs that were made; `runs` as in Comparison.
Comparison summarise_runs(const ExperimentConfig& config,
                          std::vector<std::vector<RunSummary>> runs);

nlohmann::ordered_json comparison_to_json(const ExperimentConfig& config,
                                          const Comparison& comparison);

}  // namespace lifeguard
