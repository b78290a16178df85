#pragma once

#include <string>
#include <string_view>

#include "lifeguard/runs/statistics.hpp"

namespace lifeguard {

/// "3.05", `infinite` for infinity and "–" for what is not a number.
std::string number_text(double value, int digits = 3, std::string_view infinite = "never");

/// "17 (15 to 20)": the median with its interval, which fewer than six seeds do not have.
std::string median_text(const OverSeeds& value, int digits = 3,
                        std::string_view infinite = "never");

}  // namespace lifeguard
