#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// What a safe learner begins with: the configuration's first policy where that is strictly safe,
/// else one that is. `replaced` then says why, with numbers.
struct FirstPolicy {
  Eigen::VectorXd parameters;  // empty if the safe set has no strictly safe policy
  std::string replaced;
  /// It came with the machine or its closed loop, and is not the one that all begin with.
  bool its_own = false;
};

/// One task, its constraints and what it begins with.
struct DrawnTask {
  Task task;
  SafeSet safe_set;
  FirstPolicy first;
};

/// What a configuration and a seed stand for: a pure function of both.
struct DrawnTasks {
  /// The machines as they are. With a closed loop each is known up to a tolerance: its parameters
  /// are drawn within it, and it starts in the guaranteed part of its start box.
  std::vector<Task> tasks;
  std::vector<SafeSet> safe_sets;  // one for each task; without rows if there are no constraints
  Eigen::VectorXd start;           // the first policy of every task, as the configuration says
  std::vector<FirstPolicy> first;  // of the safe learner, one for each task
  /// The columns of L, where they were chosen before; else the configuration says how.
  int k = 0;

  int parameters() const { return static_cast<int>(start.size()); }
  /// Bounds on |x - goal| of a task: of its closed loop, else what its failure bounds leave.
  Eigen::VectorXd state_limits(int task) const;
  /// Whether any task has constraints.
  bool constrained() const;
};

/// What the tasks are where a closed loop knows them up to a tolerance.
enum class Machines {
  drawn,     // drawn within it, to be simulated
  as_known,  // the real ones are outside
};

/// `work` is told of and asked after each task.
DrawnTasks draw_tasks(const ExperimentConfig& config, const LongWork& work = {},
                      Machines machines = Machines::drawn);
/// One of them; `start` is start_policy().
DrawnTask draw_task(const ExperimentConfig& config, int place, const Eigen::VectorXd& start,
                    Machines machines);

/// The machines of a fleet, or the tasks that a family draws as such.
std::vector<Machine> machines_of(const ExperimentConfig& config);

/// The first policy of every task of which nothing else is known: the configuration's share of the
/// mean LQR gains of the family, or of the fleet's machines.
Eigen::VectorXd start_policy(const ExperimentConfig& config, const Task& task);

/// Streams of seeds that one run derives from its own.
enum class SeedOf : std::uint64_t {
  round = 1,
  evaluation = 2,
  schedule = 3,
  best_policy = 4,
  cross_validation = 5,
  machine = 6
};
std::uint64_t run_seed(int seed, SeedOf use, std::uint64_t index = 0);
std::uint64_t run_seed(const ExperimentConfig& config, SeedOf use, std::uint64_t index = 0);

/// The task that round j = 1, 2, … visits.
int scheduled_task(const ExperimentConfig& config, long round);

/// The round after `round` in which all policies are evaluated; see evaluation.spacing.
long next_evaluation(const ExperimentConfig& config, long round);

/// What a learner is told of the task's action limits. Of a machine that is not simulated infinite
/// ones are limits that nobody told.
ActionRange told_action_range(const Task& task);

/// The method that the configuration names (variants resolved), with all drawn tasks. Methods
/// without constraints start from the same policies.
std::unique_ptr<PolicyLearner> make_learner(const ExperimentConfig& config, const DrawnTasks& drawn,
                                            const LongWork& work = {});

/// The method behind the configuration's label, which may be a variant.
std::string base_method(const ExperimentConfig& config);

/// Trajectories of a round.
int batch_size(const ExperimentConfig& config);

/// What to tell a user whose first policies were replaced; empty if none was.
std::string replaced_first_policies(const DrawnTasks& drawn);

/// The noise-free cost of a policy from the run's fixed start states.
double evaluation_cost(const ExperimentConfig& config, const Task& task,
                       const Eigen::VectorXd& alpha);

}  // namespace lifeguard
