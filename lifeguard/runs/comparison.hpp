#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/statistics.hpp"

namespace lifeguard {

/// One method over all seeds.
struct MethodSummary {
  std::string name;
  /// Infinity where 90 % were never reached; in the mean such seeds count with all their rounds.
  OverSeeds rounds_to_90_percent;
  int never_reached = 0;  // seeds that stayed above that level
  /// Seeds that are above it after the last round, whether they had reached it or not.
  int failed = 0;
  OverSeeds mean_cost;
  OverSeeds final_cost;
  OverSeeds final_gap_percent;  // above the best, in percent of the improvement
  /// The median over the tasks, infinity if half of them are not safe at the end.
  OverSeeds observations_until_safe;
  int tasks_never_safe = 0;
  long unsafe_policies = 0;
  long policies_handed_out = 0;
  // Trajectories while learning in which the machine failed, left its state limits, and in which an
  // action was cut off at its limit; and how many there were.
  long falls = 0;
  long violations = 0;
  long saturations = 0;
  long trajectories = 0;
  double seconds = 0;
};

/// Methods side by side, over the same seeds.
struct Comparison {
  /// [method][seed], in the order of the configuration.
  std::vector<std::vector<RunSummary>> runs;
  /// The lowest mean cost that LQR or any method's policies reached, for each seed; in an
  /// experiment with constraints only policies count that obey them.
  std::vector<double> best_costs;
  std::vector<MethodSummary> methods;
};

/// Where a comparison writes, how many cores it takes, and how to watch it.
struct ComparisonOptions {
  /// Where the run files go, METHOD-SEED.run; finished ones are read, others resumed. Empty: no
  /// files.
  std::filesystem::path folder = {};
  /// 0 uses all cores. Results do not depend on it.
  int threads = 0;
  /// Told of the rounds that are done of those of all runs, and asked after each; from any thread,
  /// one at a time.
  LongWork work = {};
};

/// A part of a comparison's runs, for jobs that share nothing but a folder: every run is in exactly
/// one part, parts differ by at most one run, and methods are spread over them.
struct Shard {
  int part = 1;  // counts from 1
  int parts = 1;

  void validate() const;
  /// Whether the run at this place is in it; the methods of one seed stand next to each other.
  bool holds(int run, int methods) const;
};

/// What `work` is told that is done of a comparison once it runs.
inline constexpr std::string_view kComparisonRounds = "rounds of all runs";

/// The file of one run of a comparison in its folder.
std::filesystem::path comparison_file(const std::filesystem::path& folder,
                                      const std::string& method, int seed);

/// Runs every method of the configuration with the seeds seed, seed + 1, … Throws Stopped if `work`
/// asks for it, and RunFileError, before anything runs, if a file in the folder is another run's.
Comparison compare_methods(const ExperimentConfig& config, const ComparisonOptions& options = {});

/// Plays the runs of one part into options.folder, which must be named; their files. When all parts
/// are done, compare_methods() with a folder that holds all their files has nothing left to play.
std::vector<std::filesystem::path> play_shard(const ExperimentConfig& config, const Shard& shard,
                                              const ComparisonOptions& options);

/// As `lifeguard compare --json` prints it.
nlohmann::ordered_json comparison_to_json(const ExperimentConfig& config,
                                          const Comparison& comparison);

}  // namespace lifeguard
