#include "lifeguard/systems/system_reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {
namespace {

/// "±2" or "-1 to 3"; "none" for an infinite pair.
std::string limits_text(double low, double high) {
  if (std::isinf(low) && std::isinf(high)) return "none";
  return low == -high ? fmt::format("±{}", high) : fmt::format("{} to {}", low, high);
}

std::string bound_text(double bound) {
  return std::isinf(bound) ? "none" : fmt::format("±{}", bound);
}

std::string signal_tables(const SystemDescription& system, const TaskSettings& s) {
  std::string text =
      "| state | unit | starts in | fails beyond | weight |\n| --- | --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < system.states.size(); ++i) {
    const auto place = static_cast<Eigen::Index>(i);
    text += fmt::format(
        "| {} | {} | {} | {} | {} |\n", system.states[i].name, system.states[i].unit,
        system.custom ? "its own" : limits_text(s.start_low(place), s.start_high(place)),
        bound_text(s.failure_bounds(place)), s.state_weights(place));
  }
  text += "\n| action | unit | limits | weight |\n| --- | --- | --- | --- |\n";
  for (std::size_t i = 0; i < system.actions.size(); ++i) {
    const auto place = static_cast<Eigen::Index>(i);
    text += fmt::format("| {} | {} | {} | {} |\n", system.actions[i].name, system.actions[i].unit,
                        limits_text(s.action_low(place), s.action_high(place)),
                        s.action_weights(place));
  }
  return text;
}

std::string parameter_table(const SystemDescription& system) {
  if (system.parameters.empty()) return "";
  std::string text =
      "| parameter | unit | default | rule | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const ParameterDescription& p : system.parameters) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", p.name, p.unit, p.value, p.rule.text(),
                        p.meaning);
  }
  return text + '\n';
}

std::string family_text(const Family& family) {
  std::vector<std::string> varied;
  for (const ParameterRange& r : family.ranges) {
    varied.push_back(fmt::format("`{}` in [{:.4g}, {:.4g}]{}", r.parameter, r.low, r.high,
                                 r.logarithmic ? " log-uniformly" : ""));
  }
  return fmt::format("| `{}` | {} |\n", family.name,
                     varied.empty() ? "nothing" : fmt::format("{}", fmt::join(varied, ", ")));
}

}  // namespace

std::string system_reference(const std::string& name) {
  const System system = system_by_name(name);
  const SystemDescription about = describe(system);
  const TaskSettings settings = default_settings(system);
  std::string text = fmt::format("### `{}`: {}\n\n", name, about.meaning);
  text += parameter_table(about);
  text += signal_tables(about, settings);
  text += fmt::format(
      "\nA step takes {} s. After a failure each step costs {}. Exploration noise is {}. First\n"
      "policies have {} of the family's mean LQR gains. The page draws {}.\n\n",
      settings.dt_seconds, settings.failure_cost, settings.sigma.text(), about.start_share,
      about.drawing.empty() ? "its signals over time" : fmt::format("`{}`", about.drawing));
  text += "| family | varied |\n| --- | --- |\n";
  for (const std::string& family_name : family_names()) {
    const Family family = family_by_name(family_name);
    if (system_name(family.nominal) == name) text += family_text(family);
  }
  return text;
}

std::string built_in_systems_reference() {
  std::string text;
  BuiltInSystems::for_each([&]<class S>() {
    text += (text.empty() ? "" : "\n") + system_reference(std::string(S::kName));
  });
  return text;
}

}  // namespace lifeguard
