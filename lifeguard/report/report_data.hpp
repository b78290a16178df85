#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace lifeguard {

struct RunSnapshot;

/// All that the report, the live page and the figures show of some runs, as JSON; docs/report.md
/// describes it. Runs with the same experiment name are one experiment; in it every method has
/// means and 95 % intervals over its seeds, and its first seed is described in detail.
///
/// Every curve is an object with "rounds" and further arrays of the same length; a long one is
/// thinned to kReportPoints, the first and the last point always among them. With `since` >= 0 the
/// curves hold only what came after that round, and what no round changes is left out: whoever has
/// the report up to `since` appends the curves and replaces the rest.
nlohmann::ordered_json report_data(const std::vector<std::filesystem::path>& runs, long since = -1);
nlohmann::ordered_json report_of(const std::vector<const RunSnapshot*>& runs, long since = -1);

inline constexpr int kReportPoints = 600;

}  // namespace lifeguard
