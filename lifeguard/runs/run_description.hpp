#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_file.hpp"
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

/// Whether a system of this name is registered in this program.
bool is_registered(std::string_view system);
/// Throws UnknownSystem for the name of one that is not: the file can be "played on" elsewhere.
void require_registered(const RunReader& reader, const std::string& system, std::string_view what);
/// The same for all tasks of a run, if it is of a schema that says their systems.
void require_registered(const RunReader& reader, std::string_view what);
/// Whether the systems of two tasks say that they have the same states, actions and features.
bool same_signals(const StoredTask& a, const StoredTask& b);

/// What was stored, as a value again. Throws InvalidInput if it is none. A system that is not
/// registered here is an absent one (absent_system.hpp).
Task task_of(const StoredTask& stored);
SafeSet safe_set_of(const StoredSafeSet& stored, int parameters);

/// What describe() was told of, as it stands in a file: nothing is drawn or solved again.
DrawnTasks drawn_tasks_of(const ExperimentConfig& config, const RunDescription& description);

}  // namespace lifeguard
