#include "lifeguard/runs/policy_export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/runs/closed_loop_json.hpp"
#include "lifeguard/runs/number_list.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {
namespace {

int find_task(const std::vector<Task>& tasks, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (tasks[t].name == name || std::to_string(t) == name) return static_cast<int>(t);
    names.push_back(tasks[t].name);
  }
  throw InvalidInput(
      "task", fmt::format("\"{}\"", name),
      fmt::format("must be 0 to {} or one of: {}", names.size() - 1, fmt::join(names, ", ")));
}

nlohmann::ordered_json signals_json(const std::vector<Signal>& signals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Signal& s : signals) json.push_back({{"name", s.name}, {"unit", s.unit}});
  return json;
}

/// A number, or a list where the actions differ.
nlohmann::ordered_json per_action_json(const PerAction& value) {
  if (value.is_common()) return value.of(0);
  return number_list(value.each());
}

}  // namespace

PerAction ExportedPolicy::noise_scale() const {
  if (sigma.is_common() && noise_limit.is_common()) {
    return clipped_noise_scale(sigma.of(0), noise_limit.of(0));
  }
  Eigen::VectorXd scales(gains.rows());
  for (Eigen::Index a = 0; a < scales.size(); ++a) {
    scales(a) = clipped_noise_scale(sigma.of(a), noise_limit.of(a));
  }
  return PerAction(std::move(scales));
}

ExportedPolicy export_policy(const RunView& run, const std::string& task_name) {
  const StoredExperiment& experiment = run.header.experiment;
  const int t = find_task(run.tasks, task_name);
  const Task& task = run.tasks[static_cast<std::size_t>(t)];
  const GaussianPolicy policy =
      GaussianPolicy::from_parameters(run.policies.col(t), task.actions(), task.settings.sigma);
  const Features features = run.features();
  const int inputs = features.count(task.inputs());
  if (policy.features() != inputs) {
    throw DamagedRunFile(
        fmt::format("{} is damaged: a policy of {} has {} gains for each action, "
                    "and its settings say {}",
                    run.file, task.name, policy.features(), inputs));
  }
  return export_policy(
      {experiment.name, experiment.method, experiment.seed, run.header.rounds_done, features}, task,
      run.safe_set(t), policy);
}

ExportedPolicy export_policy(const PolicyOrigin& origin, const Task& task, const SafeSet& set,
                             const GaussianPolicy& policy) {
  ExportedPolicy exported;
  exported.experiment = origin.experiment;
  exported.method = origin.method;
  exported.seed = origin.seed;
  exported.round = origin.round;
  exported.task = task.name;
  const SystemDescription system = describe(task.system);
  exported.system = system.name;
  exported.inputs = system.inputs();
  exported.actions = system.actions;
  exported.own_features = task.own_features() > 0;
  exported.features = origin.features;
  exported.gains = policy.gains();
  exported.gain_meanings = gain_meanings(system, origin.features);
  exported.goal =
      exported.own_features ? Eigen::VectorXd::Zero(task.inputs()).eval() : task.settings.goal;
  exported.action_low = task.settings.action_low;
  exported.action_high = task.settings.action_high;
  exported.dt_seconds = task.settings.dt_seconds;
  exported.sigma = policy.noise();
  exported.noise_limit = task.settings.noise_limit;
  // The last look at the very numbers that leave.
  const Margins found = margins(set, policy.parameters());
  exported.margin = found.worst();
  if (found.worst_row() >= 0) {
    exported.worst_row = set.name(found.worst_row());
    exported.worst_row_meaning = row_meaning(exported.worst_row, system, origin.features);
  }
  if (!set.closed_loops().empty()) exported.closed_loop = set.closed_loops().front();
  if (!(exported.margin >= 0)) {
    throw RunFileError(fmt::format(
        "the policy of {} is not safe: \"{}\"{} is broken by {:.3g}; method {} knows no "
        "constraints",
        task.name, exported.worst_row,
        exported.worst_row_meaning.empty() ? "" : fmt::format(" ({})", exported.worst_row_meaning),
        -exported.margin, origin.method));
  }
  return exported;
}

nlohmann::ordered_json policy_to_json(const ExportedPolicy& p) {
  nlohmann::ordered_json json;
  json["experiment"] = p.experiment;
  json["method"] = p.method;
  json["seed"] = p.seed;
  json["round"] = p.round;
  json["task"] = p.task;
  if (!p.fingerprint.empty()) json["policy"] = p.fingerprint;
  json["system"] = p.system;
  json["inputs"] = signals_json(p.inputs);
  json["actions"] = signals_json(p.actions);
  json["bias"] = p.features.bias;
  json["second_order"] = p.features.second_order;
  json["gains"] = nlohmann::json::array();
  for (int a = 0; a < p.gains.rows(); ++a) {
    json["gains"].push_back(number_list(Eigen::VectorXd(p.gains.row(a))));
  }
  json["goal"] = number_list(p.goal);
  // An infinite limit or margin is written as null.
  json["action_low"] = number_list(p.action_low);
  json["action_high"] = number_list(p.action_high);
  json["dt_seconds"] = p.dt_seconds;
  if (p.steps > 0) json["steps"] = p.steps;
  // One number, or a list with one for each action where they differ. The scale is what to draw
  // from before it is clipped at ± noise_limit, so that sigma is what is played.
  json["sigma"] = per_action_json(p.sigma);
  json["noise_scale"] = per_action_json(p.noise_scale());
  json["noise_limit"] = per_action_json(p.noise_limit);
  json["worst_row"] = p.worst_row;
  if (!p.worst_row_meaning.empty()) json["worst_row_meaning"] = p.worst_row_meaning;
  json["margin"] = p.margin;
  if (p.closed_loop != nullptr) json["closed_loop"] = closed_loop_json(*p.closed_loop);
  return json;
}

}  // namespace lifeguard
