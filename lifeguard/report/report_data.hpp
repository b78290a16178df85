#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lifeguard/report/chart.hpp"

namespace lifeguard {

struct RunView;

/// All that the report, the live page and the figures show of some runs, as JSON; docs/report.md
/// describes it. Runs with the same experiment name are one experiment; in it every method has
/// medians and quantiles over its seeds, and its first seed is described in detail.
///
/// Everything over rounds is in the tables of the charts; a long one is thinned to kReportPoints,
/// the first and the last row always among them. With `since` >= 0 they hold only what came after
/// that round, and what no round changes is left out: whoever has the report up to `since` adds the
/// rows and replaces the rest.
nlohmann::ordered_json report_data(const std::vector<std::filesystem::path>& runs, long since = -1);
nlohmann::ordered_json report_of(const std::vector<const RunView*>& runs, long since = -1);

/// The charts of one experiment; report_data has the same.
struct ExperimentCharts {
  std::string name;
  std::vector<Chart> charts;
  std::map<std::string, int> worst_tasks;  // by Chart::run: the task of the least margin
};

std::vector<ExperimentCharts> report_charts(const std::vector<std::filesystem::path>& runs);

inline constexpr int kReportPoints = 600;

}  // namespace lifeguard
