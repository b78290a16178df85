#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lifeguard/report/chart.hpp"

namespace lifeguard {

/// Charts as a page gets them; docs/report.md describes it. What is empty is left out, and, unless
/// the `whole` is wanted, what no round changes.
nlohmann::ordered_json charts_to_json(const std::vector<Chart>& charts, bool whole = true);

/// {"blue": {"light": "#…", "dark": "#…"}, …}
nlohmann::ordered_json palette_to_json();

}  // namespace lifeguard
