#pragma once

#include <Eigen/Core>
#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

struct Family;
struct InclusionSettings;

/// Whether every signal has a name and a unit.
template <std::size_t kSize>
consteval bool signals_are_named(const std::array<SignalName, kSize>& signals) {
  for (const SignalName& signal : signals) {
    if (signal.name.empty() || signal.unit.empty()) return false;
  }
  return true;
}

/// Whether the positions and their velocities are the whole state, each entry once. The velocity of
/// a position is what its acceleration changes, be it the position's rate or not (dynamics.hpp).
template <class S>
consteval bool positions_and_velocities_are_the_state() {
  std::array<int, S::kStates> seen{};
  for (const int i : S::kPositions) ++seen.at(static_cast<std::size_t>(i));
  for (const int i : S::kVelocities) ++seen.at(static_cast<std::size_t>(i));
  for (const int times : seen) {
    if (times != 1) return false;
  }
  return S::kPositions.size() == S::kVelocities.size();
}

/// What the file of a built-in system must say (mass_spring.hpp is a short one). All else follows
/// from it and from the list in built_in_systems.hpp. The equations of motion stand at the end of
/// the file, as a specialisation of Dynamics (dynamics.hpp).
template <class S>
concept BuiltInSystem = std::regular<S> && std::convertible_to<S, System> && HasParameters<S> &&
    requires(const S system, const Eigen::VectorXd goal, const TaskSettings task,
             const InclusionSettings& inclusion) {
  { S::kName } -> std::convertible_to<std::string_view>;     // in configurations
  { S::kMeaning } -> std::convertible_to<std::string_view>;  // in the reference
  { S::kDrawing } -> std::convertible_to<std::string_view>;  // how the page draws it
  // The share of the family's mean LQR gains that its first policies have by default.
  { S::kStartShare } -> std::convertible_to<double>;
  requires std::same_as<decltype(S::kStates), const int>;
  requires std::same_as<decltype(S::kActions), const int>;
  requires std::same_as<decltype(S::kStateNames), const std::array<SignalName, S::kStates>>;
  requires std::same_as<decltype(S::kActionNames), const std::array<SignalName, S::kActions>>;
  { S::default_settings() } -> std::same_as<TaskSettings>;
  { S::families() } -> std::same_as<std::vector<Family>>;  // the first has the name kName
  // In continuous time, in deviations from the goal and from the action that holds it: the same at
  // every goal, or not.
  requires requires {
    { system.linearise() } -> std::same_as<LinearModel>;
  } || requires {
    { system.linearise(goal) } -> std::same_as<LinearModel>;
  };
  { system.equilibrium_action(goal) } -> std::convertible_to<Eigen::VectorXd>;
  // All that the machine may do in one step.
  { system.inclusion(task, inclusion) } -> std::same_as<UncertainPlant>;
} && signals_are_named(S::kStateNames) && signals_are_named(S::kActionNames) &&
    positions_and_velocities_are_the_state<S>() && parameters_are_described<S>() &&
    // Every field is a parameter.
    sizeof(S) == kParametersOf<S>.size() * sizeof(double);

/// A list of system types.
template <BuiltInSystem... S>
struct SystemList {
  /// The types of the list, and more, as arguments of a template.
  template <template <class...> class Variant, class... More>
  using As = Variant<S..., More...>;

  /// Calls the template operator() of `visit` for each type, in the order of the list.
  template <class Visit>
  static constexpr void for_each(const Visit& visit) {
    (visit.template operator()<S>(), ...);
  }
};

}  // namespace lifeguard
