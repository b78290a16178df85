#pragma once

#include <algorithm>
#include <cmath>

namespace lifeguard {

/// All numbers from low to high. Arithmetic gives all that can come out, up to rounding: an
/// expression in which every variable stands once is exact, others are too wide.
struct Interval {
  double low = 0;
  double high = 0;

  Interval() = default;
  Interval(double value) : low(value), high(value) {}  // NOLINT: a number is an interval
  Interval(double l, double h) : low(l), high(h) {}

  double centre() const { return 0.5 * (low + high); }
  double radius() const { return 0.5 * (high - low); }
  double magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }
  bool contains(double value) const { return low <= value && value <= high; }
};

inline Interval operator+(const Interval& x, const Interval& y) {
  return {x.low + y.low, x.high + y.high};
}
inline Interval operator-(const Interval& x) { return {-x.high, -x.low}; }
inline Interval operator-(const Interval& x, const Interval& y) { return x + -y; }
inline Interval operator*(const Interval& x, const Interval& y) {
  const auto [low, high] =
      std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
  return {low, high};
}
/// 0 must not lie in y.
inline Interval operator/(const Interval& x, const Interval& y) {
  return x * Interval(1 / y.high, 1 / y.low);
}
/// For x ≥ 0.
inline Interval sqrt(const Interval& x) { return {std::sqrt(x.low), std::sqrt(x.high)}; }
/// The smallest interval that holds both.
inline Interval hull(const Interval& x, const Interval& y) {
  return {std::min(x.low, y.low), std::max(x.high, y.high)};
}

}  // namespace lifeguard
