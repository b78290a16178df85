#include "lifeguard/report/closed_loop_charts.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>

#include "lifeguard/report/axis_range.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {
namespace {

constexpr int kTrajectories = 6;  // that are drawn in a guaranteed region
constexpr std::size_t kTrajectoryPoints = 75;

/// What is guaranteed of a task, if its safe set says so.
const ClosedLoop* closed_loop_of(const RunDetails& details, std::size_t task) {
  if (details.safe_sets.empty() || details.safe_sets[task].closed_loops().empty()) return nullptr;
  return details.safe_sets[task].closed_loops().front().get();
}

std::string in_unit(const Signal& signal) {
  const bool has_unit = !signal.unit.empty() && signal.unit != "1";
  return has_unit ? fmt::format("{} ({})", signal.name, signal.unit) : signal.name;
}

/// The first state and the next one that has a limit: what is shown if nobody chooses.
std::array<std::size_t, 2> first_limited(const Eigen::VectorXd& limits) {
  for (Eigen::Index s = 1; s < limits.size(); ++s) {
    if (std::isfinite(limits(s))) return {0, static_cast<std::size_t>(s)};
  }
  return {0, 1};
}

/// The last policy's trajectories, with exploration noise, as lines in the plane of the states.
void add_trajectories(const RunDetails& details, std::size_t task, Chart& chart) {
  const RunView& run = *details.run;
  const Task& machine = run.tasks[task];
  if (!can_simulate(machine.system)) return;
  RolloutSettings settings;
  settings.trajectories = kTrajectories;
  settings.steps = run.header.experiment.steps;
  settings.seed = run_seed(run.header.experiment.seed, SeedOf::evaluation);
  settings.features = run.features();
  const auto policy =
      GaussianPolicy::from_parameters(details.policies.col(static_cast<Eigen::Index>(task)),
                                      machine.actions(), machine.settings.sigma);
  for (const Eigen::MatrixXd& path : state_paths(machine, policy, settings)) {
    const std::size_t number = chart.tables.size();
    ChartTable table;
    table.name = fmt::format("trajectory {}", number + 1);
    for (const std::size_t m :
         thinned(0, static_cast<std::size_t>(path.cols()), kTrajectoryPoints)) {
      table.rounds.push_back(static_cast<long>(m));
      table.values.push_back(six_digit_entries(path.col(static_cast<Eigen::Index>(m))));
    }
    ChartLine line;
    line.name = table.name;
    if (number == 0) line.legend = "trajectories of the last policy";
    line.style = {.colour = Colour::blue, .width = 1.3, .opacity = 0.85};
    line.table = number;
    chart.lines.push_back(std::move(line));
    chart.tables.push_back(std::move(table));
  }
}

}  // namespace

double decay_of(const ClosedLoop& closed_loop, const Eigen::VectorXd& parameters) {
  double largest = 0;
  for (const GainInequality& contraction : closed_loop.contractions) {
    const double proven = contraction.proven_ratio(parameters, 0);
    largest = std::max(largest, std::isfinite(proven) ? proven : contraction.ratio(parameters));
  }
  return closed_loop.decay * largest;
}

std::optional<Chart> decay_chart(const RunDetails& details, long since) {
  Chart chart;
  chart.name = "decay";
  chart.title = "Decay of the closed loops";
  chart.x_label = "round";
  chart.y_label = "decay factor a step";
  chart.scales = {Scale::linear, Scale::log_y};
  std::vector<double> limits;  // λ of the tasks, those that differ
  std::size_t slowest = 0;
  double slowest_decay = -1;
  for (std::size_t t = 0; t < details.tasks.size(); ++t) {
    const ClosedLoop* loop = closed_loop_of(details, t);
    if (loop == nullptr) continue;
    if (std::find(limits.begin(), limits.end(), loop->decay) == limits.end()) {
      limits.push_back(loop->decay);
    }
    const double now = decay_of(*loop, details.policies.col(static_cast<Eigen::Index>(t)));
    if (now > slowest_decay) {
      slowest = t;
      slowest_decay = now;
    }
  }
  if (limits.empty()) return std::nullopt;
  chart.note = fmt::format(
      "The distance to the goal after a step is at most this factor times that before it, in the "
      "norm of the guaranteed region, without noise, for every machine within the tolerance, under "
      "each policy as it was played. Slowest now: {}, {:.5g}.",
      details.tasks[slowest], slowest_decay);
  for (const double limit : limits) {
    ChartRule rule{.value = limit,
                   .label = limits.size() == 1 ? "λ" : fmt::format("λ = {:g}", limit),
                   .style = {.colour = Colour::green, .dash = "7 4", .width = 2}};
    if (chart.rules.empty()) rule.legend = "λ, that is asked for";
    chart.rules.push_back(std::move(rule));
  }
  std::optional<ChartLine> front;
  bool has_others = false;
  for (std::size_t t = 0; t < details.tasks.size(); ++t) {
    const ClosedLoop* loop = closed_loop_of(details, t);
    if (loop == nullptr) continue;
    std::vector<const StoredRound*> visits;
    for (const StoredRound& round : details.run->rounds) {
      if (round.task == static_cast<int>(t) && round.round > since) visits.push_back(&round);
    }
    ChartTable table{details.tasks[t], {"decay"}};
    for (const std::size_t i : thinned(0, visits.size(), kPathPoints)) {
      table.rounds.push_back(visits[i]->round);
      table.values.push_back({decay_of(*loop, visits[i]->played)});
    }
    ChartLine line;
    line.name = details.tasks[t];
    line.table = chart.tables.size();
    chart.tables.push_back(std::move(table));
    if (t == slowest) {
      line.legend = details.tasks[t] + ", the slowest";
      line.style = {.colour = Colour::orange, .width = 2.4};
      front = std::move(line);
      continue;
    }
    if (!has_others) line.legend = "other tasks";
    has_others = true;
    line.style = {.colour = Colour::grey, .width = 1, .opacity = 0.5};
    chart.lines.push_back(std::move(line));
  }
  if (front) chart.lines.push_back(std::move(*front));
  return chart;
}

std::optional<Chart> guaranteed_region_chart(const RunDetails& details, std::size_t task,
                                             long /*since*/) {
  const ClosedLoop* loop = closed_loop_of(details, task);
  if (loop == nullptr || loop->plant.states() < 2) return std::nullopt;
  const auto n = static_cast<Eigen::Index>(loop->plant.states());
  Chart chart;
  chart.name = "guaranteed-region";
  chart.title = fmt::format("Guaranteed region of {}", details.tasks[task]);
  chart.note = fmt::format(
      "From the region the machine never leaves it under a safe policy, whatever the noise within "
      "its limits: the shadow in two states of the ellipsoid xᵀPx ≤ 1.{}{}",
      can_simulate(details.run->tasks[task].system)
          ? fmt::format(" {} trajectories of the last policy, with noise, relative to the goal.",
                        kTrajectories)
          : "",
      loop->plant.statement == PlantStatement::linear
          ? " Proven for linear models of the machine; that the machine is one of them is not."
          : "");
  chart.x_label = "step";
  Eigen::MatrixXd shape = loop->p.llt().solve(Eigen::MatrixXd::Identity(n, n));
  shape = shape.unaryExpr([](double v) { return six_digits(v); });
  chart.region = {
      .legend = "guaranteed region", .at = Eigen::VectorXd::Zero(n), .ellipsoid = shape};
  const Eigen::VectorXd& limits = loop->plant.state_limits;
  chart.boxes = {{.legend = "state limits",
                  .style = {.colour = Colour::orange, .dash = "7 4", .width = 1.8},
                  .low = entries(-limits),
                  .high = entries(limits)},
                 {.legend = "start box",
                  .style = {.colour = Colour::violet, .width = 1.8},
                  .low = six_digit_entries(loop->start_low),
                  .high = six_digit_entries(loop->start_high)}};
  add_trajectories(details, task, chart);

  ChartPlane plane;
  for (const Signal& state : describe(details.run->tasks[task].system).states) {
    plane.axes.push_back(in_unit(state));
  }
  const auto [across, up] = first_limited(limits);
  plane.across = across;
  plane.up = up;
  for (Eigen::Index s = 0; s < n; ++s) {
    // All of the region, limits that are near, and trajectories that do not go far beyond it.
    const double reach = std::sqrt(shape(s, s));
    AxisRange range{-reach, reach};
    if (limits(s) <= 2 * reach) {
      range.add(-limits(s));
      range.add(limits(s));
    }
    for (const ChartTable& table : chart.tables) {
      for (const auto& row : table.values) {
        const double value = row[static_cast<std::size_t>(s)];
        if (std::abs(value) <= 2 * reach) range.add(value);
      }
    }
    plane.view.push_back(padded_view(range));
  }
  chart.plane = std::move(plane);
  return chart;
}

}  // namespace lifeguard
