#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <vector>

namespace lifeguard {

inline double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The best time of each body, taken in turns so that a slow moment of the machine hits all of
/// them.
inline std::vector<double> best_in_turns(const std::vector<std::function<void()>>& bodies,
                                         int repeats) {
  std::vector<double> best(bodies.size(), std::numeric_limits<double>::infinity());
  for (int r = 0; r < repeats; ++r) {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      best[b] = std::min(best[b], seconds_of(bodies[b]));
    }
  }
  return best;
}

}  // namespace lifeguard
