#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/policy/features.hpp"
#include "lifeguard/systems/parameter.hpp"

namespace lifeguard {

/// A state, an action or a feature as people read it: "pole angle" in "rad".
struct Signal {
  std::string name;
  std::string unit;  // "1" for a pure number

  bool operator==(const Signal&) const = default;
};

/// The same as a type writes it down: kStateNames = {{{"position", "m"}, {"speed", "m/s"}}}.
struct SignalName {
  std::string_view name;
  std::string_view unit;

  /// With texts of its own.
  Signal signal() const { return {std::string(name), std::string(unit)}; }
};

/// A parameter of a system at hand: its description and its value.
struct ParameterDescription {
  std::string name;
  double value = 0;
  ParameterRule rule;
  std::string unit;
  std::string meaning;
};

/// What a system says of itself, whatever its type: for tables, files, messages and pictures.
struct SystemDescription {
  std::string name;  // "custom" for a custom system without a name
  std::string meaning;
  /// Whether it is a user's own, with its own start, step and cost.
  bool custom = false;
  std::vector<Signal> states;
  std::vector<Signal> actions;
  /// What a policy sees, for a system with features of its own.
  std::vector<Signal> features;
  std::vector<ParameterDescription> parameters;
  /// How the page draws it. One that the page does not know, or none, is drawn plainly: the
  /// signals over time.
  std::string drawing;
  /// The places in the state of what the drawing takes.
  std::vector<int> positions;
  /// The share of the family's mean LQR gains that first policies have by default.
  double start_share = 0;

  /// What a policy with these features sees: the system's own features if it has any, else the
  /// state relative to the goal, then 1 and the products as Features says.
  std::vector<Signal> inputs(const Features& policy_features = {}) const;
  /// The states that are drawn: those at `positions`, or all of them.
  std::vector<int> drawn_states() const;
  /// The gains of a policy in the order of its parameters: "gain on speed", "rotor 2 on yaw".
  std::vector<std::string> gain_names(const Features& policy_features = {}) const;
};

}  // namespace lifeguard
