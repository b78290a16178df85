#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <vector>

#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_rows.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// The experiment in numbers, from its configuration. k is -1 where only the learner knows it.
StoredExperiment experiment_of(const ExperimentConfig& config);

/// All that a run file says before the first round. `k` is the number of columns of the learner's
/// L, 0 for methods without.
RunDescription describe(const ExperimentConfig& config, const DrawnTasks& drawn,
                        const Eigen::MatrixXd& first_policies, int k);

/// A task as it is stored; its place, safe set and first policy are still to be filled in.
StoredTask stored_task(const Task& task);

/// Stores safe sets, those that are equal in everything once.
class SafeSetPlaces {
 public:
  explicit SafeSetPlaces(std::vector<StoredSafeSet>& sets);
  /// The place of this set among the stored ones, which it may be added to.
  long place_of(const SafeSet& set);

 private:
  std::vector<StoredSafeSet>& sets_;
  std::map<std::string, long> known_;  // by a hash of everything
};

/// What was stored, as a value again. Throws InvalidInput if it is none.
Task task_of(const StoredTask& stored);
SafeSet safe_set_of(const StoredSafeSet& stored, int parameters);

/// What describe() was told of, as it stands in a file: nothing is drawn or solved again.
DrawnTasks drawn_tasks_of(const ExperimentConfig& config, const RunDescription& description);

}  // namespace lifeguard
