#include "lifeguard/runs/safe_set_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/closed_loop_task.hpp"
#include "lifeguard/runs/safe_set_table.hpp"
#include "lifeguard/runs/toml.hpp"
#include "lifeguard/safety/sets/gain_cloud.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {
namespace {

/// A deviation counts as settled when this part of it is left.
constexpr double kSettled = 0.02;

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

/// Reads the keys of one table and remembers them, so that finish() can refuse the others.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  const toml::node* find(std::string_view key) {
    known_.insert(std::string(key));
    return table_.get(key);
  }
  const toml::node& need(std::string_view key) {
    const toml::node* node = find(key);
    require(node != nullptr, joined(path_, key), "(missing)", "must be given");
    return *node;
  }

  double number(std::string_view key) { return to_number(need(key), joined(path_, key)); }
  double number(std::string_view key, double otherwise) {
    return find(key) == nullptr ? otherwise : number(key);
  }
  std::string text(std::string_view key) {
    const toml::node& node = need(key);
    require(node.is_string(), joined(path_, key), text_of(node), "must be a text");
    require(is_plain_line(node.ref<std::string>()), joined(path_, key), text_of(node), kPlainLine);
    return node.ref<std::string>();
  }
  std::string text(std::string_view key, const std::string& otherwise) {
    return find(key) == nullptr ? otherwise : text(key);
  }
  /// A list of `size` numbers, or one number for all of them.
  Eigen::VectorXd numbers(std::string_view key, long size) {
    const toml::node& node = need(key);
    const std::string field = joined(path_, key);
    if (node.is_number()) return Eigen::VectorXd::Constant(size, to_number(node, field));
    return to_vector(node, field, size);
  }
  std::vector<std::string> texts(std::string_view key, const std::vector<std::string>& otherwise) {
    const toml::node* node = find(key);
    if (node == nullptr) return otherwise;
    const std::string field = joined(path_, key);
    require(node->is_array(), field, text_of(*node), "must be a list of texts");
    std::vector<std::string> result;
    for (const toml::node& entry : *node->as_array()) {
      require(entry.is_string(), indexed(field, static_cast<long>(result.size())), text_of(entry),
              "must be a text");
      require(is_plain_line(entry.ref<std::string>()),
              indexed(field, static_cast<long>(result.size())), text_of(entry), kPlainLine);
      result.push_back(entry.ref<std::string>());
    }
    return result;
  }
  /// One column for each list.
  Eigen::MatrixXd columns(std::string_view key, long rows) {
    const toml::node& node = need(key);
    const std::string field = joined(path_, key);
    require(node.is_array(), field, text_of(node), "must be a list of lists of numbers");
    const toml::array& lists = *node.as_array();
    Eigen::MatrixXd result(rows, static_cast<long>(lists.size()));
    for (long j = 0; j < result.cols(); ++j) {
      result.col(j) = to_vector(lists[static_cast<std::size_t>(j)], indexed(field, j), rows);
    }
    return result;
  }

  /// Calls `read` for a table under the key, or for each of a list of tables.
  void each(std::string_view key, const std::function<void(TableReader&)>& read) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const std::string field = joined(path_, key);
    if (node->is_table()) {
      read_one(*node->as_table(), field, read);
      return;
    }
    require(node->is_array_of_tables(), field, text_of(*node), "must be a table");
    long index = 0;
    for (const toml::node& entry : *node->as_array()) {
      read_one(*entry.as_table(), indexed(field, index++), read);
    }
  }

  void finish() const {
    for (const auto& [key, node] : table_) {
      require(known_.contains(std::string(key.str())), joined(path_, key.str()), text_of(node),
              fmt::format("is not a key here; known are: {}", fmt::join(known_, ", ")));
    }
  }

 private:
  /// A builder's complaint about a field becomes one about the key.
  static void read_one(const toml::table& table, const std::string& path,
                       const std::function<void(TableReader&)>& read) {
    TableReader reader(table, path);
    try {
      read(reader);
    } catch (const InvalidInput& error) {
      // What stands in this table, or in the one of the machine's settings.
      if (error.field().starts_with(path) || error.field().starts_with("family.")) throw;
      throw InvalidInput(joined(path, error.field()), error.value(), error.rule());
    }
    reader.finish();
  }

  static double to_number(const toml::node& node, const std::string& field) {
    require(node.is_number(), field, text_of(node), "must be a number");
    return number_of(node);
  }
  static Eigen::VectorXd to_vector(const toml::node& node, const std::string& field, long size) {
    require(node.is_array(), field, text_of(node), "must be a list of numbers");
    const toml::array& list = *node.as_array();
    require_size(field, static_cast<long>(list.size()), size);
    Eigen::VectorXd result(size);
    for (long i = 0; i < size; ++i) {
      result(i) = to_number(list[static_cast<std::size_t>(i)], indexed(field, i));
    }
    return result;
  }

  const toml::table& table_;
  std::string path_;
  std::set<std::string> known_;
};

MassStability read_plant(TableReader& reader, const SafeSetContext& context) {
  const bool given = context.plant.has_value();
  MassStability plant = context.plant.value_or(MassStability{});
  const auto read = [&](std::string_view key, double& value) {
    value = given ? reader.number(key, value) : reader.number(key);
  };
  read("spring_newtons_per_metre", plant.spring_newtons_per_metre);
  read("damping_newton_seconds_per_metre", plant.damping_newton_seconds_per_metre);
  read("mass_kilograms", plant.mass_kilograms);
  plant.actuator_gain = reader.number("actuator_gain", plant.actuator_gain);
  plant.decay_rate_per_second = reader.number("decay_rate_per_second", plant.decay_rate_per_second);
  plant.time_step_seconds = reader.number("time_step_seconds", plant.time_step_seconds);
  plant.features = context.features;
  return plant;
}

/// A share of its value, or [low, high].
ParameterRange read_tolerance(const toml::node& node, const std::string& field, const Task& machine,
                              const std::string& name) {
  if (node.is_number()) {
    const double share = number_of(node);
    require(share >= 0 && share < 1, field, share, "must be at least 0 and less than 1");
    const std::string names[] = {name};
    return tolerance(machine, names, share).front();
  }
  const toml::array* list = node.as_array();
  require(list != nullptr && list->size() == 2 && (*list)[0].is_number() && (*list)[1].is_number(),
          field, text_of(node), "must be a share of the parameter's value, or [low, high]");
  ParameterRange range{name, number_of((*list)[0]), number_of((*list)[1]), false};
  const double value = parameter(machine.system, name);
  require(range.low <= value && value <= range.high, field, text_of(node),
          fmt::format("must hold the machine's own value {}", value));
  return range;
}

std::vector<ParameterRange> read_tolerances(TableReader& reader, const SafeSetContext& context) {
  const toml::node* node = reader.find("tolerance");
  std::vector<ParameterRange> ranges;
  if (node == nullptr) return ranges;
  const std::string field = joined(reader.path(), "tolerance");
  if (const toml::table* table = node->as_table()) {
    for (const auto& [key, value] : *table) {
      ranges.push_back(read_tolerance(value, joined(field, key.str()), *context.machine,
                                      std::string(key.str())));
    }
    return ranges;
  }
  for (const std::string& name : context.uncertain_parameters) {
    ranges.push_back(read_tolerance(*node, field, *context.machine, name));
  }
  return ranges;
}

Eigen::MatrixXd read_matrix(TableReader& reader, std::string_view key, long rows, long columns) {
  const Eigen::MatrixXd by_rows = reader.columns(key, columns);
  require_size(joined(reader.path(), key), by_rows.cols(), rows);
  return by_rows.transpose();
}

ClosedLoopTask read_closed_loop(TableReader& reader, const SafeSetContext& context) {
  const Task& machine = *context.machine;
  const int states = machine.states();
  ClosedLoopTask asked;
  asked.machine = machine;
  asked.inclusion.ranges = read_tolerances(reader, context);
  const auto choice = [&](std::string_view key, const std::string& otherwise,
                          const std::vector<std::string>& choices) {
    std::string value = reader.text(key, otherwise);
    require(std::find(choices.begin(), choices.end(), value) != choices.end(),
            joined(reader.path(), key), value,
            fmt::format("must be one of {}", fmt::join(choices, ", ")));
    return value;
  };
  asked.inclusion.statement = choice("statement", "nonlinear", {"nonlinear", "linear"}) == "linear"
                                  ? PlantStatement::linear
                                  : PlantStatement::nonlinear;
  if (reader.find("state_limits") != nullptr) {
    asked.inclusion.state_limits = reader.numbers("state_limits", states);
  }
  if (reader.find("action_limits") != nullptr) {
    asked.inclusion.action_limits = reader.numbers("action_limits", context.actions);
  }
  reader.each("combined_limit", [&](TableReader& limit) {
    asked.inclusion.combined_limits.push_back({limit.text("name"), limit.number("limit")});
  });
  reader.each("corner", [&](TableReader& corner) {
    UncertainPlant::Corner read;
    read.name = corner.text("name");
    read.a = read_matrix(corner, "a", states, states);
    read.b = read_matrix(corner, "b", states, context.actions);
    asked.corners.push_back(std::move(read));
  });
  const std::string room = choice("room", "lqr", {"lqr", "nominal", "none"});
  asked.room = room == "lqr"       ? ClosedLoopRoom::corners
               : room == "nominal" ? ClosedLoopRoom::nominal
                                   : ClosedLoopRoom::none;
  ClosedLoopSettings& settings = asked.settings;
  if (reader.find("settling_seconds") != nullptr) {
    require(reader.find("decay") == nullptr, joined(reader.path(), "decay"), "given twice",
            "must not be given beside settling_seconds");
    const double seconds = reader.number("settling_seconds");
    require(seconds > 0, joined(reader.path(), "settling_seconds"), seconds,
            "must be greater than 0");
    settings.decay = std::pow(kSettled, machine.settings.dt_seconds / seconds);
  } else {
    settings.decay = reader.number("decay", settings.decay);
  }
  settings.least_start_share = reader.number("start_share", 1.0);
  settings.start_low = machine.settings.start_low - machine.settings.goal;
  settings.start_high = machine.settings.start_high - machine.settings.goal;
  const PerAction& limit = machine.settings.noise_limit;
  PerAction noise = limit;
  if (const toml::node* node = reader.find("certified_noise"); node != nullptr) {
    const std::string field = joined(reader.path(), "certified_noise");
    noise = node->is_array() ? PerAction(reader.numbers("certified_noise", context.actions))
                             : PerAction(reader.number("certified_noise"));
    require_positive(field, noise);
    for (int a = 0; a < context.actions; ++a) {
      require(noise.of(a) < limit.of(a), noise.name_of(field, a), noise.of(a),
              fmt::format("must be less than {} = {}",
                          limit.name_of("family.settings.noise_limit", a), limit.of(a)));
    }
  }
  settings.noise_limits.resize(context.actions);
  for (int a = 0; a < context.actions; ++a) {
    require(machine.settings.sigma.of(a) == 0 || std::isfinite(noise.of(a)),
            noise.name_of("family.settings.noise_limit", a), noise.of(a),
            "must be finite with a closed loop, since noise without a limit leaves every region "
            "some day; or give safe_set.closed_loop.certified_noise, and be told how often");
    settings.noise_limits(a) = std::isfinite(noise.of(a)) ? noise.of(a) : 0;
  }
  if (reader.find("first_lqr_share") != nullptr) {
    settings.anchor = reader.number("first_lqr_share") * lqr_gains(machine);
  }
  return asked;
}

}  // namespace

std::vector<ParameterRange> tolerances_from_table(const toml::table& table,
                                                  const SafeSetContext& context) {
  std::vector<ParameterRange> ranges;
  TableReader reader(table, "safe_set");
  const toml::node* node = reader.find("closed_loop");
  if (node == nullptr || !node->is_table()) return ranges;
  TableReader closed(*node->as_table(), "safe_set.closed_loop");
  return read_tolerances(closed, context);
}

SafeSet safe_set_from_table(const toml::table& table, const std::string& path,
                            const SafeSetContext& context) {
  const int states = static_cast<int>(context.goal.size());
  const int features = context.inputs();
  const int parameters = context.parameters();
  require(states > 0, "context.goal", "0 entries", "must have at least 1 entry");
  require(context.actions > 0, "context.actions", static_cast<double>(context.actions),
          "must be at least 1");

  TableReader reader(table, path);
  const std::vector<std::string> gain_names =
      reader.texts("gain_names", default_gain_names(context.actions, features));
  require_size(joined(path, "gain_names"), static_cast<long>(gain_names.size()), parameters);
  const std::vector<std::string> action_names = reader.texts("action_names", {});
  std::vector<SafeSet> parts = {SafeSet(parameters)};

  reader.each("gain_box", [&](TableReader& box) {
    parts.push_back(
        gain_box(box.numbers("lower", parameters), box.numbers("upper", parameters), gain_names));
  });
  reader.each("lqr_box", [&](TableReader& box) {
    require(context.lqr.has_value(), box.path(), "(no system)",
            "needs a system whose LQR gains are known");
    parts.push_back(
        gain_box_towards(*context.lqr, box.number("reach"), box.number("from", -1.0), gain_names));
  });
  reader.each("half_space", [&](TableReader& half) {
    parts.push_back(
        half_space(half.numbers("normal", parameters), half.number("limit"), half.text("name")));
  });
  const auto require_state_features = [&](const TableReader& part) {
    require(context.own_features == 0, part.path(), "(features of the system's own)",
            "needs a policy that sees the state");
  };
  reader.each("action_limits", [&](TableReader& limits) {
    require_state_features(limits);
    parts.push_back(action_limits({.state_low = limits.numbers("state_low", states),
                                   .state_high = limits.numbers("state_high", states),
                                   .goal = context.goal,
                                   .features = context.features,
                                   .action_low = limits.numbers("action_low", context.actions),
                                   .action_high = limits.numbers("action_high", context.actions),
                                   .action_names = action_names}));
  });
  reader.each("mass_stability", [&](TableReader& plant) {
    require_state_features(plant);
    require(states == 2 && context.actions == 1, plant.path(),
            fmt::format("{} states, {} actions", states, context.actions),
            "needs the 2 states and 1 action of a mass");
    parts.push_back(mass_stability(read_plant(plant, context)));
  });
  reader.each("barrier", [&](TableReader& barrier) {
    require_state_features(barrier);
    parts.push_back(barrier_rows({{.state = barrier.numbers("state", states),
                                   .direction = barrier.numbers("direction", context.actions),
                                   .limit = barrier.number("limit"),
                                   .name = barrier.text("name")}},
                                 context.features, context.goal));
  });
  reader.each("known_good", [&](TableReader& cloud) {
    parts.push_back(gain_cloud_hull(cloud.columns("points", parameters),
                                    cloud.text("name", "known-good facet")));
  });

  reader.each("closed_loop", [&](TableReader& closed) {
    require_state_features(closed);
    require(context.features.is_state_only(), closed.path(), "bias or products of states",
            "needs a policy that sees the state alone");
    require(context.machine != nullptr, closed.path(), "(no machine)", "needs a machine");
    const ClosedLoopTask asked = read_closed_loop(closed, context);
    if (!context.only_read) parts.push_back(closed_loop_set(*solve_closed_loop(asked)));
  });

  SafeSet set = intersect(parts);
  if (reader.find("slack_limit") != nullptr) {
    const double limit = reader.number("slack_limit");
    require(limit > 0, joined(path, "slack_limit"), limit, "must be greater than 0");
    set = set.with_slack_limit(limit);
  }
  reader.finish();
  return set;
}

SafeSet safe_set_from_toml(std::string_view text, const SafeSetContext& context) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw InvalidInput("safe set", fmt::format("line {}", error.source().begin.line),
                       std::string(error.description()));
  }
  return safe_set_from_table(table, "", context);
}

}  // namespace lifeguard
