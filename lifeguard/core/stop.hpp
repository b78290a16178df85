#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace lifeguard {

/// Thrown out of work that was asked to stop before it was done. No std::exception, so that whoever
/// catches errors does not take it for one.
struct Stopped {};

/// Whether work that may take long is to stop; long loops ask it as often as they can. Never,
/// unless a question is given.
class StopToken {
 public:
  StopToken() = default;
  /// `asked` may be called from any thread that works.
  explicit StopToken(std::function<bool()> asked) : asked_(std::move(asked)) {}

  /// Asks; the second throws Stopped if so.
  bool stop_requested() const { return asked_ && asked_(); }
  void throw_if_requested() const {
    if (stop_requested()) throw Stopped{};
  }

 private:
  std::function<bool()> asked_;
};

/// How work that may take long talks with whoever waits for it: it tells how far it is, and asks
/// whether to go on.
struct LongWork {
  StopToken stop = {};
  /// What is being done, and how much of it is done of how much: ("drawing tasks", 17, 100000).
  std::function<void(std::string_view what, long done, long total)> tell = {};

  /// Tells, and throws Stopped if that is asked for.
  void step(std::string_view what, long done, long total) const {
    stop.throw_if_requested();
    if (tell) tell(what, done, total);
  }
};

/// A moment at which work should end, or somebody who may ask for its end before. By default there
/// is neither, and then no clock is ever read: what is computed without a deadline is the same on
/// every machine.
class Deadline {
 public:
  Deadline() = default;

  /// No moment for a time too long to matter, infinity included.
  static Deadline after(double seconds, StopToken stop = {}) {
    Deadline deadline;
    deadline.stop_ = std::move(stop);
    constexpr double kYears = 1e9;
    if (seconds < kYears) {
      deadline.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(seconds));
    }
    return deadline;
  }

  /// Never true without a deadline.
  bool passed() const { return stop_.stop_requested() || (end_ && Clock::now() >= *end_); }
  /// Whether somebody asked for the end.
  bool stop_requested() const { return stop_.stop_requested(); }
  /// The moment alone: for another process, which nobody can ask.
  Deadline without_stop() const {
    Deadline moment = *this;
    moment.stop_ = {};
    return moment;
  }
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
  StopToken stop_;
};

}  // namespace lifeguard
