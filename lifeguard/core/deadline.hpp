#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

namespace lifeguard {

/// A moment at which work should end. By default there is none, and then no clock is ever read:
/// what is computed without a deadline is the same on every machine.
class Deadline {
 public:
  Deadline() = default;

  /// None for a time too long to matter, infinity included.
  static Deadline after(double seconds) {
    Deadline deadline;
    constexpr double kYears = 1e9;
    if (seconds < kYears) {
      deadline.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(seconds));
    }
    return deadline;
  }

  /// Never true without a deadline.
  bool passed() const { return end_ && Clock::now() >= *end_; }
  /// Infinity without a deadline, never below 0.
  double seconds_left() const {
    if (!end_) return std::numeric_limits<double>::infinity();
    return std::max(0.0, std::chrono::duration<double>(*end_ - Clock::now()).count());
  }

  /// Thrown by check(), for whoever began the work to turn into a status.
  struct Passed {};
  /// Throws Passed if it has.
  void check() const {
    if (passed()) throw Passed{};
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> end_;
};

}  // namespace lifeguard
