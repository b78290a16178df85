#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>

namespace lifeguard {
namespace {

std::atomic<bool> stop{false};

extern "C" void request_stop(int signal) {
  stop = true;
  std::signal(signal, SIG_DFL);
}

std::string duration(double seconds) {
  const long s = std::max(0L, std::lround(seconds));
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

Progress::Progress(long total, bool quiet)
    : total_(std::max(1L, total)), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

bool Progress::due(long done) const {
  if (quiet_) return false;
  if (terminal_) return Clock::now() - last_ > std::chrono::milliseconds(100) || done == total_;
  return static_cast<int>(10 * done / total_) != last_tenth_;
}

void Progress::update(long done, const std::string& detail) {
  if (first_ < 0) first_ = done - 1;
  if (!due(done)) return;
  last_ = Clock::now();
  last_tenth_ = static_cast<int>(10 * done / total_);
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const double left = elapsed * static_cast<double>(total_ - done) /
                      static_cast<double>(std::max(1L, done - first_));
  if (terminal_) {
    constexpr int kWidth = 24;
    const int filled = static_cast<int>(kWidth * done / total_);
    fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{}  {}  {} left", "", filled, "",
               kWidth - filled, done, total_, detail, duration(left));
  } else {
    fmt::print(stderr, "{}/{}  {}  {} left\n", done, total_, detail, duration(left));
  }
  std::fflush(stderr);
}

void Progress::finish() {
  if (!quiet_ && terminal_) fmt::print(stderr, "\n");
}

void watch_for_stop() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
}

bool stop_requested() { return stop; }

}  // namespace lifeguard
