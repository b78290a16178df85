#include "lifeguard/runs/policy_export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/closed_loop_json.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

std::vector<double> list(const Eigen::VectorXd& values) { return {values.begin(), values.end()}; }

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

/// A C++ literal that reads back to the same bits.
std::string literal(double value) {
  if (std::isinf(value)) return value > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string literals(const Eigen::VectorXd& values) {
  std::vector<std::string> texts;
  for (const double v : values) texts.push_back(literal(v));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

nlohmann::ordered_json signals_json(const std::vector<Signal>& signals) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Signal& s : signals) json.push_back({{"name", s.name}, {"unit", s.unit}});
  return json;
}

/// "angle (rad), rate (rad/s)"
std::string signals_text(const std::vector<Signal>& signals) {
  std::vector<std::string> texts;
  for (const Signal& s : signals) {
    texts.push_back(s.unit.empty() ? s.name : fmt::format("{} ({})", s.name, s.unit));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) {
    result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return result.empty() || std::isdigit(static_cast<unsigned char>(result.front())) != 0
             ? "task_" + result
             : result;
}

/// On one line, so that no name can leave the comment it stands in.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\') c = ' ';
  }
  return text;
}

/// How the header's function computes the action, and from what.
struct HeaderText {
  std::string constants;
  std::string meaning;
  std::string features;  // code
  std::string feature;   // the i-th, as code
  std::string size;      // of the gains
};

HeaderText header_text(const ExportedPolicy& p) {
  const std::string size = p.own_features ? "kFeatures" : "kStates";
  const std::string input = p.own_features ? "features" : "state";
  HeaderText text;
  text.constants = fmt::format("constexpr int {} = {};\n", size, p.goal.size());
  if (p.features.is_state_only()) {
    text.meaning = "u = K (x - goal), limited to the actuators' range.";
    text.feature = fmt::format("({}[i] - kGoal[i])", input);
    text.size = size;
    return text;
  }
  text.constants += fmt::format("constexpr int kFeatures = {};\n", p.gains.cols());
  text.meaning = fmt::format("u = K f, limited to the actuators' range; f is e = x - goal{}{}.",
                             p.features.bias ? ", then 1" : "",
                             p.features.second_order ? ", then all e_i e_j with i <= j" : "");
  text.features =
      "  double f[kFeatures];\n  int next = 0;\n"
      "  for (int i = 0; i < kStates; ++i) f[next++] = state[i] - kGoal[i];\n";
  if (p.features.bias) text.features += "  f[next++] = 1.0;\n";
  if (p.features.second_order) {
    text.features +=
        "  for (int i = 0; i < kStates; ++i) {\n"
        "    for (int j = i; j < kStates; ++j) f[next++] = f[i] * f[j];\n  }\n";
  }
  text.feature = "f[i]";
  text.size = "kFeatures";
  return text;
}

/// The constants and the function of the guaranteed region, as code; empty without a closed loop.
std::string region_text(const ExportedPolicy& p) {
  if (p.closed_loop == nullptr) return "";
  const ClosedLoop& loop = *p.closed_loop;
  std::string rows;
  for (Eigen::Index i = 0; i < loop.p.rows(); ++i) {
    rows += fmt::format("    {},\n", literals(Eigen::VectorXd(loop.p.row(i))));
  }
  return fmt::format(
      R"(
// Proven of the {statement} machine, for all parameters in its tolerance and exploration noise up
// to kNoiseLimit: from every state with in_guaranteed_region() no state limit is ever passed and
// no action cut off, and without noise the distance to the goal shrinks by kDecay a step, measured
// by kNorm. E.g. static_assert(kDecay < 0.995).
constexpr double kDecay = {decay};
constexpr double kNorm[kStates][kStates] = {{
{rows}}};
constexpr double kStateLimits[kStates] = {limits};
constexpr double kNoiseLimit[kActions] = {noise};
constexpr double kStartLow[kStates] = {low};
constexpr double kStartHigh[kStates] = {high};

/// (x - goal)' P (x - goal) <= 1. False for numbers that are not finite.
inline bool in_guaranteed_region(const double state[kStates]) {{
  double sum = 0.0;
  for (int i = 0; i < kStates; ++i) {{
    double row = 0.0;
    for (int j = 0; j < kStates; ++j) row += kNorm[i][j] * (state[j] - kGoal[j]);
    sum += row * (state[i] - kGoal[i]);
  }}
  return sum <= 1.0;
}}
)",
      fmt::arg("statement", statement_text(loop)), fmt::arg("decay", literal(loop.decay)),
      fmt::arg("rows", rows), fmt::arg("limits", literals(loop.plant.state_limits)),
      fmt::arg("noise", literals(loop.noise_limits)), fmt::arg("low", literals(loop.start_low)),
      fmt::arg("high", literals(loop.start_high)));
}

}  // namespace

ExportedPolicy export_policy(const RunView& run, const std::string& task_name) {
  const StoredExperiment& experiment = run.header.experiment;
  const int t = find_task(run.tasks, task_name);
  const Task& task = run.tasks[static_cast<std::size_t>(t)];
  const SafeSet& set = run.safe_set(t);
  const GaussianPolicy policy =
      GaussianPolicy::from_parameters(run.policies.col(t), task.actions(), task.settings.sigma);

  ExportedPolicy exported;
  exported.experiment = experiment.name;
  exported.method = experiment.method;
  exported.seed = experiment.seed;
  exported.round = run.header.rounds_done;
  exported.task = task.name;
  const SystemDescription system = describe(task.system);
  exported.system = system.name;
  exported.inputs = system.inputs();
  exported.actions = system.actions;
  exported.own_features = task.own_features() > 0;
  exported.features = run.features();
  exported.gains = policy.gains();
  if (exported.gains.cols() != exported.features.count(task.inputs())) {
    throw DamagedRunFile(fmt::format(
        "{} is damaged: a policy of {} has {} gains for each action, "
        "and its settings say {}",
        run.file, task.name, exported.gains.cols(), exported.features.count(task.inputs())));
  }
  exported.goal =
      exported.own_features ? Eigen::VectorXd::Zero(task.inputs()).eval() : task.settings.goal;
  exported.action_low = task.settings.action_low;
  exported.action_high = task.settings.action_high;
  exported.sigma = policy.sigma();
  // The last look at the very numbers that leave.
  const Margins found = margins(set, policy.parameters());
  exported.margin = found.worst();
  if (found.worst_row() >= 0) exported.worst_row = set.name(found.worst_row());
  if (!set.closed_loops().empty()) exported.closed_loop = set.closed_loops().front();
  if (!(exported.margin >= 0)) {
    throw RunFileError(fmt::format(
        "the policy of {} is not safe: \"{}\" is broken by {:.3g}; method {} knows no constraints",
        task.name, exported.worst_row, -exported.margin, experiment.method));
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
  json["system"] = p.system;
  json["inputs"] = signals_json(p.inputs);
  json["actions"] = signals_json(p.actions);
  json["bias"] = p.features.bias;
  json["second_order"] = p.features.second_order;
  json["gains"] = nlohmann::json::array();
  for (int a = 0; a < p.gains.rows(); ++a) {
    json["gains"].push_back(list(Eigen::VectorXd(p.gains.row(a))));
  }
  json["goal"] = list(p.goal);
  // An infinite limit or margin is written as null.
  json["action_low"] = list(p.action_low);
  json["action_high"] = list(p.action_high);
  json["sigma"] = p.sigma;
  json["worst_row"] = p.worst_row;
  json["margin"] = p.margin;
  if (p.closed_loop != nullptr) json["closed_loop"] = closed_loop_json(*p.closed_loop);
  return json;
}

std::string policy_to_header(const ExportedPolicy& p) {
  const std::string name = identifier(p.task);
  const HeaderText text = header_text(p);
  std::string rows;
  for (int a = 0; a < p.gains.rows(); ++a) {
    rows += fmt::format("    {},\n", literals(Eigen::VectorXd(p.gains.row(a))));
  }
  const std::string safety = p.worst_row.empty()
                                 ? "It was learnt without constraints."
                                 : fmt::format("Nearest constraint: {}, margin at least {:.3g}.",
                                               one_line(p.worst_row), p.margin);
  return fmt::format(
      R"(// Policy of task "{task}", experiment "{experiment}" ({method}, seed {seed}, after round {round}).
// System {system}; {input}: {input_text}; action: {action_text}.
// {safety}
// Written by lifeguard {version}.
#pragma once

#include <math.h>

namespace {name} {{

{constants}constexpr int kActions = {actions};
constexpr double kGains[kActions][{size}] = {{
{rows}}};
constexpr double kGoal[{inputs}] = {goal};
constexpr double kActionLow[kActions] = {low};
constexpr double kActionHigh[kActions] = {high};

/// {meaning}
inline void act(const double {input}[{inputs}], double action[kActions]) {{
{features}  for (int a = 0; a < kActions; ++a) {{
    double u = 0.0;
    for (int i = 0; i < {size}; ++i) u += kGains[a][i] * {feature};
    action[a] = u < kActionLow[a] ? kActionLow[a] : u > kActionHigh[a] ? kActionHigh[a] : u;
  }}
}}
{region}
}}  // namespace {name}
)",
      fmt::arg("task", one_line(p.task)), fmt::arg("experiment", one_line(p.experiment)),
      fmt::arg("method", one_line(p.method)), fmt::arg("seed", p.seed), fmt::arg("round", p.round),
      fmt::arg("region", region_text(p)), fmt::arg("safety", safety), fmt::arg("version", kVersion),
      fmt::arg("name", name), fmt::arg("constants", text.constants),
      fmt::arg("meaning", text.meaning), fmt::arg("features", text.features),
      fmt::arg("feature", text.feature), fmt::arg("size", text.size),
      fmt::arg("inputs", p.own_features ? "kFeatures" : "kStates"),
      fmt::arg("input", p.own_features ? "features" : "state"),
      fmt::arg("input_text", signals_text(p.inputs)),
      fmt::arg("action_text", signals_text(p.actions)), fmt::arg("system", p.system),
      fmt::arg("actions", p.gains.rows()), fmt::arg("rows", rows),
      fmt::arg("goal", literals(p.goal)), fmt::arg("low", literals(p.action_low)),
      fmt::arg("high", literals(p.action_high)));
}

}  // namespace lifeguard
