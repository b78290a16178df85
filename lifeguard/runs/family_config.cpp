#include "lifeguard/runs/family_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/family_table.hpp"
#include "lifeguard/runs/toml.hpp"

namespace lifeguard {
namespace {

/// A place in the file, for messages: "quadrotor.toml:7: family.settings.sigma".
class Location {
 public:
  Location(std::string_view source, std::string key) : source_(source), key_(std::move(key)) {}
  Location child(std::string_view key) const {
    return {source_, key_.empty() ? std::string(key) : fmt::format("{}.{}", key_, key)};
  }
  std::string at(const toml::node& node) const {
    return fmt::format("{}:{}: {}", source_, node.source().begin.line, key_);
  }

 private:
  std::string source_;
  std::string key_;
};

double read_number(const toml::node& node, const Location& where) {
  const auto value = node.value<double>();
  require(node.is_number() && value.has_value(), where.at(node), text_of(node), "must be a number");
  return *value;
}

std::string read_choice(const toml::node& node, const Location& where,
                        const std::vector<std::string>& choices) {
  const auto value = node.value<std::string>();
  const bool known =
      node.is_string() && std::find(choices.begin(), choices.end(), *value) != choices.end();
  require(known, where.at(node), text_of(node),
          fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \"")));
  return *value;
}

const toml::table& read_table(const toml::node& node, const Location& where) {
  require(node.is_table(), where.at(node), text_of(node), "must be a table");
  return *node.as_table();
}

/// One number for each entry, or a single number for all of them.
Eigen::VectorXd read_vector(const toml::node& node, const Location& where, int size) {
  if (const toml::array* array = node.as_array()) {
    require(static_cast<int>(array->size()) == size, where.at(node), text_of(node),
            fmt::format("must have {} entries", size));
    Eigen::VectorXd vector(size);
    for (int i = 0; i < size; ++i) vector(i) = read_number((*array)[i], where);
    return vector;
  }
  return Eigen::VectorXd::Constant(size, read_number(node, where));
}

/// A number fixes the parameter, [low, high] draws it uniformly, and
/// {low = …, high = …, scale = "logarithmic"} as it says.
void read_parameter(const std::string& name, const toml::node& node, const Location& where,
                    Family& family) {
  double& nominal = parameter(family.nominal, name);
  std::erase_if(family.ranges, [&](const ParameterRange& r) { return r.parameter == name; });
  if (node.is_number()) {
    nominal = read_number(node, where);
    return;
  }
  ParameterRange range{name, 0, 0, false};
  if (const toml::array* array = node.as_array()) {
    require(array->size() == 2, where.at(node), text_of(node), "must be [low, high]");
    range.low = read_number((*array)[0], where);
    range.high = read_number((*array)[1], where);
  } else {
    const toml::table& table = read_table(node, where);
    require(table.contains("low") && table.contains("high"), where.at(node), text_of(node),
            "must have low and high");
    for (const auto& [key, value] : table) {
      const Location inner = where.child(key.str());
      if (key == "low") {
        range.low = read_number(value, inner);
      } else if (key == "high") {
        range.high = read_number(value, inner);
      } else if (key == "scale") {
        range.logarithmic = read_choice(value, inner, {"linear", "logarithmic"}) == "logarithmic";
      } else {
        throw InvalidInput(inner.at(value), text_of(value),
                           "unknown key; a range has low, high and scale");
      }
    }
  }
  require(range.low <= range.high, where.at(node), text_of(node), "must have low not above high");
  family.ranges.push_back(std::move(range));
}

void read_settings(const toml::table& table, const Location& where, TaskSettings& settings) {
  const int states = static_cast<int>(settings.goal.size());
  const int actions = static_cast<int>(settings.action_low.size());
  const std::vector<std::pair<std::string, double*>> numbers = {
      {"dt_seconds", &settings.dt_seconds},
      {"failure_cost", &settings.failure_cost},
      {"sigma", &settings.sigma}};
  const std::vector<std::pair<std::string, std::pair<Eigen::VectorXd*, int>>> vectors = {
      {"start_low", {&settings.start_low, states}},
      {"start_high", {&settings.start_high, states}},
      {"goal", {&settings.goal, states}},
      {"state_weights", {&settings.state_weights, states}},
      {"action_weights", {&settings.action_weights, actions}},
      {"action_low", {&settings.action_low, actions}},
      {"action_high", {&settings.action_high, actions}},
      {"failure_bounds", {&settings.failure_bounds, states}}};
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    const Location inner = where.child(name);
    const auto number = std::find_if(numbers.begin(), numbers.end(),
                                     [&](const auto& n) { return n.first == name; });
    const auto vector = std::find_if(vectors.begin(), vectors.end(),
                                     [&](const auto& v) { return v.first == name; });
    if (number != numbers.end()) {
      *number->second = read_number(value, inner);
    } else if (vector != vectors.end()) {
      *vector->second.first = read_vector(value, inner, vector->second.second);
    } else if (name == "integrator") {
      const std::string choice =
          read_choice(value, inner, {"explicit_euler", "semi_implicit_euler", "runge_kutta_4"});
      settings.integrator = choice == "runge_kutta_4"    ? Integrator::runge_kutta_4
                            : choice == "explicit_euler" ? Integrator::explicit_euler
                                                         : Integrator::semi_implicit_euler;
    } else {
      throw InvalidInput(inner.at(value), text_of(value),
                         "unknown key; docs/systems.md lists the settings of a family");
    }
  }
}

}  // namespace

Family family_from_table(const toml::table& table, std::string_view source) {
  const Location where(source, "family");
  require(table.contains("base"), where.child("base").at(table), "(missing)",
          fmt::format("must be one of \"{}\"", fmt::join(family_names(), "\", \"")));
  Family family =
      family_by_name(read_choice(*table.get("base"), where.child("base"), family_names()));
  for (const auto& [key, value] : table) {
    const Location inner = where.child(key.str());
    if (key == "base") continue;
    if (key == "name") {
      require(value.is_string(), inner.at(value), text_of(value), "must be a string");
      family.name = *value.value<std::string>();
    } else if (key == "parameters") {
      for (const auto& [name, node] : read_table(value, inner)) {
        const std::vector<std::string> known = parameter_names(family.nominal);
        require(std::find(known.begin(), known.end(), name.str()) != known.end(),
                inner.child(name.str()).at(node), text_of(node),
                fmt::format("unknown key; the parameters are {}", fmt::join(known, ", ")));
        read_parameter(std::string(name.str()), node, inner.child(name.str()), family);
      }
    } else if (key == "settings") {
      read_settings(read_table(value, inner), inner, family.settings);
    } else {
      throw InvalidInput(inner.at(value), text_of(value),
                         "unknown key; a family has base, name, parameters and settings");
    }
  }
  try {
    family.validate();
  } catch (const InvalidInput& error) {
    throw InvalidInput(fmt::format("{}: {}", source, error.field()), error.value(), error.rule());
  }
  return family;
}

Family parse_family(std::string_view text, std::string_view source) {
  const toml::table file = parse_toml(text, source);
  const Location root(source, "");
  for (const auto& [key, value] : file) {
    require(key == "family", root.child(key.str()).at(value), text_of(value),
            "unknown key; the file has one table, [family]");
  }
  require(file.contains("family"), std::string(source), "(no [family] table)",
          "must have a [family] table");
  return family_from_table(read_table(*file.get("family"), root.child("family")), source);
}

Family load_family(const std::filesystem::path& path) {
  return parse_family(read_text_file(path), path.filename().string());
}

}  // namespace lifeguard
