#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/interval.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/systems/system.hpp"
#include "lifeguard/systems/task_settings.hpp"

/// What the built-in systems need to write down their inclusions. Private: not installed.
namespace lifeguard {

/// The accelerations of the positions of a system, in deviations x from the goal and u from the
/// action that holds it:
///   acceleration = A x + B u + Σ_j g_j δ_j (f_jᵀ x + h_jᵀ u),   (A, B) ∈ conv{corners}, |δ_j| ≤ 1.
struct AccelerationInclusion {
  struct Corner {
    std::string name;
    Eigen::MatrixXd a;
    Eigen::MatrixXd b;
  };
  struct Channel {
    Eigen::VectorXd spread;
    Eigen::VectorXd state_factor;
    Eigen::VectorXd action_factor;
  };

  std::vector<Corner> corners;
  std::vector<Channel> channels;

  /// Corners of ranges without a width are there more than once: keeps the first of each name.
  void remove_repeated_corners();
  /// Adds radius · δ · (one state or one combination of actions) to one acceleration; nothing for
  /// a radius of 0.
  void add_state_channel(int acceleration, int state, double radius);
  void add_action_channel(int acceleration, const Eigen::VectorXd& actions, double radius);
};

/// One step of it with the task's Euler integrator, and the limits of the settings: one row for
/// each action with a finite limit.
UncertainPlant discretise(const AccelerationInclusion& accelerations,
                          std::span<const int> positions, std::span<const int> velocities,
                          std::span<const std::string> action_names, const TaskSettings& task,
                          const InclusionSettings& settings);

/// The range of a parameter, or its value.
template <HasParameters S>
class ParameterIntervals {
 public:
  ParameterIntervals(const S& system, const std::vector<ParameterRange>& ranges)
      : system_(system), ranges_(ranges) {}

  Interval operator()(double S::*field) const {
    for (const Parameter<S>& parameter : kParametersOf<S>) {
      if (parameter.field != field) continue;
      for (const ParameterRange& range : ranges_) {
        if (range.parameter == parameter.name) return {range.low, range.high};
      }
    }
    return system_.*field;
  }

 private:
  const S& system_;
  const std::vector<ParameterRange>& ranges_;
};

/// The limits as coefficients see them: for a linear statement the machine does not leave the goal.
double limit_for_coefficients(const InclusionSettings& settings, double limit);

/// The action names of a system as strings.
template <class S>
std::vector<std::string> action_names_of() {
  std::vector<std::string> names;
  for (const auto& action : S::kActionNames) names.emplace_back(action.name);
  return names;
}

}  // namespace lifeguard
