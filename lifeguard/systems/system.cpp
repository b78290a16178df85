#include "lifeguard/systems/system.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/overloaded.hpp"
#include "lifeguard/systems/custom_system.hpp"

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

SystemDescription describe(const System& system) {
  return std::visit(
      Overloaded{[](const BuiltInSystem auto& s) { return describe_built_in(s); },
                 [](const CustomSystemPointer& custom) { return custom->describe(); }},
      system);
}

std::string system_name(const System& system) { return describe(system).name; }

TaskSettings default_settings(const System& system) {
  return std::visit(
      Overloaded{[]<BuiltInSystem S>(const S&) { return S::default_settings(); },
                 [](const CustomSystemPointer& custom) { return custom->default_settings(); }},
      system);
}

void validate_system(const System& system) {
  std::visit(Overloaded{[](const BuiltInSystem auto& s) { require_parameters(s); },
                        [](const CustomSystemPointer& custom) {
                          require(custom != nullptr, "system", "null", "must be a system");
                          custom->validate();
                        }},
             system);
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
                    system);
}

void set_parameter(System& system, std::string_view name, double value) {
  std::visit(Overloaded{[&]<BuiltInSystem S>(S& s) {
                          const std::size_t place = place_of(name, kParametersOf<S>);
                          if (place == kParametersOf<S>.size()) refuse_parameter(system, name);
                          s.*kParametersOf<S>[place].field = value;
                        },
                        [&](CustomSystemPointer& custom) {
                          const auto known = custom->describe().parameters;
                          const std::size_t place = place_of(name, known);
                          if (place == known.size()) refuse_parameter(system, name);
                          custom = custom->with_parameter(place, value);
                        }},
             system);
}

bool same_system(const System& a, const System& b) {
  if (a.index() != b.index()) return false;
  return std::visit(Overloaded{[&]<BuiltInSystem S>(const S& s) { return s == std::get<S>(b); },
                               [&](const CustomSystemPointer& custom) {
                                 const auto& other = std::get<CustomSystemPointer>(b);
                                 return custom == other ||
                                        (custom && other && custom->equals(*other));
                               }},
                    a);
}

}  // namespace lifeguard
