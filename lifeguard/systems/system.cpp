#include "lifeguard/systems/system.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <utility>
#include <variant>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/overloaded.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {
namespace {

template <BuiltInSystem S>
SystemDescription describe_built_in(const S& system) {
  SystemDescription d;
  d.name = S::kName;
  d.meaning = S::kMeaning;
  for (const SignalName& name : S::kStateNames) d.states.push_back(name.signal());
  for (const SignalName& name : S::kActionNames) d.actions.push_back(name.signal());
  for (const Parameter<S>& p : kParametersOf<S>) {
    d.parameters.push_back({std::string(p.name), system.*p.field, p.rule, std::string(p.unit),
                            std::string(p.meaning)});
  }
  d.drawing = S::kDrawing;
  d.positions.assign(S::kPositions.begin(), S::kPositions.end());
  d.start_share = S::kStartShare;
  if constexpr (requires { S::kFleetExample; }) d.fleet_example = S::kFleetExample;
  return d;
}

/// The place of a name in a list of parameters; its size if it is not there.
std::size_t place_of(std::string_view name, const auto& parameters) {
  std::size_t place = 0;
  while (place < parameters.size() && parameters[place].name != name) ++place;
  return place;
}

[[noreturn]] void refuse_parameter(const System& system, std::string_view name) {
  const std::vector<std::string> names = parameter_names(system);
  throw InvalidInput("parameter", name,
                     names.empty() ? fmt::format("{} has no parameters", system_name(system))
                                   : fmt::format("must be one of {}", fmt::join(names, ", ")));
}

}  // namespace

std::string ParameterRule::text() const {
  std::string rule = "must be finite";
  if (low > -kInfinity) {
    rule += fmt::format(" and {} {}", low_open ? "greater than" : "at least", low);
  }
  if (high < kInfinity) rule += fmt::format(" and at most {}", high);
  return rule;
}

std::vector<int> SystemDescription::drawn_states() const {
  if (!positions.empty()) return positions;
  std::vector<int> all(states.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<Signal> SystemDescription::inputs(const Features& policy_features) const {
  if (!features.empty()) return features;
  std::vector<Signal> seen = states;
  if (policy_features.bias) seen.push_back({"1", "1"});
  if (policy_features.second_order) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      seen.push_back({states[i].name + "²", fmt::format("({})²", states[i].unit)});
      for (std::size_t j = i + 1; j < states.size(); ++j) {
        seen.push_back({fmt::format("{} · {}", states[i].name, states[j].name),
                        fmt::format("{} · {}", states[i].unit, states[j].unit)});
      }
    }
  }
  return seen;
}

std::vector<std::string> SystemDescription::gain_names(const Features& policy_features) const {
  const std::vector<Signal> seen = inputs(policy_features);
  std::vector<std::string> names;
  for (const Signal& action : actions) {
    for (const Signal& input : seen) {
      names.push_back(
          fmt::format("{} on {}", actions.size() == 1 ? "gain" : action.name, input.name));
    }
  }
  return names;
}

std::vector<std::string> SystemDescription::gain_labels(const Features& policy_features) const {
  std::vector<std::string> labels = gain_names(policy_features);
  const std::vector<Signal> seen = inputs(policy_features);
  std::size_t next = 0;
  for (const Signal& action : actions) {
    for (const Signal& input : seen) {
      std::string& label = labels[next++];
      const std::string unit = gain_unit(action, input);
      if (!unit.empty()) label += fmt::format(" ({})", unit);
    }
  }
  return labels;
}

System::System() : model_(std::make_shared<const SystemModel>()) {}

System::System(CustomSystemPointer custom)
    : model_(std::make_shared<const SystemModel>(SystemModel{std::move(custom)})) {}

bool System::operator==(const System& other) const {
  const SystemVariant& b = other.model_->machine;
  if (model_->machine.index() != b.index()) return false;
  return std::visit(Overloaded{[&]<BuiltInSystem S>(const S& s) { return s == std::get<S>(b); },
                               [&](const CustomSystemPointer& custom) {
                                 const auto& same_kind = std::get<CustomSystemPointer>(b);
                                 return custom == same_kind ||
                                        (custom && same_kind && custom->equals(*same_kind));
                               }},
                    model_->machine);
}

SystemDescription describe(const System& system) {
  return std::visit(
      Overloaded{[](const BuiltInSystem auto& s) { return describe_built_in(s); },
                 [](const CustomSystemPointer& custom) { return custom->describe(); }},
      system.model().machine);
}

std::string system_name(const System& system) { return describe(system).name; }

void validate_system(const System& system) {
  std::visit(Overloaded{[](const BuiltInSystem auto& s) { require_parameters(s); },
                        [](const CustomSystemPointer& custom) {
                          require(custom != nullptr, "system", "null", "must be a system");
                          custom->validate();
                        }},
             system.model().machine);
}

std::vector<std::string> parameter_names(const System& system) {
  std::vector<std::string> names;
  for (const ParameterDescription& p : describe(system).parameters) names.push_back(p.name);
  return names;
}

double parameter(const System& system, std::string_view name) {
  return std::visit(Overloaded{[&]<BuiltInSystem S>(const S& s) {
                                 const std::size_t place = place_of(name, kParametersOf<S>);
                                 if (place == kParametersOf<S>.size())
                                   refuse_parameter(system, name);
                                 return s.*kParametersOf<S>[place].field;
                               },
                               [&](const CustomSystemPointer& custom) {
                                 const std::vector<ParameterDescription> known =
                                     custom->describe().parameters;
                                 const std::size_t place = place_of(name, known);
                                 if (place == known.size()) refuse_parameter(system, name);
                                 return known[place].value;
                               }},
                    system.model().machine);
}

void set_parameter(System& system, std::string_view name, double value) {
  system = std::visit(Overloaded{[&]<BuiltInSystem S>(S s) -> System {
                                   const std::size_t place = place_of(name, kParametersOf<S>);
                                   if (place == kParametersOf<S>.size())
                                     refuse_parameter(system, name);
                                   s.*kParametersOf<S>[place].field = value;
                                   return s;
                                 },
                                 [&](const CustomSystemPointer& custom) -> System {
                                   const auto known = custom->describe().parameters;
                                   const std::size_t place = place_of(name, known);
                                   if (place == known.size()) refuse_parameter(system, name);
                                   return custom->with_parameter(place, value);
                                 }},
                      system.model().machine);
}

}  // namespace lifeguard
