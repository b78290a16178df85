#pragma once

#include <Eigen/Core>

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

/// What was stored, as a value again. Throws InvalidInput if it is none.
Task task_of(const StoredTask& stored);
SafeSet safe_set_of(const StoredSafeSet& stored, int parameters);

/// What describe() was told of, as it stands in a file: nothing is drawn or solved again.
DrawnTasks drawn_tasks_of(const ExperimentConfig& config, const RunDescription& description);

}  // namespace lifeguard
