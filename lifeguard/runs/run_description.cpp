#include "lifeguard/runs/run_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"
#include "lifeguard/systems/absent_system.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

constexpr std::array<std::pair<Integrator, const char*>, 3> kIntegrators = {
    {{Integrator::explicit_euler, "explicit_euler"},
     {Integrator::semi_implicit_euler, "semi_implicit_euler"},
     {Integrator::runge_kutta_4, "runge_kutta_4"}}};

nlohmann::ordered_json signals_of(const std::vector<Signal>& signals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Signal& s : signals) json.push_back({s.name, s.unit});
  return json;
}

/// A name that is registered, or the description that a file brought.
std::string stored_system(const System& system) {
  const DescribedSystem* description = described(system);
  if (description == nullptr) return system_name(system);
  nlohmann::ordered_json json;
  json["states"] = signals_of(description->states);
  json["actions"] = signals_of(description->actions);
  json["features"] = signals_of(description->features);
  // The entries of the model are its parameters.
  json["linear"] = description->model.has_value();
  return json.dump();
}

/// What a user's own system says of itself; empty for any other, which every program knows.
std::string stored_description(const System& system) {
  const SystemDescription about = describe(system);
  if (!about.custom || described(system) != nullptr) return "";
  nlohmann::ordered_json json;
  json["meaning"] = about.meaning;
  json["states"] = signals_of(about.states);
  json["actions"] = signals_of(about.actions);
  json["features"] = signals_of(about.features);
  json["parameters"] = nlohmann::ordered_json::array();
  for (const ParameterDescription& p : about.parameters) {
    json["parameters"].push_back({p.name, p.unit, p.meaning});
  }
  json["drawing"] = about.drawing;
  json["positions"] = about.positions;
  return json.dump();
}

std::vector<Signal> signals_from(const nlohmann::json& json) {
  std::vector<Signal> signals;
  for (const nlohmann::json& entry : json) {
    signals.push_back({entry.at(0).get<std::string>(), entry.at(1).get<std::string>()});
  }
  return signals;
}

/// A system that is not registered here, from what it said of itself.
System absent_system_from(const StoredTask& task) {
  try {
    const nlohmann::json json = shallow_json(task.description);
    SystemDescription about;
    about.name = task.system;
    about.meaning = json.at("meaning").get<std::string>();
    about.states = signals_from(json.at("states"));
    about.actions = signals_from(json.at("actions"));
    about.features = signals_from(json.at("features"));
    for (const nlohmann::json& entry : json.at("parameters")) {
      ParameterDescription& parameter = about.parameters.emplace_back();
      parameter.name = entry.at(0).get<std::string>();
      parameter.unit = entry.at(1).get<std::string>();
      parameter.meaning = entry.at(2).get<std::string>();
    }
    about.drawing = json.at("drawing").get<std::string>();
    for (const nlohmann::json& place : json.at("positions")) {
      const auto states = static_cast<long>(about.states.size());
      const long number = place.is_number_integer() ? place.get<long>() : -1;
      require(number >= 0 && number < states, "positions", place.dump(),
              "must be places in the state");
      about.positions.push_back(static_cast<int>(number));
    }
    System system = make_absent_system(std::move(about), task.settings);
    validate_system(system);
    return system;
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput("description", task.description, complaint_of(error));
  }
}

System system_from(const StoredTask& task) {
  const std::string& stored = task.system;
  const TaskSettings& settings = task.settings;
  if (!stored.starts_with('{')) {
    const bool absent = !task.description.empty() && !is_registered(stored);
    return absent ? absent_system_from(task) : system_by_name(stored);
  }
  try {
    const nlohmann::json json = shallow_json(stored);
    DescribedSystem description{signals_from(json.at("states")),
                                signals_from(json.at("actions")),
                                signals_from(json.at("features")),
                                {}};
    if (json.at("linear").get<bool>()) {
      // Before there is room for as many entries as a damaged file asks for.
      require(description.states.size() <= DescribedSystem::kMostStates, "states",
              static_cast<double>(description.states.size()), "are too many for a linear model");
      const auto states = static_cast<Eigen::Index>(description.states.size());
      const auto actions = static_cast<Eigen::Index>(description.actions.size());
      description.model = LinearModel{Eigen::MatrixXd::Zero(states, states),
                                      Eigen::MatrixXd::Zero(states, actions)};
    }
    description.validate();
    const std::vector<Signal>& seen =
        description.features.empty() ? description.states : description.features;
    settings.validate(static_cast<int>(seen.size()), static_cast<int>(description.actions.size()));
    return make_described_system(std::move(description), settings);
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput("system", stored, complaint_of(error));
  }
}

}  // namespace

StoredTask stored_task(const Task& task) {
  StoredTask stored;
  stored.name = task.name;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const std::string& name : parameter_names(task.system)) {
    json[name] = parameter(task.system, name);
  }
  stored.parameters = json.dump();
  stored.system = stored_system(task.system);
  stored.description = stored_description(task.system);
  for (const auto& [integrator, name] : kIntegrators) {
    if (integrator == task.settings.integrator) stored.integrator = name;
  }
  stored.settings = task.settings;
  return stored;
}

namespace {

StoredSafeSet stored_safe_set(const SafeSet& set) {
  StoredSafeSet stored;
  const Eigen::MatrixXd by_rows = set.coefficients().transpose();
  stored.coefficients = by_rows.reshaped();
  stored.limits = set.limits();
  const std::vector<std::string> names(set.names().begin(), set.names().begin() + set.rows());
  stored.names = nlohmann::json(names).dump();
  stored.slack_limit = set.slack_limit();
  std::ostringstream inequalities;
  StateWriter writer(inequalities);
  write_inequalities(writer, set);
  stored.inequalities = inequalities.str();
  return stored;
}

/// Of everything that is stored of a set, so that only sets that are equal in all of it are stored
/// once.
std::string hash_of(const StoredSafeSet& stored) {
  Fingerprint hash;
  hash.add(stored.coefficients);
  hash.add(stored.limits);
  hash.add(std::string_view(stored.names));
  hash.add(stored.slack_limit);
  hash.add(std::string_view(stored.inequalities));
  return hash.hex();
}

}  // namespace

SafeSetPlaces::SafeSetPlaces(std::vector<StoredSafeSet>& sets) : sets_(sets) {
  for (const StoredSafeSet& set : sets) known_.emplace(hash_of(set), set.safe_set);
}

long SafeSetPlaces::place_of(const SafeSet& set) {
  StoredSafeSet stored = stored_safe_set(set);
  const auto next = static_cast<long>(sets_.size());
  const auto [place, is_new] = known_.emplace(hash_of(stored), next);
  if (is_new) sets_.emplace_back(std::move(stored)).safe_set = next;
  return place->second;
}

StoredExperiment experiment_of(const ExperimentConfig& config) {
  StoredExperiment e;
  e.name = config.name;
  e.family = config.family.name;
  e.method = config.method;
  e.base_method = base_method(config);
  e.methods = nlohmann::json(config.methods).dump();
  e.seed = config.seed;
  e.rounds = config.rounds;
  e.tasks = config.tasks;
  const Task nominal{"", config.family.nominal, config.family.settings};
  e.states = nominal.states();
  e.features = feature_count(nominal, config.features);
  e.actions = nominal.actions();
  e.steps = config.steps;
  e.trajectories = batch_size(config);
  e.start_states = config.start_states;
  if (e.base_method == LearnerSettings::kMethod) {
    const LearnerSettings& learner = config.learner();
    e.k = learner.cross_validate_k ? -1 : learner.columns(e.features * e.actions);
    e.p = learner.projection.p;
    e.q = learner.projection.q;
    e.mu1 = learner.regularisation.mu1;
    e.mu2 = learner.regularisation.mu2;
    e.zeta = learner.zeta;
  }
  return e;
}

RunDescription describe(const ExperimentConfig& config, const DrawnTasks& drawn,
                        const Eigen::MatrixXd& first_policies, int k) {
  RunDescription description;
  description.texts = {{"config", config.source_text},
                       {"config_source", config.source},
                       {"lifeguard_version", kVersion},
                       {"method", config.method},
                       {"overrides", nlohmann::json(config.overrides).dump()}};
  description.experiment = experiment_of(config);
  description.experiment.k = k;
  SafeSetPlaces places(description.safe_sets);
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    StoredTask& task = description.tasks.emplace_back(stored_task(drawn.tasks[t]));
    task.task = static_cast<int>(t);
    task.first_policy = first_policies.col(static_cast<long>(t));
    task.safe_set = places.place_of(drawn.safe_sets[t]);
  }
  for (const auto& [key, value] : effective_values(config)) {
    description.settings.push_back({static_cast<long>(description.settings.size()), key, value});
  }
  return description;
}

Task task_of(const StoredTask& stored) {
  Task task{stored.name, system_from(stored), stored.settings};
  try {
    const nlohmann::json parameters = shallow_json(stored.parameters);
    const std::vector<std::string> names = parameter_names(task.system);
    require(parameters.is_object() && parameters.size() == names.size(), "parameters",
            stored.parameters, fmt::format("must have {} entries", names.size()));
    for (const std::string& name : names) {
      set_parameter(task.system, name, parameters.at(name).get<double>());
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput("parameters", stored.parameters, complaint_of(error));
  }
  bool known = false;
  for (const auto& [integrator, name] : kIntegrators) {
    if (stored.integrator != name) continue;
    task.settings.integrator = integrator;
    known = true;
  }
  require(known, "integrator", stored.integrator, "must be one that this lifeguard knows");
  task.validate();
  return task;
}

bool is_registered(std::string_view system) {
  const std::vector<std::string> known = system_names();
  return std::find(known.begin(), known.end(), system) != known.end();
}

void require_registered(const RunReader& reader, const std::string& system, std::string_view what) {
  if (system.starts_with('{') || is_registered(system)) return;
  throw UnknownSystem(fmt::format(
      "{} is of the system \"{:.100}\", which this program does not know: it can be {} where that "
      "system is registered; known here are {}",
      reader.path().string(), system, what, fmt::join(system_names(), ", ")));
}

void require_registered(const RunReader& reader, std::string_view what) {
  if (reader.header().schema_version < 4) return;
  for (const StoredTask& task : reader.description().tasks) {
    require_registered(reader, task.system, what);
  }
}

bool same_signals(const StoredTask& a, const StoredTask& b) {
  try {
    const nlohmann::json x = shallow_json(a.description);
    const nlohmann::json y = shallow_json(b.description);
    for (const char* key : {"states", "actions", "features"}) {
      if (x.at(key) != y.at(key)) return false;
    }
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

SafeSet safe_set_of(const StoredSafeSet& stored, int parameters) {
  const long rows = stored.limits.size();
  require_size("coefficients", stored.coefficients.size(), rows * parameters);
  std::vector<std::string> names;
  try {
    names = shallow_json(stored.names).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput("names", stored.names, complaint_of(error));
  }
  require_size("names", static_cast<long>(names.size()), rows);
  const Eigen::MatrixXd by_rows = stored.coefficients.reshaped(parameters, rows);
  const SafeSet set =
      rows == 0 ? SafeSet(parameters)
                : SafeSet(by_rows.transpose(), stored.limits, std::move(names), stored.slack_limit);
  std::istringstream inequalities(stored.inequalities);
  StateReader reader(inequalities);
  return read_inequalities(reader, set);
}

DrawnTasks drawn_tasks_of(const ExperimentConfig& config, const RunDescription& description) {
  DrawnTasks drawn;
  for (const StoredTask& stored : description.tasks) drawn.tasks.push_back(task_of(stored));
  require(!drawn.tasks.empty(), "tasks", 0.0, "must be at least 1");
  const auto absent = [](const Task& task) { return is_absent(task.system); };
  // Without constraints every task begins with it, and with them it says nothing any more.
  drawn.start = std::any_of(drawn.tasks.begin(), drawn.tasks.end(), absent)
                    ? description.tasks.front().first_policy
                    : start_policy(config, drawn.tasks.front());
  drawn.k = description.experiment.k;
  std::vector<SafeSet> sets;
  for (const StoredSafeSet& stored : description.safe_sets) {
    sets.push_back(safe_set_of(stored, drawn.parameters()));
  }
  for (const StoredTask& stored : description.tasks) {
    require(stored.safe_set >= 0 && stored.safe_set < static_cast<long>(sets.size()), "safe_set",
            static_cast<double>(stored.safe_set), "must be one that is stored");
    drawn.safe_sets.push_back(sets[static_cast<std::size_t>(stored.safe_set)]);
    drawn.first.push_back({stored.first_policy, "", false});
  }
  return drawn;
}

}  // namespace lifeguard
