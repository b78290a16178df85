#pragma once

#include <chrono>
#include <string>

namespace lifeguard {

/// Shows how far a run is, on standard error: one line that is written over on a terminal, a plain
/// line now and then elsewhere.
class Progress {
 public:
  /// `quiet` shows nothing.
  Progress(long total, bool quiet);

  /// `done` of the total; `detail` is shown beside it. Cheap when nothing is due.
  void update(long done, const std::string& detail);
  bool due(long done) const;
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  long total_;
  long first_ = -1;  // what was done before this process began
  bool quiet_;
  bool terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = Clock::now() - std::chrono::hours(1);
  int last_tenth_ = -1;
};

/// Ctrl-C and a request to terminate set this; whoever runs rounds looks at it after each. A second
/// one ends the process at once.
void watch_for_stop();
bool stop_requested();

}  // namespace lifeguard
