#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/system.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// One trajectory as a machine records it.
struct RecordedTrajectory {
  /// What it is called where it comes from. Empty: its number from 0, and a name that is just that
  /// number is read from a file as empty.
  std::string name;
  /// One column for each action and, if it was recorded, one for the state after the last action.
  /// Absolute, not relative to the goal.
  Eigen::MatrixXd states;
  /// As the policy commanded them, noise included, before the actuators' limits: what
  /// Trajectories::action holds. One column for each step, maybe none.
  Eigen::MatrixXd actions;
  /// One for each step, if they were recorded.
  std::optional<Eigen::VectorXd> costs;
  EndReason end = EndReason::finished;

  /// The number of actions.
  int steps() const { return static_cast<int>(actions.cols()); }
  /// Whether the state after the last action was recorded.
  bool has_final_state() const { return states.cols() > actions.cols(); }

  bool operator==(const RecordedTrajectory& other) const;
};

/// What a machine records while it is flown, driven or simulated: trajectories of one policy. A
/// value; runs/recording_file.hpp reads and writes it.
struct Recording {
  /// Which machine, and the fingerprint of the policy that was played; may be empty.
  std::string machine;
  std::string policy;
  /// How long a step takes; NaN if it is not said.
  double dt_seconds = kNaN;
  /// What the rows of the trajectories' states and actions are.
  std::vector<Signal> states;
  std::vector<Signal> actions;
  std::vector<RecordedTrajectory> trajectories;

  /// What no recording exceeds.
  static constexpr std::size_t kMostTrajectories = 1'000'000;
  static constexpr std::size_t kMostSignals = 1'000;        // states and actions together
  static constexpr std::size_t kMostNumbers = 100'000'000;  // states, actions and costs
  static constexpr std::size_t kLongestText = 1'000;        // of a name or a unit, in bytes

  /// Throws InvalidInput that names the trajectory, step, column, value and rule unless: there are
  /// states and actions, no name twice, names and units are lines of UTF-8, every number is finite,
  /// the sizes of a trajectory fit together, it has a first state, and dt is NaN or positive.
  void validate() const;
  /// The part of it that is about one trajectory.
  void validate_trajectory(std::size_t i) const;

  /// Without a dt both must have none; numbers are equal as numbers are.
  bool operator==(const Recording& other) const;
};

/// The batch that a learner of this task takes. Signals are found by their names, whatever their
/// order, and must be those of the task's system, with the same units; dt must be the task's, if it
/// is said. Features are computed from the states; so are costs that were not recorded, with the
/// limited action. No trajectory may have more than `steps` steps, one that finished must have just
/// as many; what failed costs the task's failure cost from then on; what was cut short is valued by
/// its final state or, if that was not recorded, loses its last step (Trajectories::cut).
/// Throws InvalidInput that names trajectory, step, column, value and rule.
Trajectories to_trajectories(const Recording& recording, const Task& task, const Features& features,
                             int steps);

/// Simulates and records: the states, with the one after the last action where it is finite, the
/// actions and the costs. to_trajectories() of it is rollout() to the bit, but for which of the
/// trajectories that failed have diverged: that is kept where the last state shows it.
Recording recorded(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings);
/// The same for a batch that rollout() gave with these settings.
Recording recorded(const Task& task, const RolloutSettings& settings, const Trajectories& batch);

}  // namespace lifeguard
