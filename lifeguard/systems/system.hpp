#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard {

/// The values that a parameter may have. Always an interval, so that a family whose two ends obey
/// it obeys it in between.
struct ParameterRule {
  double low = -kInfinity;
  double high = kInfinity;
  bool low_open = false;  // low itself is not allowed

  /// The rules there are, by name.
  static constexpr ParameterRule any() { return {}; }
  static constexpr ParameterRule positive() { return {.low = 0, .low_open = true}; }
  static constexpr ParameterRule not_negative() { return {.low = 0}; }
  static constexpr ParameterRule between(double low, double high) {
    return {.low = low, .high = high};
  }

  /// Never for NaN or an infinity.
  constexpr bool allows(double value) const {
    return value > -kInfinity && value < kInfinity && value <= high &&
           (low_open ? value > low : value >= low);
  }
  /// "must be finite and greater than 0"
  std::string text() const;

  bool operator==(const ParameterRule&) const = default;
};

/// A parameter of the system S, described once: whoever checks, reads, writes, draws or documents
/// parameters walks the list S::parameters().
template <class S>
struct Parameter {
  std::string_view name;  // as the field is called
  double S::*field;
  ParameterRule rule;
  std::string_view unit;  // "1" for a pure number
  std::string_view meaning;
};

template <class S>
concept HasParameters = requires {
  { S::parameters()[0] } -> std::convertible_to<Parameter<S>>;
};

/// The list, made once.
template <HasParameters S>
inline constexpr auto kParametersOf = S::parameters();

/// Throws InvalidInput that names the first parameter that breaks its rule.
template <HasParameters S>
void require_parameters(const S& system) {
  for (const Parameter<S>& parameter : kParametersOf<S>) {
    const double value = system.*parameter.field;
    if (!parameter.rule.allows(value)) {
      require(false, parameter.name, value, parameter.rule.text());
    }
  }
}

/// Whether every description is whole and no two are of the same name or field.
template <HasParameters S>
consteval bool parameters_are_described() {
  const auto list = S::parameters();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Parameter<S>& p = list[i];
    if (p.name.empty() || p.unit.empty() || p.meaning.empty() || p.field == nullptr) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (list[j].name == p.name || list[j].field == p.field) return false;
    }
  }
  return true;
}

/// Where a parameter of a family is drawn from: uniformly in [low, high], or with its logarithm
/// uniform.
struct ParameterRange {
  std::string parameter;  // its name
  double low = 0;
  double high = 0;
  bool logarithmic = false;
};

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
  /// How the page draws it, and after the name what the drawing needs. One that the page does not
  /// know, or none, is drawn plainly: the signals over time.
  std::string drawing;
  /// The places in the state of what the drawing takes.
  std::vector<int> positions;
  /// The share of the family's mean LQR gains that first policies have by default.
  double start_share = 0;
  /// Settings and a safe set that a fleet of them can begin with, as TOML; may be empty.
  std::string fleet_example;

  /// What a policy with these features sees: the system's own features if it has any, else the
  /// state relative to the goal, then 1 and the products as Features says.
  std::vector<Signal> inputs(const Features& policy_features = {}) const;
  /// The states that are drawn: those at `positions`, or all of them.
  std::vector<int> drawn_states() const;
  /// The gains of a policy in the order of its parameters: "gain on speed", "rotor 2 on yaw".
  std::vector<std::string> gain_names(const Features& policy_features = {}) const;
  /// The same with their units: "gain on speed (N/(m/s))".
  std::vector<std::string> gain_labels(const Features& policy_features = {}) const;
};

class CustomSystem;  // a user's own system: see custom_system.hpp
using CustomSystemPointer = std::shared_ptr<const CustomSystem>;
struct SystemModel;  // what is inside: built_in_systems.hpp

/// A machine with its parameters: a built-in one (system_by_name), or a user's own
/// (make_custom_system). A value that is cheap to copy.
class System {
 public:
  /// The first of the built-in ones.
  System();
  /// A user's own, or one that the library knows by its type.
  System(CustomSystemPointer custom);  // NOLINT(google-explicit-constructor)
  explicit System(std::shared_ptr<const SystemModel> model) : model_(std::move(model)) {}

  /// For the library, which knows what it is.
  const SystemModel& model() const { return *model_; }

  /// Whether both are the same system with the same parameters.
  bool operator==(const System& other) const;

 private:
  std::shared_ptr<const SystemModel> model_;
};

/// Its names, units, parameters and values, and how it is drawn.
SystemDescription describe(const System& system);
/// The system's name: describe(system).name.
std::string system_name(const System& system);
/// Throws InvalidInput that names the parameter that breaks its rule.
void validate_system(const System& system);

/// The names of the system's parameters, and one of them by its name.
std::vector<std::string> parameter_names(const System& system);
double parameter(const System& system, std::string_view name);
/// Does not look at the rule; validate_system() does.
void set_parameter(System& system, std::string_view name, double value);

}  // namespace lifeguard
