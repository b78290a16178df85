// Reading [fleet] and [[machine]].

#include "lifeguard/runs/fleet_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/family_table.hpp"
#include "lifeguard/runs/fleet_template.hpp"
#include "lifeguard/runs/recording_text.hpp"
#include "lifeguard/runs/toml.hpp"
#include "lifeguard/runs/toml_place.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/lqr.hpp"

namespace lifeguard {
namespace {

constexpr std::array<std::string_view, 8> kFleetKeys = {
    "system",   "model",       "parameters",      "tolerance",
    "settings", "first_gains", "first_lqr_share", "notes"};
constexpr std::array<std::string_view, 3> kMachineKeys = {"name", "safe_set", "retired"};

bool is_fleet_key(std::string_view key) {
  return std::find(kFleetKeys.begin(), kFleetKeys.end(), key) != kFleetKeys.end();
}
bool is_machine_key(std::string_view key) {
  return is_fleet_key(key) ||
         std::find(kMachineKeys.begin(), kMachineKeys.end(), key) != kMachineKeys.end();
}

/// A table and where it stands; null if it is not there.
struct PlacedTable {
  const toml::table* table = nullptr;
  TomlPlace place;

  const toml::node* get(std::string_view key) const {
    return table == nullptr ? nullptr : table->get(key);
  }
};

/// What a machine says itself, before what [fleet] says for all.
struct Source {
  const PlacedTable& fleet;
  const PlacedTable& machine;
  const std::vector<Task>& absent;  // as in parse_config()

  /// Calls read(node, place) with what the machine says, else with what the fleet says.
  template <class Read>
  bool either(std::string_view key, const Read& read) const {
    for (const PlacedTable* from : {&machine, &fleet}) {
      if (const toml::node* node = from->get(key)) {
        read(*node, from->place.child(key));
        return true;
      }
    }
    return false;
  }
  /// Calls read(table, place) with the fleet's table and then with the machine's.
  template <class Read>
  void both(std::string_view key, const Read& read) const {
    for (const PlacedTable* from : {&fleet, &machine}) {
      if (const toml::node* node = from->get(key)) {
        const TomlPlace place = from->place.child(key);
        read(read_table(*node, place), place);
      }
    }
  }
};

std::vector<Signal> read_signals(const toml::table& model, std::string_view key,
                                 const TomlPlace& where) {
  std::vector<Signal> signals;
  const toml::node* node = model.get(key);
  if (node == nullptr) return signals;
  const TomlPlace place = where.child(key);
  require(node->is_array(), place.at(*node), text_of(*node),
          "must be a list of texts like \"position [m]\"");
  for (const toml::node& entry : *node->as_array()) {
    Signal& signal = signals.emplace_back(signal_from_title(read_text(entry, place)));
    if (signal.unit.empty()) signal.unit = "1";  // a pure number
  }
  return signals;
}

/// A list of rows, each a list of numbers; sizes are looked at by whoever uses it.
Eigen::MatrixXd read_rows(const toml::node& node, const TomlPlace& where) {
  const toml::array* rows = node.as_array();
  require(rows != nullptr && !rows->empty() && (*rows)[0].is_array(), where.at(node), text_of(node),
          "must be a list of rows, each a list of numbers");
  const auto columns = static_cast<int>((*rows)[0].as_array()->size());
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows->size()), columns);
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    const toml::node& row = (*rows)[static_cast<std::size_t>(i)];
    require(row.is_array(), where.at(row), text_of(row), "must be a list of numbers");
    matrix.row(i) = read_vector(row, where, columns).transpose();
  }
  return matrix;
}

DescribedSystem read_model(const toml::table& table, const TomlPlace& where, bool linear) {
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    const bool known = name == "states" || name == "actions" || (name == "features" && !linear) ||
                       ((name == "a" || name == "b") && linear);
    require(known, where.child(name).at(value), text_of(value),
            linear ? "unknown key; a linear model has states, actions, a and b"
                   : "unknown key; an external machine has states, actions and features");
  }
  DescribedSystem model;
  model.states = read_signals(table, "states", where);
  model.actions = read_signals(table, "actions", where);
  model.features = read_signals(table, "features", where);
  if (linear) {
    for (const std::string_view key : {"a", "b"}) {
      require(table.contains(key), where.child(key).at(table), "(missing)",
              "must be given: x⁺ - goal = A (x - goal) + B u");
    }
    model.model = LinearModel{read_rows(*table.get("a"), where.child("a")),
                              read_rows(*table.get("b"), where.child("b"))};
  }
  try {
    model.validate();
  } catch (const InvalidInput& error) {
    throw InvalidInput(where.child(error.field()).at(table), error.value(), error.rule());
  }
  return model;
}

System read_system(const Source& source) {
  System system;
  const bool found = source.either("system", [&](const toml::node& node, const TomlPlace& place) {
    const auto stands_for_it = [&](const Task& task) {
      return node.value<std::string>() == system_name(task.system);
    };
    const auto absent = std::find_if(source.absent.begin(), source.absent.end(), stands_for_it);
    if (absent != source.absent.end()) {
      system = absent->system;
      return;
    }
    const std::string name = read_choice(node, place, fleet_systems());
    const bool described = name == "linear" || name == "external";
    const bool has_model =
        source.either("model", [&](const toml::node& model, const TomlPlace& where) {
          require(described, where.at(model), text_of(model),
                  fmt::format("must not be given: {} is known already", name));
          const DescribedSystem description =
              read_model(read_table(model, where), where, name == "linear");
          const auto& seen =
              description.features.empty() ? description.states : description.features;
          system = make_described_system(
              description, TaskSettings::unlimited(static_cast<int>(seen.size()),
                                                   static_cast<int>(description.actions.size())));
        });
    require(has_model || !described, place.at(node), text_of(node),
            "needs a table model with states and actions");
    if (!described) system = system_by_name(name);
  });
  const PlacedTable& machine = source.machine;
  require(found, machine.place.child("system").at(*machine.table), "(missing)",
          "must be given, here or in [fleet]");
  return system;
}

/// [safe_set], what the machine says otherwise, and its tolerance, as TOML.
std::string read_safe_set(const toml::table& root, std::string_view file, const Source& source) {
  toml::table merged;
  if (const toml::node* common = root.get("safe_set")) {
    merged = read_table(*common, TomlPlace(file, "safe_set"));
  }
  bool own_tolerance = false;
  if (const toml::node* own = source.machine.get("safe_set")) {
    const TomlPlace place = source.machine.place.child("safe_set");
    const toml::table& table = read_table(*own, place);
    own_tolerance = static_cast<bool>(table.at_path("closed_loop.tolerance"));
    merge_tables(merged, table);
  }
  toml::node* closed_loop = merged.get("closed_loop");
  source.both("tolerance", [&](const toml::table& tolerance, const TomlPlace& place) {
    require(closed_loop != nullptr && closed_loop->is_table(), place.at(tolerance),
            text_of(tolerance),
            "has no meaning without [safe_set.closed_loop]: no other safe set knows the machine");
    if (own_tolerance) return;
    toml::table wrapped;
    wrapped.insert("tolerance", tolerance);
    merge_tables(*closed_loop->as_table(), wrapped);
  });
  if (closed_loop != nullptr && closed_loop->is_table()) {
    const toml::node* tolerance = closed_loop->as_table()->get("tolerance");
    if (tolerance != nullptr && !tolerance->is_table()) {
      // What was merged has no place in the file any more.
      constexpr std::string_view kPath = "safe_set.closed_loop.tolerance";
      const toml::table& from = own_tolerance ? *source.machine.table : root;
      const TomlPlace place =
          own_tolerance ? source.machine.place.child(kPath) : TomlPlace(file, std::string(kPath));
      throw InvalidInput(place.at(*from.at_path(kPath).node()), text_of(*tolerance),
                         "must name the parameters: { mass_kilograms = 0.1 }");
    }
  }
  return merged.empty() ? "" : text_of(merged);
}

void read_first_controller(const Source& source, Machine& machine) {
  // What the machine says of either takes the place of what the fleet says of both.
  const PlacedTable& own = source.machine;
  const bool says = own.get("first_gains") != nullptr || own.get("first_lqr_share") != nullptr;
  const PlacedTable& from = says ? own : source.fleet;
  const toml::node* gains = from.get("first_gains");
  const toml::node* share = from.get("first_lqr_share");
  if (gains != nullptr) {
    const TomlPlace place = from.place.child("first_gains");
    require(share == nullptr, place.at(*gains), text_of(*gains),
            "must not be given beside first_lqr_share");
    machine.first_gains = read_rows(*gains, place);
    require(machine.first_gains->allFinite(), place.at(*gains), text_of(*gains), "must be finite");
  }
  if (share != nullptr) {
    const TomlPlace place = from.place.child("first_lqr_share");
    machine.first_lqr_share = read_number(*share, place);
    require(*machine.first_lqr_share > 0 && *machine.first_lqr_share <= 1, place.at(*share),
            text_of(*share), "must be greater than 0 and at most 1");
  }
}

Machine read_machine(const toml::table& root, std::string_view file, const Source& source) {
  Machine machine;
  const PlacedTable& own = source.machine;
  for (const auto& [key, value] : *own.table) {
    require(is_machine_key(key.str()), own.place.child(key.str()).at(value), text_of(value),
            "unknown key; docs/fleets.md lists the keys of a machine");
  }
  const toml::node* name = own.get("name");
  require(name != nullptr, own.place.child("name").at(*own.table), "(missing)", "must be given");
  machine.task.name = read_text(*name, own.place.child("name"));
  constexpr std::size_t kLongestName = 200;
  require(!machine.task.name.empty() && machine.task.name.size() <= kLongestName,
          own.place.child("name").at(*name), text_of(*name),
          fmt::format("must have 1 to {} bytes", kLongestName));
  machine.task.system = read_system(source);
  source.both("parameters", [&](const toml::table& table, const TomlPlace& place) {
    read_parameter_values(table, place, machine.task.system);
  });
  machine.task.settings = default_settings(machine.task.system);
  source.both("settings", [&](const toml::table& table, const TomlPlace& place) {
    read_task_settings(table, place, machine.task.system, machine.task.settings);
  });
  settle(machine.task);
  try {
    machine.task.validate();
  } catch (const InvalidInput& error) {
    throw InvalidInput(own.place.child(error.field()).at(*own.table), error.value(), error.rule());
  }
  machine.safe_set_toml = read_safe_set(root, file, source);
  read_first_controller(source, machine);
  if (const toml::node* retired = own.get("retired")) {
    require(retired->is_boolean(), own.place.child("retired").at(*retired), text_of(*retired),
            "must be true or false");
    machine.retired = *retired->value<bool>();
  }
  source.either("notes", [&](const toml::node& node, const TomlPlace& place) {
    require(node.is_string(), place.at(node), text_of(node), "must be a text");
    machine.notes = *node.value<std::string>();
  });
  return machine;
}

}  // namespace

std::vector<Machine> machines_from_table(const toml::table& root, std::string_view source,
                                         const std::vector<Task>& absent) {
  PlacedTable fleet{nullptr, TomlPlace(source, "fleet")};
  if (const toml::node* node = root.get("fleet")) {
    fleet.table = &read_table(*node, fleet.place);
    for (const auto& [key, value] : *fleet.table) {
      require(is_fleet_key(key.str()), fleet.place.child(key.str()).at(value), text_of(value),
              "unknown key; docs/fleets.md lists the keys of a fleet");
    }
  }
  const toml::node* list = root.get("machine");
  require(list != nullptr && list->is_array_of_tables(), std::string(source),
          "(no [[machine]] table)", "must have at least one [[machine]] table");
  std::vector<Machine> machines;
  std::set<std::string> names;
  std::vector<std::string> gains;
  for (const toml::node& node : *list->as_array()) {
    const PlacedTable own{node.as_table(),
                          TomlPlace(source, fmt::format("machine[{}]", machines.size()))};
    Machine machine = read_machine(root, source, {fleet, own, absent});
    const std::string& name = machine.task.name;
    require(names.insert(name).second, own.place.child("name").at(node), name,
            "must not appear twice");
    const std::vector<std::string> own_gains = describe(machine.task.system).gain_labels();
    if (machines.empty()) gains = own_gains;
    require(
        own_gains == gains, own.place.child("system").at(node),
        fmt::format("gains {}", fmt::join(own_gains, ", ")),
        fmt::format("must be those of {}, which are {}",
                    machines.empty() ? name : machines.front().task.name, fmt::join(gains, ", ")));
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace lifeguard
