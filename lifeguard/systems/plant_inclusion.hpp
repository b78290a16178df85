#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/system.hpp"

namespace lifeguard {

struct Task;

/// What is known of a machine, and where it has to stay.
struct InclusionSettings {
  /// nonlinear: every step of the machine inside the limits. linear: its linearisations at the goal
  /// for all parameters in the ranges.
  PlantStatement statement = PlantStatement::nonlinear;
  /// The values that parameters may have, also from step to step; the task's own values among them.
  /// A parameter without a range is known exactly.
  std::vector<ParameterRange> ranges;
  /// |x_s - goal_s| ≤ state_limits_s, infinity for none. Empty: what the failure bounds leave.
  Eigen::VectorXd state_limits;
  /// |u_a - held_a| ≤ action_limits_a, held the action that holds the goal. Empty: what the task's
  /// action limits leave.
  Eigen::VectorXd action_limits;
  /// Limits on combinations of actions that the system has names for: the quadrotor's
  /// "rotors 2 + 4", "rotors 1 + 3", "rotors 4 - 2" and "rotors 1 - 3".
  struct CombinedLimit {
    std::string name;
    double limit = 0;
  };
  std::vector<CombinedLimit> combined_limits;
};

/// [value - share |value|, value + share |value|] for each of these parameters.
std::vector<ParameterRange> tolerance(const Task& task, std::span<const std::string> parameters,
                                      double share);

/// The linear inclusion of a built-in system: inside the limits, whatever one step of task.step()
/// does is one of the plant's steps. Needs a goal at which the machine rests, held by an action
/// that is the same for all parameters in the ranges, and an Euler step: of Runge-Kutta's no
/// inclusion is known here. Throws InvalidInput that says what is missing. A user's own system has
/// no inclusion: write its corners down, or see linearised_plant.
UncertainPlant inclusion(const Task& task, const InclusionSettings& settings);

/// The linearisations of any task at its goal, one for each corner of the box of parameter ranges
/// and one for the task's own parameters; for a user's own system by central differences. The
/// statement is `linear`, and even that is not proven between the corners. settings.statement and
/// combined limits must not ask for more.
UncertainPlant linearised_plant(const Task& task, const InclusionSettings& settings);

/// Linear models that somebody gave, with the limits that a linear statement about the task has.
UncertainPlant given_plant(const Task& task, const InclusionSettings& settings,
                           std::vector<UncertainPlant::Corner> corners);

}  // namespace lifeguard
