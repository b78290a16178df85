#include "bindings/task_keywords.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/keywords.hpp"
#include "bindings/sigma.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard::python {
namespace {

void take(const nb::handle& given, std::string_view key, int /*size*/, double& value) {
  require(nb::try_cast(given, value), key, shown(given), "must be a number");
}

void take(const nb::handle& given, std::string_view key, int size, PerAction& value) {
  require(nb::try_cast(given, value), key, shown(given),
          fmt::format("must be a number or {} numbers", size));
  value.require_fits(key, size);
}

void take(const nb::handle& given, std::string_view key, int /*size*/, Integrator& value) {
  const std::string name = nb::isinstance<nb::str>(given) ? nb::cast<std::string>(given) : "";
  const auto found = std::find(kIntegratorNames.begin(), kIntegratorNames.end(), name);
  require(found != kIntegratorNames.end(), key, shown(given),
          "must be explicit_euler, semi_implicit_euler or runge_kutta_4");
  value = static_cast<Integrator>(found - kIntegratorNames.begin());
}

void take(const nb::handle& given, std::string_view key, int size, Eigen::VectorXd& value) {
  double number = 0;
  if (nb::try_cast(given, number)) {
    value = Eigen::VectorXd::Constant(size, number);
    return;
  }
  require(nb::try_cast(given, value), key, shown(given),
          fmt::format("must be a number or {} numbers", size));
  require_size(key, value.size(), size);
}

nb::object given_back(double value) { return nb::float_(value); }
nb::object given_back(const PerAction& value) { return nb::cast(value); }
nb::object given_back(Integrator value) {
  return nb::cast(kIntegratorNames[static_cast<std::size_t>(value)]);
}
nb::object given_back(const Eigen::VectorXd& value) { return nb::cast(Eigen::VectorXd(value)); }

/// Calls visit(setting) for each.
template <class Visit>
void for_each_setting(const Visit& visit) {
  std::apply([&](const auto&... setting) { (visit(setting), ...); }, kTaskSettings);
}

}  // namespace

void read_task_settings(const nb::dict& keywords, int states, int actions, TaskSettings& settings) {
  std::vector<std::string> known;
  for_each_setting([&](const auto& setting) {
    known.emplace_back(setting.key);
    const nb::str key(setting.key.data(), setting.key.size());
    if (!keywords.contains(key)) return;
    const int size = setting.entry == EntryFor::state ? states : actions;
    take(keywords[key], setting.key, size, settings.*setting.field);
  });
  for (const auto& [name, value] : keywords) {
    const std::string text = nb::cast<std::string>(name);
    if (std::find(known.begin(), known.end(), text) != known.end()) continue;
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
    throw InvalidInput(text, shown(value), "unknown setting; known are " + list);
  }
}

nb::dict task_settings_to_dict(const TaskSettings& settings) {
  nb::dict result;
  for_each_setting([&](const auto& setting) {
    result[nb::str(setting.key.data(), setting.key.size())] = given_back(settings.*setting.field);
  });
  return result;
}

}  // namespace lifeguard::python
