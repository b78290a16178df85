#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace lifeguard::test_support {

/// √n D of Kolmogorov and Smirnov against a continuous distribution function. A sample that follows
/// it exceeds 1.95 once in a thousand times.
template <class Distribution>
double kolmogorov_smirnov(std::vector<double> sample, const Distribution& distribution) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double expected = distribution(sample[i]);
    const double below = static_cast<double>(i) / n;
    distance = std::max({distance, expected - below, below + 1 / n - expected});
  }
  return std::sqrt(n) * distance;
}

inline double standard_normal_distribution(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

/// √n times the sample correlation: a standard normal number if the two are independent.
inline double scaled_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  double sum_a = 0, sum_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum_a += a[i];
    sum_b += b[i];
  }
  double aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double da = a[i] - sum_a / n, db = b[i] - sum_b / n;
    aa += da * da;
    bb += db * db;
    ab += da * db;
  }
  return std::sqrt(n) * ab / std::sqrt(aa * bb);
}

}  // namespace lifeguard::test_support
