#pragma once

#include <algorithm>
#include <cmath>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/report/chart.hpp"
#include "lifeguard/report/report_run.hpp"

namespace lifeguard {

/// From the least to the largest of the numbers that were added.
struct AxisRange {
  double low = kInfinity;
  double high = -kInfinity;
  /// What is not finite is left out.
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double size() const { return high > low ? high - low : std::max(0.1 * std::abs(low), 1e-9); }
  AxisRange widened(double share) const { return {low - share * size(), high + share * size()}; }
};

/// What is seen of an axis: all of a range, with some room.
inline Point2 padded_view(const AxisRange& range) {
  if (range.low > range.high) return {-1, 1};  // nothing finite
  const AxisRange view = range.widened(0.08);
  return {six_digits(view.low), six_digits(view.high)};
}

}  // namespace lifeguard
