#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/stop.hpp"

namespace lifeguard {

/// Shows how far something is, on standard error: one line that is written over on a terminal, a
/// plain line for every tenth elsewhere. Whatever takes long gives a sign of life, also when nobody
/// reports anything: on a terminal the clock goes on, elsewhere there is a line every ten seconds
/// or so. Safe to use from any number of threads.
class Progress {
 public:
  /// `quiet` shows nothing.
  explicit Progress(bool quiet);
  ~Progress();

  /// `done` of the total; `detail` is shown beside it. Cheap when nothing is due.
  void update(long done, long total, std::string_view detail);
  bool due(long done, long total) const;
  /// The same for work that is usually over at once: shown if it takes longer than a second.
  void prepare(std::string_view what, long done, long total);
  /// For the library: update() for the work that is called `counted`, prepare() for all other.
  LongWork work(std::string_view counted = "");
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  /// One kind of work.
  struct Track {
    std::string detail = "starting";
    long done = 0;
    long total = 1;
    long first = 0;  // what was done before this began
    Clock::time_point begin = Clock::now();
  };
  bool due_now(long done, long total) const;
  void show(const Track& track);
  void beat();

  const bool quiet_;
  const bool terminal_;
  mutable std::mutex mutex_;
  Track counted_;
  Track prepared_;
  const Track* current_ = &prepared_;
  bool counting_ = false;  // update() was called
  int last_tenth_ = -1;
  Clock::time_point shown_ = Clock::now();
  Clock::duration silence_ = std::chrono::seconds(1);  // after which there is a sign of life
  bool finished_ = false;
  std::condition_variable end_;
  std::thread heart_;
};

}  // namespace lifeguard
