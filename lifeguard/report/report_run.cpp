#include "lifeguard/report/report_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kStarts = 3;      // start states that are animated
constexpr int kFrameSteps = 2;  // steps between two frames

/// The signals that are drawn, in the order of a frame.
OrderedJson drawn_signals(const SystemDescription& system) {
  OrderedJson signals = OrderedJson::array();
  for (const int place : system.drawn_states()) {
    const Signal& signal = system.states[static_cast<std::size_t>(place)];
    signals.push_back({{"name", signal.name}, {"unit", signal.unit}});
  }
  return signals;
}

/// The drawn states of the system, relative to the goal, for each start state and frame, without
/// noise. A trajectory that failed has fewer frames.
OrderedJson animation(const RunView& run, const Task& task, const std::vector<int>& drawn,
                      const Eigen::VectorXd& alpha) {
  if (!can_simulate(task.system)) return OrderedJson::array();
  RolloutSettings settings;
  settings.trajectories = kStarts;
  settings.steps = run.header.experiment.steps;
  settings.seed = run_seed(run.header.experiment.seed, SeedOf::evaluation);
  settings.features = run.features();
  OrderedJson starts = OrderedJson::array();
  for (const Eigen::MatrixXd& path :
       state_paths(task, GaussianPolicy::from_parameters(alpha, task.actions(), 0.0), settings)) {
    OrderedJson frames = OrderedJson::array();
    for (long m = 0; m < path.cols(); m += kFrameSteps) {
      frames.push_back(six_digit_entries(path.col(m)(drawn)));
    }
    starts.push_back(std::move(frames));
  }
  return starts;
}

}  // namespace

std::vector<std::size_t> thinned(std::size_t first, std::size_t count, std::size_t limit) {
  std::vector<std::size_t> kept;
  const std::size_t available = count - first;
  if (available <= limit) {
    for (std::size_t i = first; i < count; ++i) kept.push_back(i);
    return kept;
  }
  for (std::size_t i = 0; i < limit; ++i) {
    kept.push_back(first + i * (available - 1) / (limit - 1));
  }
  return kept;
}

double six_digits(double value) {
  if (!std::isfinite(value)) return value;
  const std::string text = fmt::format("{:.6g}", value);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

Eigen::VectorXd with_six_digits(const Eigen::VectorXd& values) {
  return values.unaryExpr([](double v) { return six_digits(v); });
}

std::vector<double> entries(const Eigen::VectorXd& values) {
  return {values.begin(), values.end()};
}

std::vector<double> six_digit_entries(const Eigen::VectorXd& values) {
  return entries(with_six_digits(values));
}

std::size_t RunDetails::worst_task() const {
  if (safe_sets.empty() || run->evaluations.empty()) return 0;
  Eigen::Index worst = 0;
  run->evaluations.back().margins.minCoeff(&worst);
  return static_cast<std::size_t>(worst);
}

RunDetails describe_run(const RunView& run, long since, OrderedJson& entry) {
  const SystemDescription system = describe(run.tasks.front().system);
  const std::vector<int> drawn = system.drawn_states();
  const bool whole = since < 0;

  if (whole) {
    entry["system"] = system.name;
    entry["drawing"] = system.drawing;
    entry["signals"] = drawn_signals(system);
    entry["parameters"] = system.gain_labels(run.features());
    entry["frame_seconds"] = kFrameSteps * run.tasks.front().settings.dt_seconds;
    OrderedJson settings = OrderedJson::object();
    for (const auto& [key, value] : run.settings) settings[key] = value;
    entry["settings"] = std::move(settings);
  }
  entry["tasks"] = OrderedJson::array();
  for (std::size_t t = 0; t < run.tasks.size(); ++t) {
    const Task& task = run.tasks[t];
    const auto column = static_cast<long>(t);
    OrderedJson json;
    json["name"] = task.name;
    if (whole) {
      // Machines of other sizes may look otherwise than the first one.
      const std::string drawing = describe(task.system).drawing;
      if (drawing != system.drawing) json["drawing"] = drawing;
      json["first_flights"] = animation(run, task, drawn, run.first_policies.col(column));
    }
    json["policy"] = entries(run.policies.col(column));
    json["last_flights"] = animation(run, task, drawn, run.policies.col(column));
    entry["tasks"].push_back(std::move(json));
  }

  RunDetails details;
  details.run = &run;
  details.parameters = system.gain_labels(run.features());
  details.policies = run.policies;
  details.lqr.resizeLike(run.policies);
  for (std::size_t t = 0; t < run.tasks.size(); ++t) {
    details.tasks.push_back(run.tasks[t].name);
    if (run.constrained()) details.safe_sets.push_back(run.safe_set(static_cast<int>(t)));
    const auto lqr = find_lqr_policy_gains(run.tasks[t], run.features());
    if (details.lqr.size() == 0) continue;
    if (lqr) {
      details.lqr.col(static_cast<long>(t)) = parameters_from_gains(*lqr);
    } else {
      details.lqr.resize(0, 0);
    }
  }
  details.has_coefficients = run.knowledge.has_value();
  details.coefficients = run.knowledge ? run.knowledge->coefficients : run.policies;
  return details;
}

}  // namespace lifeguard
