#pragma once

#include <Eigen/Core>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard {

/// What comparisons and people want to know of a run.
struct RunSummary {
  std::string experiment;
  std::string label;  // the method or variant
  int seed = 0;
  bool finished = false;
  long rounds_done = 0;
  bool constrained = false;

  std::vector<long> rounds;           // that were evaluated, from 0
  std::vector<double> costs;          // mean over the tasks
  std::vector<double> least_margins;  // over the tasks
  double worst_margin = kNaN;         // after the last round
  long unsafe_policies = 0;           // over all tasks and rounds
  long policies_handed_out = 0;
  long fallbacks = 0;  // StoredRound::fallbacks of all rounds
  // StoredRound's counts over all rounds, and how many trajectories they are of.
  long falls = 0;
  long violations = 0;
  long saturations = 0;
  long trajectories = 0;
  /// Of closed loops: the share of trajectories, of the worst task, that noise may take out of what
  /// is guaranteed; 0 where it is clipped, NaN without closed loops.
  double exit_probability = kNaN;
  /// Observations of each task that was played until its policy was safe for good; infinity if the
  /// last one it played was not.
  std::vector<double> observations_until_safe;
  int tasks_never_safe = 0;
  std::vector<StoredRegret> regret;
  /// Of a run file whose rounds were held against the theorem, with η = 1/√R.
  std::optional<TheoremReport> theorem;
  double rollout_seconds = 0;
  double learn_seconds = 0;

  // All costs are NaN before the first evaluation.
  double initial_cost() const { return costs.empty() ? kNaN : costs.front(); }
  /// Mean cost over all rounds from 1 on; between evaluations the last one counts.
  double mean_cost() const;
  double final_cost() const { return costs.empty() ? kNaN : costs.back(); }
  /// The first evaluated round whose cost is at most `level`; rounds_done if none is.
  double rounds_to(double level) const;
};

RunSummary summarise(const RunView& run);
/// Plays a run without a file; only what happens after rounds, the work and what is drawn count of
/// the options. Throws Stopped if the work asks for it.
RunSummary play_in_memory(const ExperimentConfig& config, const RunOptions& options = {});

nlohmann::ordered_json summary_to_json(const RunSummary& summary);

}  // namespace lifeguard
