#include "lifeguard/report/charts.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/report/axis_range.hpp"
#include "lifeguard/report/closed_loop_charts.hpp"
#include "lifeguard/report/incident_charts.hpp"
#include "lifeguard/report/knowledge_charts.hpp"
#include "lifeguard/report/mark_labels.hpp"
#include "lifeguard/report/principal_plane.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/report/rows_in_all.hpp"
#include "lifeguard/systems/signal_text.hpp"

namespace lifeguard {
namespace {

template <typename Row>
using Quantity = double (*)(const Row&);

template <typename Row>
OverSeeds over_runs(const std::vector<const Row*>& of_runs, Quantity<Row> quantity) {
  std::vector<double> values;
  values.reserve(of_runs.size());
  for (const Row* row : of_runs) values.push_back(quantity(*row));
  return over_seeds(values);
}

/// For each method a line: the median over its runs, with a band.
template <typename Row>
void add_method_lines(const ChartSource& source, std::vector<Row> RunView::*rows,
                      Quantity<Row> quantity, Chart& chart) {
  for (std::size_t m = 0; m < source.methods.size(); ++m) {
    const MethodRuns& method = source.methods[m];
    const auto common = rows_in_all(method.runs, rows);
    if (common.empty()) continue;
    chart.lines.push_back(method_line(source, m, chart.tables.size()));
    ChartTable table{method.name, kOverSeedsHeads};
    std::size_t first = 0;
    while (first < common.size() && common[first].front()->round <= source.since) ++first;
    for (const std::size_t i : thinned(first, common.size(), kReportPoints)) {
      table.rounds.push_back(common[i].front()->round);
      table.values.push_back(over_seeds_row(over_runs(common[i], quantity)));
    }
    chart.tables.push_back(std::move(table));
  }
}

bool learns_from_outside(const ChartSource& source) {
  return source.methods.front().runs.front()->header.observed;
}

std::optional<Chart> cost_chart(const ChartSource& source) {
  Chart chart;
  chart.name = "cost";
  chart.title = "Cost against rounds";
  chart.note = learns_from_outside(source)
                   ? "What the machines cost when they were last observed, exploration noise "
                     "included, mean over those that were."
                   : "Noise-free cost of the policies after each round, mean over the tasks: the "
                     "median of the seeds, in a band from their 10 % to their 90 % quantile.";
  chart.x_label = "round";
  chart.y_label = "mean cost of all tasks";
  chart.scales = {Scale::linear, Scale::log_y};
  add_method_lines<StoredEvaluation>(
      source, &RunView::evaluations,
      [](const StoredEvaluation& evaluation) { return evaluation.mean_cost(); }, chart);
  if (chart.lines.empty()) return std::nullopt;
  return chart;
}

/// √R through the last point of the first method whose regret is positive there: what the theorem
/// allows a regret to grow like.
void add_root(const ChartSource& source, Quantity<StoredRegret> quantity, Chart& chart) {
  constexpr double kPointsPerDecade = 16;
  for (const MethodRuns& method : source.methods) {
    const auto common = rows_in_all(method.runs, &RunView::regrets);
    if (common.empty()) continue;
    const double last = over_runs(common.back(), quantity).median;
    if (!(last > 0)) continue;
    const long first_round = std::max(1L, common.front().front()->round);
    const long last_round = std::max(first_round, common.back().front()->round);
    ChartTable table;
    const auto steps =
        std::max(1L, std::lround(kPointsPerDecade * std::log10(static_cast<double>(last_round) /
                                                               static_cast<double>(first_round))));
    for (long i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(steps);
      const long round = std::lround(
          static_cast<double>(first_round) *
          std::pow(static_cast<double>(last_round) / static_cast<double>(first_round), share));
      if (!table.rounds.empty() && round == table.rounds.back()) continue;
      table.rounds.push_back(round);
      table.values.push_back(
          {last * std::sqrt(static_cast<double>(round) / static_cast<double>(last_round))});
    }
    ChartLine line;
    line.name = line.legend = "√R, scaled";
    line.style = {.colour = Colour::grey, .dash = "1 5", .width = 2};
    line.table = chart.tables.size();
    chart.lines.push_back(std::move(line));
    chart.tables.push_back(std::move(table));
    chart.note +=
        " The dotted line is proportional to √R: on logarithmic axes its slope is one half, and a "
        "curve that bends below it grows more slowly.";
    return;
  }
}

std::optional<Chart> regret_chart(const ChartSource& source, Quantity<StoredRegret> quantity,
                                  Chart chart) {
  chart.x_label = "round";
  chart.y_label = "regret";
  chart.scales = {Scale::linear, Scale::log_xy};
  add_method_lines<StoredRegret>(source, &RunView::regrets, quantity, chart);
  if (chart.lines.empty()) return std::nullopt;
  add_root(source, quantity, chart);
  return chart;
}

/// For each method whose runs all have one, the bound of the regret in the method's colour.
void add_bounds(const ChartSource& source, Chart& chart) {
  ChartSource bounded = source;
  std::erase_if(bounded.methods, [](const MethodRuns& method) {
    const auto common = rows_in_all(method.runs, &RunView::regrets);
    return common.empty() || std::any_of(common.begin(), common.end(), [](const auto& rows) {
             return std::any_of(rows.begin(), rows.end(),
                                [](const StoredRegret* row) { return !row->bounded(); });
           });
  });
  if (bounded.methods.empty()) return;
  const std::size_t first_line = chart.lines.size();
  const std::size_t first_table = chart.tables.size();
  add_method_lines<StoredRegret>(
      bounded, &RunView::regrets, [](const StoredRegret& regret) { return regret.bound; }, chart);
  for (std::size_t i = first_line; i < chart.lines.size(); ++i) {
    ChartLine& line = chart.lines[i];
    line.name += ", bound";
    line.legend += ", bound";
    line.style.dash = "6 4";
    line.band.reset();
    // The colour of the method's own line.
    for (std::size_t m = 0; m < first_line; ++m) {
      if (chart.lines[m].name + ", bound" == line.name) {
        line.style.colour = chart.lines[m].style.colour;
      }
    }
  }
  for (std::size_t i = first_table; i < chart.tables.size(); ++i) chart.tables[i].name += ", bound";
  chart.note +=
      " Broken lines are what the theorem bounds it by, with the policies that were played in "
      "place "
      "of the leader's counted in.";
}

std::optional<Chart> losses_regret_chart(const ChartSource& source) {
  std::optional<Chart> chart = regret_chart(
      source, [](const StoredRegret& regret) { return regret.surrogate; },
      {.name = "regret-losses",
       .title = "Regret of the losses",
       .note = "Summed over the rounds, against each task's best safe policy in hindsight."});
  if (chart) add_bounds(source, *chart);
  return chart;
}

std::optional<Chart> cost_regret_chart(const ChartSource& source) {
  // Nobody knows the best policies of machines outside.
  if (learns_from_outside(source)) return std::nullopt;
  return regret_chart(
      source, [](const StoredRegret& regret) { return regret.true_cost; },
      {.name = "regret-cost",
       .title = "Regret of the true cost",
       .note = "Summed over the rounds, against the best safe policies that are known, mean over "
               "the tasks."});
}

/// A table of a vector over rounds.
template <typename Row>
ChartTable vector_table(const std::vector<Row>& rows, Eigen::VectorXd Row::*values,
                        std::vector<std::string> heads, long since) {
  ChartTable table{"", std::move(heads)};
  for (const std::size_t i : thinned(first_after(rows, since), rows.size(), kReportPoints)) {
    table.rounds.push_back(rows[i].round);
    table.values.push_back(entries(rows[i].*values));
  }
  return table;
}

std::optional<Chart> margins_chart(const RunDetails& details, long since) {
  const RunView& run = *details.run;
  if (details.safe_sets.empty() || run.evaluations.empty()) return std::nullopt;
  const std::size_t worst = details.worst_task();
  const double margin = run.evaluations.back().margins(static_cast<Eigen::Index>(worst));
  Chart chart;
  chart.name = "margins";
  chart.title = "Constraint margins";
  chart.note = fmt::format(
      "How far inside its constraints each task's policy is; below 0 a constraint is broken. "
      "Nearest now: {}",
      details.tasks[worst]);
  if (!run.rounds.empty() && run.rounds.back().worst_task == static_cast<int>(worst) &&
      !run.rounds.back().worst_row.empty()) {
    const std::string& row = run.rounds.back().worst_row;
    const std::string meaning = row_meaning(row, describe(run.tasks[worst].system), run.features());
    chart.note += fmt::format(", “{}”{}", row, meaning.empty() ? "" : " (" + meaning + ")");
  }
  chart.note += fmt::format(", margin {:.4g}.", margin);
  if (std::any_of(run.evaluations.begin(), run.evaluations.end(),
                  [](const auto& evaluation) { return evaluation.margins.minCoeff() < 0; })) {
    chart.note += " This method broke constraints.";
  }
  chart.x_label = "round";
  chart.y_label = "smallest margin of a task";
  chart.scales = {Scale::linear, Scale::log_y};
  chart.tables = {vector_table(run.evaluations, &StoredEvaluation::margins, details.tasks, since)};
  chart.rules = {{.value = 0, .style = {.colour = Colour::grey, .width = 1}}};
  ChartLine front;
  for (std::size_t t = 0; t < details.tasks.size(); ++t) {
    ChartLine line;
    line.name = details.tasks[t];
    line.column = t;
    if (t == worst) {
      line.legend = details.tasks[t] + ", the worst";
      line.style = {.colour = Colour::orange, .width = 2.4};
      front = std::move(line);
      continue;
    }
    if (chart.lines.empty()) line.legend = "other tasks";
    line.style = {.colour = Colour::grey, .width = 1, .opacity = 0.5};
    chart.lines.push_back(std::move(line));
  }
  chart.lines.push_back(std::move(front));
  return chart;
}

std::optional<Chart> spectrum_chart(const RunDetails& details, long since) {
  const auto& certificates = details.run->certificates;
  if (certificates.empty()) return std::nullopt;
  const double p = details.run->header.experiment.p;
  const double q = details.run->header.experiment.q;
  Chart chart;
  chart.name = "spectrum";
  chart.title = "Spectrum of the shared basis";
  chart.note =
      fmt::format("Every eigenvalue of LᵀL must stay between p = {:g} and q = {:g}.", p, q);
  chart.x_label = "round";
  chart.y_label = "eigenvalues of LᵀL";
  chart.scales = {Scale::log_y};
  const LineStyle limit{.colour = Colour::orange, .dash = "7 4", .width = 2};
  chart.rules = {{.value = p, .label = "p", .legend = "p and q", .style = limit},
                 {.value = q, .label = "q", .style = limit}};
  std::vector<std::string> heads;
  for (Eigen::Index k = 0; k < certificates.front().spectrum.size(); ++k) {
    heads.push_back(fmt::format("eigenvalue {}", k + 1));
    ChartLine line;
    line.name = heads.back();
    if (k == 0) line.legend = "eigenvalues";
    line.style = {.colour = Colour::blue, .width = 1.4, .opacity = 0.8};
    line.column = static_cast<std::size_t>(k);
    chart.lines.push_back(std::move(line));
  }
  chart.tables = {
      vector_table(certificates, &StoredCertificate::spectrum, std::move(heads), since)};
  return chart;
}

std::optional<Chart> coefficients_chart(const RunDetails& details, long /*since*/) {
  const std::string symbol = details.has_coefficients ? "s" : "α";
  Chart chart;
  chart.name = "coefficients";
  chart.title = "Coefficients of all tasks";
  chart.note = details.has_coefficients
                   ? "A row is one task's s: its policy is anchor + L s."
                   : "This method has no coefficients; these are the policies themselves.";
  chart.x_label = "entry of " + symbol;
  ChartCells cells;
  cells.rows = details.tasks;
  for (Eigen::Index k = 0; k < details.coefficients.rows(); ++k) {
    cells.columns.push_back(std::to_string(k + 1));
  }
  for (Eigen::Index t = 0; t < details.coefficients.cols(); ++t) {
    cells.values.push_back(entries(details.coefficients.col(t)));
  }
  chart.cells = std::move(cells);
  return chart;
}

std::optional<Chart> resemblance_chart(const RunDetails& details, long /*since*/) {
  const PrincipalPlane found = principal_plane(details.coefficients);
  Chart chart;
  chart.name = "resemblance";
  chart.title = "Which tasks resemble which";
  chart.note =
      "The coefficients in the plane in which they differ most: near means similar. In brackets: "
      "share of the variance.";
  ChartPlane plane;
  plane.axes = {fmt::format("first principal component ({:.0f} %)", 100 * found.shares[0]),
                fmt::format("second ({:.0f} %)", 100 * found.shares[1])};
  std::array<AxisRange, 2> ranges;
  for (std::size_t t = 0; t < details.tasks.size(); ++t) {
    const Eigen::Vector2d place = found.places.col(static_cast<Eigen::Index>(t));
    for (std::size_t k = 0; k < 2; ++k) ranges[k].add(place(static_cast<Eigen::Index>(k)));
    chart.marks.push_back({.name = details.tasks[t],
                           .label = short_name(details.tasks[t]),
                           .legend = t == 0 ? "task" : "",
                           .at = entries(place)});
  }
  plane.view = {padded_view(ranges[0]), padded_view(ranges[1])};
  chart.plane = std::move(plane);
  place_labels(chart);
  return chart;
}

/// All points and, of a region that goes far beyond them, only a part.
Point2 seen_along(const Chart& chart, std::size_t axis, AxisRange points) {
  if (chart.region && points.low <= points.high) {
    const AxisRange near = points.widened(1);
    if (const auto region = extent_along(*chart.region, axis, near.low, near.high)) {
      for (const double end : *region) points.add(end);
    }
  }
  return padded_view(points);
}

/// The two parameters that changed most, in their order.
std::array<std::size_t, 2> most_moved(const Eigen::VectorXd& first, const Eigen::VectorXd& last) {
  std::vector<std::size_t> order(static_cast<std::size_t>(first.size()));
  std::iota(order.begin(), order.end(), 0);
  const Eigen::VectorXd moved = (last - first).cwiseAbs();
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return moved(static_cast<Eigen::Index>(a)) > moved(static_cast<Eigen::Index>(b));
  });
  return {std::min(order[0], order[1]), std::max(order[0], order[1])};
}

/// The inequalities of a set, seen from a point inside. With Q = L Lᵀ and x = L⁻ᵀ y,
///   [I; K₀ + Δ]ᵀ Θ [I; K₀ + Δ] ⪯ Q   is   [I; Δ L⁻ᵀ]ᵀ JᵀΘJ [I; Δ L⁻ᵀ] ⪯ I,
///   J = [[L⁻ᵀ, 0], [K₀ L⁻ᵀ, I]].
std::vector<ChartCurve> curves_of(const SafeSet& set, const Eigen::VectorXd& from) {
  std::vector<ChartCurve> curves;
  for (const GainInequality& inequality : set.inequalities()) {
    const Eigen::Index n = inequality.features();
    const Eigen::Index m = inequality.actions();
    const Eigen::MatrixXd root =
        inequality.limit().llt().matrixU().solve(Eigen::MatrixXd::Identity(n, n));
    Eigen::MatrixXd change = Eigen::MatrixXd::Zero(n + m, n + m);
    change.topLeftCorner(n, n) = root;
    change.bottomLeftCorner(m, n) = gains_from_parameters(from, static_cast<int>(m)) * root;
    change.bottomRightCorner(m, m).setIdentity();
    const auto short_number = [](double v) { return six_digits(v); };
    curves.push_back({(change.transpose() * inequality.theta() * change).unaryExpr(short_number),
                      root.unaryExpr(short_number)});
  }
  return curves;
}

std::string region_note(const RunDetails& details, const SafeSet& set) {
  std::string note = fmt::format("{} constraints", set.constraints());
  if (!set.inequalities().empty()) note += " (with a curved boundary: matrix inequalities)";
  if (details.parameters.size() > 2) {
    note +=
        ", cut at the last policy's values of the other parameters; earlier points may lie in "
        "other cuts";
  }
  note += ".";
  if (set.has_slack_limit()) note += " The limit on the slack is not drawn.";
  return note;
}

std::optional<Chart> safe_region_chart(const RunDetails& details, std::size_t task, long since) {
  if (details.parameters.size() < 2) return std::nullopt;
  const auto column = static_cast<Eigen::Index>(task);
  const Eigen::VectorXd policy = details.policies.col(column);
  std::vector<const StoredRound*> visits;
  for (const StoredRound& round : details.run->rounds) {
    if (round.task == static_cast<int>(task)) visits.push_back(&round);
  }
  const Eigen::VectorXd first = visits.empty() ? policy : visits.front()->played;

  Chart chart;
  chart.name = "safe-region";
  chart.title = fmt::format("Path of {}", details.tasks[task]);
  chart.note = "This experiment has no constraints.";
  if (!details.safe_sets.empty()) {
    const SafeSet& set = details.safe_sets[task];
    chart.title = fmt::format("Safe region of {}", details.tasks[task]);
    chart.note = region_note(details, set);
    chart.region = {.legend = "safe region",
                    .rows = set.coefficients(),
                    .margins = with_six_digits(set.limits() - set.coefficients() * policy),
                    .curves = curves_of(set, details.run->first_policies.col(column)),
                    .curved_from = details.run->first_policies.col(column),
                    .at = with_six_digits(policy)};
  }
  ChartTable path;
  std::size_t next = 0;
  while (next < visits.size() && visits[next]->round <= since) ++next;
  for (const std::size_t i : thinned(next, visits.size(), kPathPoints)) {
    path.rounds.push_back(visits[i]->round);
    path.values.push_back(six_digit_entries(visits[i]->played));
  }
  chart.tables = {std::move(path)};
  chart.lines = {{.name = "policy",
                  .legend = "path of the policy",
                  .style = {.colour = Colour::blue, .width = 1.6},
                  .to_mark = 1}};  // the last policy
  using enum ChartMark::Shape;
  chart.marks = {
      {.name = "first policy", .legend = "first", .shape = ring, .at = six_digit_entries(first)},
      {.name = "last policy", .legend = "last", .shape = dot, .at = six_digit_entries(policy)}};
  if (details.lqr.size() > 0) {
    chart.marks.push_back({.name = "LQR",
                           .legend = "LQR",
                           .shape = cross,
                           .colour = Colour::orange,
                           .at = six_digit_entries(details.lqr.col(column))});
  }

  ChartPlane plane;
  plane.axes = details.parameters;
  const auto [across, up] = most_moved(first, policy);
  plane.across = across;
  plane.up = up;
  std::vector<AxisRange> points(plane.axes.size());
  for (std::size_t k = 0; k < points.size(); ++k) {
    for (const ChartMark& mark : chart.marks) points[k].add(mark.at[k]);
  }
  for (const StoredRound* visit : visits) {
    for (std::size_t k = 0; k < points.size(); ++k) {
      points[k].add(visit->played(static_cast<Eigen::Index>(k)));
    }
  }
  for (std::size_t k = 0; k < points.size(); ++k) {
    plane.view.push_back(seen_along(chart, k, points[k]));
  }
  chart.plane = std::move(plane);
  return chart;
}

using OfExperiment = std::optional<Chart> (*)(const ChartSource& source);
using OfRun = std::optional<Chart> (*)(const RunDetails& details, long since);
using OfTask = std::optional<Chart> (*)(const RunDetails& details, std::size_t task, long since);

/// Every kind of chart, in the order of the page.
constexpr std::variant<OfExperiment, OfRun, OfTask> kCharts[] = {
    cost_chart,                  //
    safe_region_chart,           //
    guaranteed_region_chart,     //
    decay_chart,                 //
    margins_chart,               //
    falls_chart,                 //
    violations_chart,            //
    saturations_chart,           //
    spectrum_chart,              //
    knowledge_spectrum_chart,    //
    knowledge_directions_chart,  //
    knowledge_tasks_chart,       //
    knowledge_belief_chart,      //
    knowledge_agreement_chart,   //
    losses_regret_chart,         //
    cost_regret_chart,           //
    coefficients_chart,          //
    resemblance_chart,           //
};

}  // namespace

std::vector<double> over_seeds_row(const OverSeeds& value) {
  return {value.median, value.low, value.high};
}

ChartLine method_line(const ChartSource& source, std::size_t m, std::size_t table) {
  const MethodRuns& method = source.methods[m];
  const std::size_t seeds = method.runs.size();
  ChartLine line;
  line.name = method.name;
  line.legend = fmt::format("{} ({} seed{})", method.name, seeds, seeds == 1 ? "" : "s");
  line.style = series_style(m);
  line.table = table;
  line.band = 1;
  return line;
}

std::vector<Chart> charts_of(const ChartSource& source) {
  std::vector<Chart> charts;
  const auto add = [&](std::optional<Chart> chart, const RunDetails* details, int task) {
    if (!chart) return;
    chart->task = task;
    if (details) {
      chart->run = details->run->header.experiment.method;
      chart->title += ", " + chart->run;
    }
    charts.push_back(std::move(*chart));
  };
  for (const auto& kind : kCharts) {
    if (const auto* of_experiment = std::get_if<OfExperiment>(&kind)) {
      add((*of_experiment)(source), nullptr, -1);
      continue;
    }
    for (const RunDetails& details : source.details) {
      if (const auto* of_run = std::get_if<OfRun>(&kind)) {
        add((*of_run)(details, source.since), &details, -1);
        continue;
      }
      for (std::size_t t = 0; t < details.tasks.size(); ++t) {
        add(std::get<OfTask>(kind)(details, t, source.since), &details, static_cast<int>(t));
      }
    }
  }
  return charts;
}

}  // namespace lifeguard
