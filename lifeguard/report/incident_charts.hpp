#pragma once

#include <optional>

#include "lifeguard/report/charts.hpp"

namespace lifeguard {

/// In how many trajectories of each method, up to a round, something happened that a safe machine
/// never does: it fell, left its state limits, or an action was cut off at its limit. Falls are
/// shown also if there are none; the others once there are some. Runs of files that did not count
/// them have none of these charts.
std::optional<Chart> falls_chart(const ChartSource& source);
std::optional<Chart> violations_chart(const ChartSource& source);
std::optional<Chart> saturations_chart(const ChartSource& source);

}  // namespace lifeguard
