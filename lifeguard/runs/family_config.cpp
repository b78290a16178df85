#include "lifeguard/runs/family_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/family_table.hpp"
#include "lifeguard/runs/toml.hpp"
#include "lifeguard/runs/toml_place.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard {
namespace {

/// A value of a parameter, which obeys its rule.
double read_value(const toml::node& node, const TomlPlace& where, const ParameterRule& rule) {
  const double value = read_number(node, where);
  require(rule.allows(value), where.at(node), text_of(node), rule.text());
  return value;
}

/// A number fixes the parameter, [low, high] draws it uniformly, and
/// {low = …, high = …, scale = "logarithmic"} as it says.
void read_parameter(const ParameterDescription& about, const toml::node& node,
                    const TomlPlace& where, Family& family) {
  std::erase_if(family.ranges, [&](const ParameterRange& r) { return r.parameter == about.name; });
  if (node.is_number()) {
    set_parameter(family.nominal, about.name, read_value(node, where, about.rule));
    return;
  }
  ParameterRange range{about.name, 0, 0, false};
  if (const toml::array* array = node.as_array()) {
    require(array->size() == 2, where.at(node), text_of(node), "must be [low, high]");
    range.low = read_value((*array)[0], where, about.rule);
    range.high = read_value((*array)[1], where, about.rule);
  } else {
    const toml::table& table = read_table(node, where);
    require(table.contains("low") && table.contains("high"), where.at(node), text_of(node),
            "must have low and high");
    for (const auto& [key, value] : table) {
      const TomlPlace inner = where.child(key.str());
      if (key == "low") {
        range.low = read_value(value, inner, about.rule);
      } else if (key == "high") {
        range.high = read_value(value, inner, about.rule);
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

void read_parameters(const toml::table& table, const TomlPlace& where, Family& family) {
  const std::vector<ParameterDescription> known = describe(family.nominal).parameters;
  for (const auto& entry : table) {
    const std::string_view name = entry.first.str();
    const toml::node& node = entry.second;
    const auto about =
        std::find_if(known.begin(), known.end(), [&](const auto& p) { return p.name == name; });
    if (about == known.end()) {
      const std::string names = fmt::format("{}", fmt::join(parameter_names(family.nominal), ", "));
      throw InvalidInput(where.child(name).at(node), text_of(node),
                         names.empty() ? "unknown key; this system has no parameters"
                                       : "unknown key; the parameters are " + names);
    }
    read_parameter(*about, node, where.child(name), family);
  }
}

/// Reads the value of a setting of its type.
class SettingReader {
 public:
  explicit SettingReader(const TaskSettings& settings)
      : states_(static_cast<int>(settings.goal.size())),
        actions_(static_cast<int>(settings.action_low.size())) {}

  void read(const toml::node& node, const TomlPlace& where, EntryFor /*entry*/,
            double& value) const {
    value = read_number(node, where);
  }
  void read(const toml::node& node, const TomlPlace& where, EntryFor /*entry*/,
            Integrator& value) const {
    const std::vector<std::string> names(kIntegratorNames.begin(), kIntegratorNames.end());
    const std::string choice = read_choice(node, where, names);
    value = static_cast<Integrator>(std::find(names.begin(), names.end(), choice) - names.begin());
  }
  void read(const toml::node& node, const TomlPlace& where, EntryFor entry,
            Eigen::VectorXd& value) const {
    value = read_vector(node, where, entry == EntryFor::state ? states_ : actions_);
  }
  void read(const toml::node& node, const TomlPlace& where, EntryFor /*entry*/,
            PerAction& value) const {
    if (node.is_array()) {
      value = PerAction(read_vector(node, where, actions_));
    } else {
      value = read_number(node, where);
    }
  }

 private:
  int states_;
  int actions_;
};

/// What a rule of settings says is wrong stands in the family's own table of them, or else is what
/// the base has, and then what was read does not fit to it.
void require_valid_settings(const Family& family, const toml::table& table,
                            const TomlPlace& where) {
  const Task task{family.name, family.nominal, family.settings};
  try {
    task.settings.validate(task.states(), task.actions());
  } catch (const InvalidInput& error) {
    const std::string key = "settings." + error.field();
    const toml::node* node = nearest_node(table, key);
    throw InvalidInput(where.child(key).at(node == nullptr ? table : *node), error.value(),
                       error.rule());
  }
}

/// The family that is meant, or what stands for one that is not known here.
Family base_family(const toml::node& base, const TomlPlace& where,
                   const std::vector<Task>& absent) {
  const std::vector<std::string> known = family_names();
  const auto name = base.value<std::string>();
  if (name && !absent.empty() && std::find(known.begin(), known.end(), *name) == known.end()) {
    return {*name, absent.front().system, {}, absent.front().settings};
  }
  return family_by_name(read_choice(base, where, known));
}

}  // namespace

void read_task_settings(const toml::table& table, const TomlPlace& where, const System& system,
                        TaskSettings& settings) {
  const SettingReader reader(settings);
  const bool custom = describe(system).custom && described(system) == nullptr;
  for (const auto& entry : table) {
    const std::string_view key = entry.first.str();
    const toml::node& value = entry.second;
    const TomlPlace inner = where.child(key);
    bool known = false;
    const auto read_if_named = [&](const auto& setting) {
      if (setting.key != key) return;
      known = true;
      require(!custom || !setting.of_the_system, inner.at(value), text_of(value),
              "cannot be chosen: a custom system has its own");
      reader.read(value, inner, setting.entry, settings.*setting.field);
    };
    std::apply([&](const auto&... each) { (read_if_named(each), ...); }, kTaskSettings);
    require(known, inner.at(value), text_of(value),
            "unknown key; docs/systems.md lists the settings of a task");
  }
}

void read_parameter_values(const toml::table& table, const TomlPlace& where, System& system) {
  Family family{"machine", system, {}, default_settings(system)};
  read_parameters(table, where, family);
  for (const ParameterRange& range : family.ranges) {
    const toml::node& node = *table.get(range.parameter);
    throw InvalidInput(where.child(range.parameter).at(node), text_of(node),
                       "must be one number: a machine is not drawn");
  }
  system = family.nominal;
}

Family family_from_table(const toml::table& table, std::string_view source,
                         const std::vector<Task>& absent) {
  const TomlPlace where(source, "family");
  require(table.contains("base"), where.child("base").at(table), "(missing)",
          fmt::format("must be one of \"{}\"", fmt::join(family_names(), "\", \"")));
  Family family = base_family(*table.get("base"), where.child("base"), absent);
  for (const auto& [key, value] : table) {
    const TomlPlace inner = where.child(key.str());
    if (key == "base") continue;
    if (key == "name") {
      require(value.is_string(), inner.at(value), text_of(value), "must be a string");
      family.name = *value.value<std::string>();
      require(is_plain_line(family.name), inner.at(value), text_of(value), kPlainLine);
    } else if (key == "parameters") {
      read_parameters(read_table(value, inner), inner, family);
    } else if (key == "settings") {
      read_task_settings(read_table(value, inner), inner, family.nominal, family.settings);
    } else {
      throw InvalidInput(inner.at(value), text_of(value),
                         "unknown key; a family has base, name, parameters and settings");
    }
  }
  require_valid_settings(family, table, where);
  try {
    family.validate();
  } catch (const InvalidInput& error) {
    throw InvalidInput(fmt::format("{}: {}", source, error.field()), error.value(), error.rule());
  }
  return family;
}

Family parse_family(std::string_view text, std::string_view source) {
  const toml::table file = parse_toml(text, source);
  const TomlPlace root(source, "");
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
