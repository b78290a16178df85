#include "lifeguard/report/knowledge_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "lifeguard/report/axis_range.hpp"
#include "lifeguard/report/mark_labels.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/followed_tasks.hpp"
#include "lifeguard/runs/run_beliefs.hpp"

namespace lifeguard {
namespace {

/// Bands and ellipses are this many standard deviations.
constexpr double kDeviations = 2;
/// More gains than this cannot be read beside each other.
constexpr std::size_t kShownGains = 12;

constexpr std::array kColours = {Colour::blue, Colour::orange, Colour::green};
static_assert(kColours.size() >= static_cast<std::size_t>(kStoredDirections));

/// "62 %"; what is little is not nothing.
std::string percent(double share) {
  return share > 0 && share < 0.01 ? "<1 %" : fmt::format("{:.0f} %", 100 * share);
}

/// "direction 1 (62 %)".
std::string direction_name(const KnowledgeSummary& summary, std::size_t i) {
  return fmt::format("direction {} ({})", i + 1, percent(summary.first[i].explained));
}

/// "direction 1 (62 %): yaw rate, roll rate", as far as an axis has room for it.
std::string axis_name(const std::string& name, const DirectionSummary& direction) {
  constexpr std::size_t kLongest = 32;
  const std::string whole = name + ": " + direction.short_words();
  return whole.size() <= kLongest ? whole : name + ": " + direction.inputs.front().name;
}

/// How often each task was visited up to a round.
std::vector<long> visits_until(const RunView& run, long round) {
  std::vector<long> visits(run.tasks.size(), 0);
  for (const StoredRound& played : run.rounds) {
    if (played.round <= round) visits[static_cast<std::size_t>(played.task)] = played.visit;
  }
  return visits;
}

}  // namespace

std::optional<Chart> knowledge_spectrum_chart(const RunDetails& details, long since) {
  const RunView& run = *details.run;
  const auto summary = summarise_knowledge(run);
  if (!summary) return std::nullopt;
  const StoredBeliefs& last = run.beliefs.back();
  Chart chart;
  chart.name = "knowledge-spectrum";
  chart.title = "What L knows: how tasks differ";
  chart.note = fmt::format(
      "The deviation of tasks along each direction, in units of the exploration noise: 1 is half a "
      "nat for each trajectory. In effect they differ in {:.1f} of {} directions; {:.0f} % of all "
      "differences lie along the first.",
      summary->effective, summary->directions, 100 * summary->first.front().explained);
  chart.x_label = "round";
  chart.y_label = "deviation of tasks";
  chart.scales = {Scale::log_y};
  ChartTable table;
  const auto count = static_cast<std::size_t>(last.variances.size());
  const auto add_line = [&](std::size_t i, const std::string& legend, const LineStyle& style) {
    ChartLine line;
    line.name = fmt::format("direction {}", i + 1);
    line.legend = legend;
    line.style = style;
    line.column = i;
    chart.lines.push_back(std::move(line));
  };
  // The first ones in front of the others.
  for (std::size_t i = summary->first.size(); i < count; ++i) {
    add_line(i, chart.lines.empty() ? "others" : "",
             {.colour = Colour::grey, .width = 1, .opacity = 0.5});
  }
  for (std::size_t i = 0; i < summary->first.size(); ++i) {
    add_line(i, direction_name(*summary, i), {.colour = kColours[i], .width = 2.2});
  }
  for (std::size_t i = 0; i < count; ++i) table.heads.push_back(fmt::format("direction {}", i + 1));
  for (const std::size_t i :
       thinned(first_after(run.beliefs, since), run.beliefs.size(), kReportPoints)) {
    table.rounds.push_back(run.beliefs[i].round);
    table.values.push_back(entries(run.beliefs[i].variances.cwiseSqrt()));
  }
  chart.tables = {std::move(table)};
  return chart;
}

std::optional<Chart> knowledge_directions_chart(const RunDetails& details, long /*since*/) {
  const RunView& run = *details.run;
  const auto summary = summarise_knowledge(run);
  if (!summary) return std::nullopt;
  const StoredBeliefs& beliefs = run.beliefs.back();
  const auto count = static_cast<Eigen::Index>(summary->first.size());
  Eigen::MatrixXd gains(beliefs.mean.size(), count);
  for (Eigen::Index i = 0; i < count; ++i) gains.col(i) = gains_of(beliefs, i);
  // Those that matter most in any of the directions, in the order of the policy.
  std::vector<std::size_t> shown(static_cast<std::size_t>(gains.rows()));
  std::iota(shown.begin(), shown.end(), 0);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(gains.rows());
  for (Eigen::Index i = 0; i < count; ++i) {
    weights += explained_by(beliefs, i) * gains.col(i).cwiseAbs2();
  }
  std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
    return weights(static_cast<Eigen::Index>(a)) > weights(static_cast<Eigen::Index>(b));
  });
  shown.resize(std::min(shown.size(), kShownGains));
  std::sort(shown.begin(), shown.end());

  Chart chart;
  chart.name = "knowledge-directions";
  chart.title = "The directions in which tasks differ";
  chart.note = fmt::format(
      "These tasks differ most in {}. Each column is a direction: how its gains change together, "
      "each in the unit in which a change of it alone can be told from the exploration noise; the "
      "squares of a column sum up to 1. The percentages say how much of all differences lies "
      "along it.",
      summary->first.front().words());
  if (shown.size() < static_cast<std::size_t>(gains.rows())) {
    chart.note +=
        fmt::format(" Shown are the {} of {} gains that matter most.", shown.size(), gains.rows());
  }
  chart.x_label = "direction";
  // Without their units, which these numbers do not have.
  const std::vector<std::string> names =
      describe(run.tasks.front().system).gain_names(run.features());
  ChartCells cells;
  for (std::size_t i = 0; i < summary->first.size(); ++i) {
    cells.columns.push_back(fmt::format("{} ({})", i + 1, percent(summary->first[i].explained)));
  }
  for (const std::size_t g : shown) {
    cells.rows.push_back(names[g]);
    cells.values.push_back(entries(gains.row(static_cast<Eigen::Index>(g)).transpose()));
  }
  chart.cells = std::move(cells);
  return chart;
}

std::optional<Chart> knowledge_tasks_chart(const RunDetails& details, long /*since*/) {
  const RunView& run = *details.run;
  const auto summary = summarise_knowledge(run);
  if (!summary) return std::nullopt;
  const StoredBeliefs& beliefs = run.beliefs.back();
  if (beliefs.directions.cols() < 2 || beliefs.places.cols() == 0) return std::nullopt;
  const std::vector<int> followed =
      followed_tasks(static_cast<long>(run.tasks.size()), beliefs.mean.size());
  const std::vector<long> visits = visits_until(run, beliefs.round);
  const auto spread = [](double a, double b, double c) {
    Eigen::MatrixXd matrix(2, 2);
    matrix << a, b, b, c;
    return Eigen::MatrixXd(kDeviations * kDeviations * matrix);
  };
  Chart chart;
  chart.name = "knowledge-tasks";
  chart.title = "Each task, and how sure that is";
  ChartPlane plane;
  for (std::size_t i = 0; i < 2; ++i) {
    plane.axes.push_back(axis_name(direction_name(*summary, i), summary->first[i]));
  }
  std::array<AxisRange, 2> ranges;
  const auto add_ellipse = [&](ChartEllipse ellipse) {
    for (std::size_t k = 0; k < 2; ++k) {
      const auto i = static_cast<Eigen::Index>(k);
      const double reach = std::sqrt(std::max(0.0, ellipse.spread(i, i)));
      ranges[k].add(ellipse.at[k] - reach);
      ranges[k].add(ellipse.at[k] + reach);
    }
    chart.ellipses.push_back(std::move(ellipse));
  };
  add_ellipse({.name = "any task",
               .legend = "a task that was never visited",
               .style = {.colour = Colour::green, .width = 1.8},
               .fill = 0.1,
               .at = {0, 0},
               .spread = spread(beliefs.variances(0), 0, beliefs.variances(1))});
  const auto count = std::min(static_cast<std::size_t>(beliefs.places.cols()), followed.size());
  std::size_t seen = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto t = static_cast<std::size_t>(followed[i]);
    if (visits[t] == 0) continue;
    const Eigen::VectorXd place = beliefs.places.col(static_cast<Eigen::Index>(i));
    const std::vector<double> at = six_digit_entries(place.head(2));
    add_ellipse({.name = details.tasks[t],
                 .legend = seen == 0 ? "what is believed of a task" : "",
                 .style = {.colour = Colour::blue, .width = 1, .opacity = 0.75},
                 .fill = std::min(0.12, 1.0 / static_cast<double>(2 * count)),
                 .at = at,
                 .spread = spread(place(2), place(3), place(4))});
    chart.marks.push_back({.name = fmt::format("{}, {} visit{}", details.tasks[t], visits[t],
                                               visits[t] == 1 ? "" : "s"),
                           .label = short_name(details.tasks[t]),
                           .legend = seen == 0 ? "its mean" : "",
                           .at = at});
    ++seen;
  }
  if (seen == 0) return std::nullopt;
  chart.note = fmt::format(
      "After round {}: ellipses are two standard deviations. A task that was never visited is "
      "expected in the large one, around the mean of all tasks, and what is known of the visited "
      "ones in the small ones. In units of the exploration noise.",
      beliefs.round);
  if (followed.size() < run.tasks.size()) {
    chart.note += fmt::format(" {} of {} tasks are followed.", followed.size(), run.tasks.size());
  }
  plane.view = {padded_view(ranges[0]), padded_view(ranges[1])};
  chart.plane = std::move(plane);
  place_labels(chart);
  return chart;
}

std::optional<Chart> knowledge_agreement_chart(const RunDetails& details, long since) {
  const RunView& run = *details.run;
  if (run.beliefs.empty()) return std::nullopt;
  Chart chart;
  chart.name = "knowledge-agreement";
  chart.title = "How far tasks agree on the way";
  const double trust = run.beliefs.back().trust_in_mean;
  const bool own = trust == 0 && std::all_of(run.rounds.begin(), run.rounds.end(),
                                             [](const StoredRound& r) { return r.agreement == 0; });
  chart.note =
      "w, the share of each round's step that all tasks take: the running mean of how far the "
      "steps "
      "of different tasks point the same way. ";
  chart.note += own ? "These tasks began with controllers of their own, so that no step is common."
                    : fmt::format(
                          "A task that was never visited goes {} of the way from its "
                          "anchor to the mean of all.",
                          percent(trust));
  chart.x_label = "round";
  chart.y_label = "agreement w";
  chart.rules = {{.value = 0, .style = {.colour = Colour::grey, .width = 1}},
                 {.value = 1, .style = {.colour = Colour::grey, .width = 1}}};
  ChartTable table{"", {"w"}};
  for (const std::size_t i :
       thinned(first_after(run.rounds, since), run.rounds.size(), kReportPoints)) {
    if (std::isnan(run.rounds[i].agreement)) continue;
    table.rounds.push_back(run.rounds[i].round);
    table.values.push_back({run.rounds[i].agreement});
  }
  chart.tables = {std::move(table)};
  chart.lines = {{.name = "w", .legend = "w", .style = {.colour = Colour::blue, .width = 2}}};
  return chart;
}

std::optional<Chart> knowledge_belief_chart(const RunDetails& details, std::size_t task,
                                            long /*since*/) {
  const RunView& run = *details.run;
  const auto summary = summarise_knowledge(run);
  if (!summary) return std::nullopt;
  const StoredBeliefs& beliefs = run.beliefs.back();
  const Eigen::VectorXd reading = beliefs.readings.col(0);
  ChartTable table{"", {"mean", "- 2 deviations", "+ 2 deviations"}};
  const auto add_row = [&](long visit, double mean, double variance) {
    const double reach = kDeviations * std::sqrt(std::max(0.0, variance));
    table.rounds.push_back(visit);
    table.values.push_back({six_digits(mean), six_digits(mean - reach), six_digits(mean + reach)});
  };
  for (const StoredTaskBelief& belief : run.task_beliefs) {
    if (belief.task != static_cast<int>(task)) continue;
    add_row(belief.visit, reading.dot(belief.mean - beliefs.mean),
            variance_along(belief.covariance, reading));
  }
  if (table.rounds.empty()) return std::nullopt;
  // What is believed now is later than the last visit that was stored.
  const std::vector<int> followed =
      followed_tasks(static_cast<long>(run.tasks.size()), beliefs.mean.size());
  const auto found = std::find(followed.begin(), followed.end(), static_cast<int>(task));
  const auto place = static_cast<Eigen::Index>(found - followed.begin());
  const long visits = visits_until(run, beliefs.round)[task];
  if (found != followed.end() && place < beliefs.places.cols() && visits > table.rounds.back()) {
    add_row(visits, beliefs.places(0, place), beliefs.places(2, place));
  }
  Chart chart;
  chart.name = "knowledge-belief";
  chart.title = fmt::format("What is believed of {}", details.tasks[task]);
  chart.note = fmt::format(
      "Its place along the first direction after each of its visits, with two standard deviations. "
      "{} 0 is the mean of all tasks now, and the broken lines are two deviations of tasks from "
      "it. Of many visits some are shown.",
      table.rounds.front() == 0
          ? "Visit 0 is the prior: what was expected of it before it was seen."
          : "Before it was seen nothing was known of tasks.");
  chart.x_label = "visit";
  chart.y_label = axis_name("direction 1", summary->first.front());
  const double reach = kDeviations * std::sqrt(beliefs.variances(0));
  const LineStyle limit{.colour = Colour::green, .dash = "7 4", .width = 1.4};
  chart.rules = {{.value = 0, .style = {.colour = Colour::grey, .width = 1}},
                 {.value = reach, .legend = "where tasks are expected", .style = limit},
                 {.value = -reach, .style = limit}};
  chart.tables = {std::move(table)};
  ChartLine line;
  line.name = details.tasks[task];
  line.legend = "what is believed";
  line.style = {.colour = Colour::blue, .width = 2};
  line.band = 1;
  chart.lines = {std::move(line)};
  chart.rules.push_back({.value = six_digits(reading.dot(
                             run.policies.col(static_cast<Eigen::Index>(task)) - beliefs.mean)),
                         .legend = "its policy now",
                         .style = {.colour = Colour::orange, .dash = "1 4", .width = 2}});
  return chart;
}

}  // namespace lifeguard
