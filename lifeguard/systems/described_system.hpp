#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// A machine that a file describes and no program knows: its signals by name, and either a linear
/// model or nothing to simulate.
struct DescribedSystem {
  std::vector<Signal> states;
  std::vector<Signal> actions;
  /// What the policy sees where that is not the state. Only of an external machine, which records
  /// them in the place of its states.
  std::vector<Signal> features;
  /// x⁺ - goal = A (x - goal) + B u, one step of dt. Without one the machine is external: its
  /// trajectories come from outside.
  std::optional<LinearModel> model;

  /// What can be simulated has no more states.
  static constexpr std::size_t kMostStates = 64;

  /// "linear" or "external".
  std::string_view kind() const { return model ? "linear" : "external"; }
  /// Throws InvalidInput naming the field, its value and the rule.
  void validate() const;

  bool operator==(const DescribedSystem& other) const;
};

/// A system for tasks with these settings: it starts in their box and costs what their weights say.
/// The entries of a linear model are its parameters, a_1_1, …, b_1_1, … (row, column).
System make_described_system(DescribedSystem description, const TaskSettings& settings);
/// What was described; null for any other system.
const DescribedSystem* described(const System& system);
/// Gives a described system the settings of its task. To be called when these have changed.
void settle(Task& task);

/// Whether there is anything to simulate: false for external machines, and for systems that are not
/// registered here (absent_system.hpp).
bool can_simulate(const System& system);

}  // namespace lifeguard
