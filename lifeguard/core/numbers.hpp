#pragma once

#include <limits>

namespace lifeguard {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// u = 2⁻⁵³: a rounded result is off by at most this part of it.
inline constexpr double kUnitRoundoff = 0x1p-53;

}  // namespace lifeguard
