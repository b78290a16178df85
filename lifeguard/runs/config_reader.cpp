// Reading a configuration: TOML text, overrides from the command line, and messages that say where.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/settings.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/family_table.hpp"
#include "lifeguard/runs/fleet_config.hpp"
#include "lifeguard/runs/mass_plant.hpp"
#include "lifeguard/runs/run_table.hpp"
#include "lifeguard/runs/safe_set_table.hpp"
#include "lifeguard/runs/toml.hpp"
#include "lifeguard/runs/toml_place.hpp"
#include "lifeguard/systems/absent_system.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

/// "mass.toml:7: experiment.rounds", or "--set: experiment.rounds" for an override, which is merged
/// in as a copy and a copy has no source.
std::string located(const toml::node& node, std::string_view key) {
  return node.source().path
             ? fmt::format("{}:{}: {}", *node.source().path, node.source().begin.line, key)
             : fmt::format("--set: {}", key);
}

/// Takes the values out of a table; what nobody asked for is unknown.
class ConfigReader : public SettingVisitor {
 public:
  ConfigReader(const toml::table& root, std::string source)
      : root_(root), source_(std::move(source)) {}

  void section(std::string_view name, std::string_view /*meaning*/) override {
    section_ = name;
    sections_.insert(section_);
    table_ = nullptr;
    if (const toml::node* node = root_.get(name)) {
      require(node->is_table(), located(*node, name), text_of(*node), "must be a table");
      table_ = node->as_table();
    }
  }
  void number(std::string_view key, double& value, const Range& range, std::string_view /*unit*/,
              std::string_view /*meaning*/) override {
    if (const toml::node* node = find(key)) {
      require(node->is_number(), located(*node, path(key)), text_of(*node), "must be a number");
      const double given = number_of(*node);
      require(std::isfinite(given), located(*node, path(key)), text_of(*node), "must be finite");
      require(range.contains(given), located(*node, path(key)), text_of(*node), range.rule());
      value = given;
    }
  }
  void integer(std::string_view key, int& value, const Range& range, std::string_view /*unit*/,
               std::string_view /*meaning*/) override {
    if (const toml::node* node = find(key)) {
      require(node->is_integer(), located(*node, path(key)), text_of(*node), "must be an integer");
      const double given = static_cast<double>(*node->value<std::int64_t>());
      require(range.contains(given), located(*node, path(key)), text_of(*node), range.rule());
      constexpr double kMost = std::numeric_limits<int>::max();
      require(std::abs(given) <= kMost, located(*node, path(key)), text_of(*node),
              fmt::format("must be at most {}", kMost));
      value = static_cast<int>(given);
    }
  }
  void flag(std::string_view key, bool& value, std::string_view /*meaning*/) override {
    if (const toml::node* node = find(key)) {
      require(node->is_boolean(), located(*node, path(key)), text_of(*node),
              "must be true or false");
      value = *node->value<bool>();
    }
  }
  void text(std::string_view key, std::string& value, std::string_view /*meaning*/) override {
    if (const toml::node* node = find(key)) {
      require(node->is_string() && !node->value<std::string>()->empty(), located(*node, path(key)),
              text_of(*node), "must be a text that is not empty");
      value = *node->value<std::string>();
      require(is_plain_line(value), located(*node, path(key)), text_of(*node), kPlainLine);
    }
  }
  void choice(std::string_view key, int& value, std::span<const std::string_view> choices,
              std::string_view /*meaning*/) override {
    if (const toml::node* node = find(key)) {
      value = static_cast<int>(place(*node, key, choices));
    }
  }
  void list(std::string_view key, std::vector<std::string>& values,
            std::span<const std::string_view> known, std::string_view /*meaning*/) override {
    if (const toml::node* node = find(key)) {
      require(node->is_array() && !node->as_array()->empty(), located(*node, path(key)),
              text_of(*node), "must be a list that is not empty");
      values.clear();
      for (const toml::node& entry : *node->as_array()) {
        values.emplace_back(known[place(entry, key, known)]);
        require(std::count(values.begin(), values.end(), values.back()) == 1,
                located(entry, path(key)), text_of(entry), "must not appear twice");
      }
    }
  }

  /// Throws if the file has keys that were not asked for.
  void refuse_unknown() const {
    for (const auto& [name, node] : root_) {
      if (name == "family" || name == "fleet" || name == "machine" || name == "safe_set" ||
          name == "variants") {
        continue;
      }
      require(sections_.contains(std::string(name.str())), located(node, name.str()), text_of(node),
              fmt::format("unknown table; known are {}, family, fleet, machine, safe_set, variants",
                          fmt::join(sections_, ", ")));
      for (const auto& [key, value] : *node.as_table()) {
        const std::string full = fmt::format("{}.{}", name.str(), key.str());
        if (keys_.contains(full)) continue;
        std::vector<std::string> known;
        for (const std::string& k : keys_) {
          if (k.starts_with(std::string(name.str()) + ".")) known.push_back(k);
        }
        throw InvalidInput(located(value, full), text_of(value),
                           fmt::format("unknown key; known are {}", fmt::join(known, ", ")));
      }
    }
  }

 private:
  std::string path(std::string_view key) const { return fmt::format("{}.{}", section_, key); }
  const toml::node* find(std::string_view key) {
    keys_.insert(path(key));
    return table_ == nullptr ? nullptr : table_->get(key);
  }
  std::size_t place(const toml::node& node, std::string_view key,
                    std::span<const std::string_view> choices) const {
    const auto value = node.value<std::string>();
    const auto found =
        node.is_string() ? std::find(choices.begin(), choices.end(), *value) : choices.end();
    require(found != choices.end(), located(node, path(key)), text_of(node),
            fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \"")));
    return static_cast<std::size_t>(found - choices.begin());
  }

  const toml::table& root_;
  std::string source_;
  std::string section_;
  const toml::table* table_ = nullptr;
  std::set<std::string> sections_;
  std::set<std::string> keys_;
};

toml::table override_table(const std::string& text) {
  const std::size_t equals = text.find('=');
  require(equals != std::string::npos && equals > 0, "--set", text, "must be key=value");
  const std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  try {
    return toml::parse(fmt::format("{} = {}", key, value), std::string_view("--set"));
  } catch (const toml::parse_error&) {
    // Not TOML: a text without quotes, which is what one types in a shell.
    std::string quoted;
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return parse_toml(fmt::format("{} = \"{}\"", key, quoted), "--set");
  }
}

std::vector<Variant> read_variants(const toml::table& root) {
  std::vector<Variant> variants;
  const toml::node* node = root.get("variants");
  if (node == nullptr) return variants;
  require(node->is_table(), located(*node, "variants"), text_of(*node), "must be a table");
  for (const auto& [name, entry] : *node->as_table()) {
    const std::string path = fmt::format("variants.{}", name.str());
    require(entry.is_table(), located(entry, path), text_of(entry), "must be a table");
    Variant variant{std::string(name.str()), "learner", {}};
    require(!variant.name.empty() && is_plain_line(variant.name), located(entry, path),
            variant.name, kPlainLine);
    const std::vector<std::string_view> methods = method_names();
    require(std::find(methods.begin(), methods.end(), variant.name) == methods.end(),
            located(entry, path), variant.name, "must not be the name of a method");
    for (const auto& [key, value] : *entry.as_table()) {
      const std::string full = fmt::format("{}.{}", path, key.str());
      if (key == "method") {
        variant.method = value.value<std::string>().value_or("");
        require(std::find(methods.begin(), methods.end(), variant.method) != methods.end(),
                located(value, full), text_of(value),
                fmt::format("must be one of {}", fmt::join(methods, ", ")));
      } else if (key == "set") {
        require(value.is_array(), located(value, full), text_of(value),
                "must be a list of \"key=value\"");
        for (const toml::node& item : *value.as_array()) {
          require(item.is_string(), located(item, full), text_of(item), "must be \"key=value\"");
          variant.overrides.push_back(*item.value<std::string>());
        }
      } else {
        throw InvalidInput(located(value, full), text_of(value),
                           "unknown key; a variant has method and set");
      }
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

/// The line of the nearest key of `field` that exists, for errors of readers without lines.
std::string located_field(const toml::table& root, const std::string& source,
                          const std::string& field) {
  const toml::node* node = nearest_node(root, field);
  return node == nullptr ? fmt::format("{}: {}", source, field) : located(*node, field);
}

/// Where what a machine says of a field stands: in its own table, in [fleet], or in what all share.
/// The place that has most of the field is meant, and the machine's own before the others'.
std::string located_for_machine(const toml::table& root, const std::string& source,
                                std::size_t machine, std::string field) {
  constexpr std::string_view kFamily = "family.";  // a machine's settings are its own
  if (field.starts_with(kFamily)) field.erase(0, kFamily.size());
  constexpr std::string_view kTolerance = "safe_set.closed_loop.tolerance";
  const std::string own = fmt::format("machine[{}].", machine);
  std::vector<std::string> places = {own + field};
  if (field.starts_with(kTolerance)) {
    const std::string rest = field.substr(kTolerance.size());
    places.push_back(own + "tolerance" + rest);
    places.push_back("fleet.tolerance" + rest);
  }
  places.push_back("fleet." + field);
  places.push_back(field);
  const auto parts = [](std::string_view path) {
    return std::count_if(path.begin(), path.end(), [](char c) { return c == '.' || c == '['; });
  };
  // How many parts of it are missing; what is not there at all lacks all of them.
  const auto missing = [&](std::string path) {
    const auto all = parts(path);
    while (!path.empty() && !root.at_path(path)) {
      const std::size_t dot = path.find_last_of(".[");
      path = dot == std::string::npos ? "" : path.substr(0, dot);
    }
    return path.empty() || path + "." == own || path == "fleet" ? all + 1 : all - parts(path);
  };
  const auto best = std::min_element(
      places.begin(), places.end(),
      [&](const std::string& a, const std::string& b) { return missing(a) < missing(b); });
  return located_field(root, source, missing(*best) > parts(*best) ? own + field : *best);
}

/// What the safe set of a task is about.
SafeSetContext context_of(const ExperimentConfig& config, const Task& task,
                          const toml::table& table) {
  SafeSetContext context;
  context.actions = task.actions();
  context.own_features = task.own_features();
  context.goal = task.settings.goal;
  context.features = config.features;
  // A custom system may have no LQR controller, and not every safe set asks for one.
  if (table.contains("lqr_box")) {
    context.lqr = parameters_from_gains(lqr_policy_gains(task, config.features));
  }
  context.plant = mass_plant(task.system);
  context.machine = &task;
  for (const ParameterRange& range : config.family.ranges) {
    context.uncertain_parameters.push_back(range.parameter);
  }
  return context;
}

/// A closed loop takes a second to be found: mistakes in what asks for it are found without.
void look_at_safe_set(const ExperimentConfig& config, const Task& task, const std::string& text) {
  // Of one that is not known here the run file has the set.
  if (text.empty() || is_absent(task.system)) return;
  const toml::table table = parse_toml(text, "safe_set");
  SafeSetContext context = context_of(config, task, table);
  context.only_read = true;
  safe_set_from_table(table, "safe_set", context);
}

void look_at_machine(const ExperimentConfig& config, const Machine& machine) {
  const Task& task = machine.task;
  const int inputs = feature_count(task, config.features);
  if (machine.first_gains) {
    const Eigen::MatrixXd& gains = *machine.first_gains;
    require(gains.rows() == task.actions() && gains.cols() == inputs, "first_gains",
            fmt::format("{} x {}", gains.rows(), gains.cols()),
            fmt::format("must be {} x {}: a row for each action, a column for each input",
                        task.actions(), inputs));
  }
  if (machine.first_lqr_share && !is_absent(task.system)) {
    require(find_lqr_policy_gains(task, config.features).has_value(), "first_lqr_share",
            *machine.first_lqr_share, "needs a machine with an LQR controller");
  }
  look_at_safe_set(config, task, machine.safe_set_toml);
}

/// The machines are the tasks, and what speaks of a family speaks of the first one's.
void take_machines(const toml::table& root, std::string_view source, ExperimentConfig& config,
                   const std::vector<Task>& absent) {
  if (const toml::node* family = root.get("family")) {
    throw InvalidInput(located(*family, "family"), "(a table)",
                       "must not be given beside [fleet] or [[machine]]");
  }
  if (const auto tasks = root.at_path("experiment.tasks")) {
    throw InvalidInput(located(*tasks.node(), "experiment.tasks"), text_of(*tasks.node()),
                       "must not be given: it is the number of machines");
  }
  config.machines = machines_from_table(root, source, absent);
  config.tasks = static_cast<int>(config.machines.size());
  const Task& first = config.machines.front().task;
  config.family = {config.name, first.system, {}, first.settings};
  for (int t = 0; t < config.tasks; ++t) {
    if (!config.machines[static_cast<std::size_t>(t)].retired) config.active.push_back(t);
  }
  require(!config.active.empty(), std::string(source), "(all machines are retired)",
          "must have a machine that is not retired");
  require(!config.learner().cross_validate_k, std::string(source), "learner.cross_validate_k",
          "cannot be chosen for machines: there are no others to draw");
}

}  // namespace

ExperimentConfig parse_config(std::string_view text, std::string_view source,
                              const std::vector<std::string>& overrides,
                              const std::vector<std::string>& defaults,
                              const std::vector<Task>& absent) {
  toml::table root = parse_toml(text, source);
  for (const std::string& set : defaults) {
    toml::table with_default = override_table(set);
    merge_tables(with_default, root);
    root = std::move(with_default);
  }
  for (const std::string& set : overrides) merge_tables(root, override_table(set));

  ExperimentConfig config;
  config.source = source;
  config.source_text = text;
  config.overrides = overrides;
  config.variants = read_variants(root);
  ConfigReader reader(root, std::string(source));
  visit_keys(reader, config);
  reader.refuse_unknown();

  if (root.contains("machine") || root.contains("fleet")) {
    take_machines(root, source, config, absent);
  } else {
    const toml::node* family = root.get("family");
    require(family != nullptr && family->is_table(), std::string(source), "(no [family] table)",
            "must have a [family] table, or [[machine]] tables");
    config.family = family_from_table(*family->as_table(), source, absent);
  }
  const Task first = config.machines.empty()
                         ? config.family.draw(static_cast<std::uint64_t>(config.seed), 0)
                         : config.machines.front().task;
  try {
    config.round.validate();
    const int parameters = first.actions() * feature_count(first, config.features);
    for_each_method(config.settings, [&](const auto& method) { method.validate(parameters); });
    if (const toml::node* set = root.get("safe_set")) {
      require(set->is_table(), "safe_set", text_of(*set), "must be a table");
      config.safe_set_toml = fmt::format("{}", text_of(*set->as_table()));
    }
    if (config.machines.empty()) look_at_safe_set(config, first, config.safe_set_toml);
  } catch (const InvalidInput& error) {
    if (error.field().find(": ") != std::string::npos) throw;
    throw InvalidInput(located_field(root, std::string(source), error.field()), error.value(),
                       error.rule());
  }
  for (std::size_t i = 0; i < config.machines.size(); ++i) {
    const Machine& machine = config.machines[i];
    try {
      look_at_machine(config, machine);
    } catch (const InvalidInput& error) {
      throw InvalidInput(
          fmt::format("{} ({})", located_for_machine(root, std::string(source), i, error.field()),
                      machine.task.name),
          error.value(), error.rule());
    }
  }
  return config;
}

ExperimentConfig load_config(const std::filesystem::path& path,
                             const std::vector<std::string>& overrides) {
  // Any bytes may be the name of a file.
  return parse_config(read_text_file(path), as_utf8(path.filename().string()), overrides);
}

ExperimentConfig configuration_of(const ExperimentConfig& config, const std::string& label,
                                  int seed) {
  std::vector<std::string> overrides = config.overrides;
  for (const Variant& variant : config.variants) {
    if (variant.name != label) continue;
    overrides.insert(overrides.end(), variant.overrides.begin(), variant.overrides.end());
  }
  overrides.push_back(fmt::format("experiment.method=\"{}\"", label));
  overrides.push_back(fmt::format("experiment.seed={}", seed));
  return parse_config(config.source_text, config.source, overrides);
}

const std::string& ExperimentConfig::safe_set_text(int place) const {
  return machines.empty() ? safe_set_toml : machines[static_cast<std::size_t>(place)].safe_set_toml;
}

SafeSet safe_set_of(const ExperimentConfig& config, const Task& task, int place) {
  const std::string& text = config.safe_set_text(place);
  if (text.empty()) return SafeSet(task.actions() * feature_count(task, config.features));
  const toml::table table = parse_toml(text, "safe_set");
  return safe_set_from_table(table, "safe_set", context_of(config, task, table));
}

std::vector<ParameterRange> tolerances_of(const ExperimentConfig& config, const Task& task,
                                          int place) {
  const std::string& text = config.safe_set_text(place);
  if (text.empty()) return {};
  const toml::table table = parse_toml(text, "safe_set");
  return tolerances_from_table(table, context_of(config, task, table));
}

}  // namespace lifeguard
