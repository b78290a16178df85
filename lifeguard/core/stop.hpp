#pragma once

#include <functional>
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

}  // namespace lifeguard
