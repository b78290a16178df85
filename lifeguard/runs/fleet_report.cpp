#include "lifeguard/runs/fleet_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/number_list.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {
namespace {

void describe_closed_loop(const ClosedLoop& loop, const TaskSettings& asked,
                          MachineReport& report) {
  report.decay = loop.decay;
  report.nonlinear = loop.plant.statement == PlantStatement::nonlinear;
  report.start_low = asked.goal + loop.start_low;
  report.start_high = asked.goal + loop.start_high;
  report.state_limits = loop.plant.state_limits;
  const Eigen::VectorXd wanted = asked.start_high - asked.start_low;
  for (Eigen::Index i = 0; i < wanted.size(); ++i) {
    if (wanted(i) <= 0) continue;
    const double share = (report.start_high(i) - report.start_low(i)) / wanted(i);
    report.start_share = std::fmin(report.start_share, share);
  }
}

void note_missing(const ExperimentConfig& fleet, const Machine& machine, const SafeSet& set,
                  MachineReport& report) {
  const TaskSettings& s = machine.task.settings;
  const auto lacks = [&](std::string what) { report.missing.push_back(std::move(what)); };
  if (!set.constrained()) {
    lacks("no safe set: every policy counts as safe ([safe_set])");
  } else if (set.closed_loops().empty()) {
    lacks(
        "no closed loop: its gains are limited, and nothing is proven of the machine "
        "([safe_set.closed_loop])");
  } else if (report.tolerances.empty()) {
    lacks("no tolerance: the proof is for exactly this machine ([machine.tolerance])");
  }
  if (s.state_weights.isZero() && s.action_weights.isZero()) {
    lacks("no weights: recordings must bring their costs (settings.state_weights)");
  }
  if (s.action_low.array().isInf().any() || s.action_high.array().isInf().any()) {
    lacks("no limits on some actions (settings.action_low, action_high)");
  }
  if (!(s.sigma.least() > 0)) lacks("no exploration noise: nothing can be learnt (settings.sigma)");
  if (!report.simulated) {
    lacks("nothing to simulate: `lifeguard run` cannot play it, `lifeguard observe` can");
  }
  if (fleet.steps < 2) lacks("one step a trajectory (experiment.steps)");
}

/// Counts closed loops that differ.
class ClosedLoopBudget {
 public:
  explicit ClosedLoopBudget(std::size_t most) : most_(most) {}
  /// Whether the machine's may be looked for: it has none, it was looked for, or there is room.
  bool allows(const Machine& machine) {
    if (machine.safe_set_toml.find("closed_loop") == std::string::npos) return true;
    const std::string definition = definition_of(machine);
    if (known_.contains(definition)) return true;
    return known_.size() < most_ && known_.insert(definition).second;
  }

 private:
  std::size_t most_;
  std::set<std::string> known_;
};

MachineReport report_machine(const ExperimentConfig& fleet, int place, const Eigen::VectorXd& start,
                             ClosedLoopBudget& budget) {
  const Machine& machine = fleet.machines[static_cast<std::size_t>(place)];
  MachineReport report;
  report.name = machine.task.name;
  const SystemDescription system = describe(machine.task.system);
  report.system = system.name;
  report.states = system.states;
  report.actions = system.actions;
  report.sigma = machine.task.settings.sigma;
  report.noise_limit = machine.task.settings.noise_limit;
  report.retired = machine.retired;
  report.simulated = can_simulate(machine.task.system);
  SafeSet set(static_cast<int>(start.size()));
  try {
    report.tolerances = tolerances_of(fleet, machine.task, place);
    for (const ParameterRange& range : report.tolerances) {
      const auto about =
          std::find_if(system.parameters.begin(), system.parameters.end(),
                       [&](const ParameterDescription& p) { return p.name == range.parameter; });
      report.tolerance_units.push_back(about == system.parameters.end() ? "" : about->unit);
      if (range.low != 0 || range.high != 0) continue;
      report.missing.push_back(fmt::format(
          "no tolerance of {0}: it is 0, of which a share is nothing; give {0} = [low, high]",
          range.parameter));
    }
    if (!budget.allows(machine)) {
      report.not_solved = true;
      return report;
    }
    const DrawnTask drawn = draw_task(fleet, place, start, Machines::as_known);
    set = drawn.safe_set;
    report.constraints = set.constraints();
    for (const auto& loop : set.closed_loops()) {
      describe_closed_loop(*loop, machine.task.settings, report);
    }
    const bool given = machine.first_gains || machine.first_lqr_share;
    report.first_policy = given                              ? "given"
                          : !drawn.first.replaced.empty()    ? "the centre of its safe set"
                          : drawn.first.its_own              ? "of its closed loop"
                          : drawn.first.parameters.isZero(0) ? "zero gains"
                                                             : "a share of the mean LQR gains";
    const Eigen::VectorXd& first = drawn.first.parameters;
    require(first.size() > 0, "safe set", "empty", "must leave room for a policy");
    const Margins found = margins(set, first);
    report.margin = found.worst();
    if (found.worst_row() >= 0) {
      report.nearest = set.name(found.worst_row());
      report.nearest_meaning = row_meaning(report.nearest, system, fleet.features);
    }
  } catch (const InvalidInput& error) {
    report.problem =
        with_row_meanings(fmt::format("{} = {}: {}", error.field(), error.value(), error.rule()),
                          system, fleet.features);
  }
  note_missing(fleet, machine, set, report);
  return report;
}

}  // namespace

bool FleetReport::usable() const {
  return std::all_of(machines.begin(), machines.end(),
                     [](const MachineReport& machine) { return machine.problem.empty(); });
}

FleetReport report_fleet(const ExperimentConfig& config, const LongWork& work,
                         std::size_t most_closed_loops) {
  ClosedLoopBudget budget(most_closed_loops);
  ExperimentConfig fleet = config;
  fleet.machines = machines_of(config);
  FleetReport report;
  report.name = fleet.name;
  report.steps = fleet.steps;
  const Task& first = fleet.machines.front().task;
  report.gains = describe(first.system).gain_labels(fleet.features);
  const Eigen::VectorXd start = start_policy(config, first);
  for (int t = 0; t < static_cast<int>(fleet.machines.size()); ++t) {
    work.step("building safe sets", t, static_cast<long>(fleet.machines.size()));
    report.machines.push_back(report_machine(fleet, t, start, budget));
  }
  return report;
}

nlohmann::ordered_json fleet_report_to_json(const FleetReport& report) {
  nlohmann::ordered_json json;
  json["name"] = report.name;
  json["usable"] = report.usable();
  json["steps"] = report.steps;
  json["gains"] = report.gains;
  json["machines"] = nlohmann::ordered_json::array();
  for (const MachineReport& m : report.machines) {
    nlohmann::ordered_json machine;
    machine["name"] = m.name;
    machine["system"] = m.system;
    machine["retired"] = m.retired;
    machine["simulated"] = m.simulated;
    machine["tolerances"] = nlohmann::ordered_json::object();
    for (const ParameterRange& range : m.tolerances) {
      machine["tolerances"][range.parameter] = {range.low, range.high};
    }
    machine["constraints"] = m.constraints;
    if (!std::isnan(m.decay)) {
      machine["closed_loop"] = {{"decay", m.decay},
                                {"statement", m.nonlinear ? "nonlinear" : "linear"},
                                {"start_share", m.start_share},
                                {"start_low", number_list(m.start_low)},
                                {"start_high", number_list(m.start_high)},
                                {"state_limits", number_list(m.state_limits)}};
    }
    machine["first_policy"] = m.first_policy;
    machine["margin"] = m.margin;  // null without constraints
    machine["nearest"] = m.nearest;
    if (!m.nearest_meaning.empty()) machine["nearest_meaning"] = m.nearest_meaning;
    machine["states"] = nlohmann::ordered_json::array();
    for (const Signal& s : m.states) machine["states"].push_back(signal_text(s));
    machine["actions"] = nlohmann::ordered_json::array();
    for (const Signal& s : m.actions) machine["actions"].push_back(signal_text(s));
    const auto actions = static_cast<Eigen::Index>(m.actions.size());
    machine["sigma"] = number_list(m.sigma.values(actions));
    machine["noise_limit"] = number_list(m.noise_limit.values(actions));  // null: not clipped
    if (m.not_solved) machine["not_solved"] = true;
    if (!m.problem.empty()) machine["problem"] = m.problem;
    machine["missing"] = m.missing;
    json["machines"].push_back(std::move(machine));
  }
  return json;
}

}  // namespace lifeguard
