#include "lifeguard/report/incident_charts.hpp"

#include <algorithm>
#include <limits>

#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/statistics.hpp"

namespace lifeguard {
namespace {

constexpr int kFirstSchemaWithIncidents = 4;

using Incident = int StoredRound::*;

/// Up to and with each round that all runs of a method have; one row for each run.
std::vector<std::vector<double>> cumulated(const MethodRuns& method, Incident incident) {
  std::size_t rounds = method.runs.front()->rounds.size();
  for (const RunView* run : method.runs) rounds = std::min(rounds, run->rounds.size());
  std::vector<std::vector<double>> sums;
  for (const RunView* run : method.runs) {
    std::vector<double>& of_run = sums.emplace_back();
    double sum = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
      sum += run->rounds[i].*incident;
      of_run.push_back(sum);
    }
  }
  return sums;
}

bool counts_incidents(const MethodRuns& method) {
  return std::all_of(method.runs.begin(), method.runs.end(), [](const RunView* run) {
    return run->header.schema_version >= kFirstSchemaWithIncidents && !run->rounds.empty();
  });
}

/// Whether there were some up to a round.
bool some_until(const ChartSource& source, Incident incident, long last) {
  for (const MethodRuns& method : source.methods) {
    for (const RunView* run : method.runs) {
      for (const StoredRound& round : run->rounds) {
        if (round.round <= last && round.*incident > 0) return true;
      }
    }
  }
  return false;
}

std::optional<Chart> incidents_chart(const ChartSource& source, Incident incident, long since,
                                     Chart chart) {
  chart.note +=
      " Exploration noise included; summed over the rounds: the median of the seeds, in a band "
      "from their 10 % to their 90 % quantile.";
  chart.x_label = "round";
  chart.y_label = "trajectories up to a round";
  for (std::size_t m = 0; m < source.methods.size(); ++m) {
    const MethodRuns& method = source.methods[m];
    if (!counts_incidents(method)) continue;
    const auto sums = cumulated(method, incident);
    const std::vector<StoredRound>& rounds = method.runs.front()->rounds;
    chart.lines.push_back(method_line(source, m, chart.tables.size()));
    ChartTable table{method.name, kOverSeedsHeads};
    std::size_t first = 0;
    while (first < sums.front().size() && rounds[first].round <= since) ++first;
    for (const std::size_t i : thinned(first, sums.front().size(), kReportPoints)) {
      std::vector<double> of_runs;
      for (const auto& of_run : sums) of_runs.push_back(of_run[i]);
      table.rounds.push_back(rounds[i].round);
      table.values.push_back(over_seeds_row(over_seeds(of_runs)));
    }
    chart.tables.push_back(std::move(table));
  }
  if (chart.lines.empty()) return std::nullopt;
  return chart;
}

/// One that is there only if there is something to see. Whoever has the report up to a round before
/// that gets all of it.
std::optional<Chart> incidents_if_any(const ChartSource& source, Incident incident, Chart chart) {
  if (!some_until(source, incident, std::numeric_limits<long>::max())) return std::nullopt;
  const long since = some_until(source, incident, source.since) ? source.since : -1;
  return incidents_chart(source, incident, since, std::move(chart));
}

}  // namespace

std::optional<Chart> falls_chart(const ChartSource& source) {
  return incidents_chart(
      source, &StoredRound::falls, source.since,
      {.name = "falls",
       .title = "Falls against rounds",
       .note = "Trajectories in which the machine left its failure bounds or diverged."});
}

std::optional<Chart> violations_chart(const ChartSource& source) {
  return incidents_if_any(source, &StoredRound::violations,
                          {.name = "violations",
                           .title = "Violations of state limits against rounds",
                           .note = "Trajectories in which a state left its limits, falls among "
                                   "them."});
}

std::optional<Chart> saturations_chart(const ChartSource& source) {
  return incidents_if_any(source, &StoredRound::saturations,
                          {.name = "saturations",
                           .title = "Saturated actions against rounds",
                           .note = "Trajectories in which an action was cut off at its limit."});
}

}  // namespace lifeguard
