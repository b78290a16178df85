#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/output.hpp"

namespace lifeguard {
namespace {

using std::chrono::milliseconds;

std::string duration(double elapsed) {
  const long s = std::max(0L, std::lround(std::min(elapsed, 1e9)));
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

bool is_terminal() {
  const char* name = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && name != nullptr && std::string_view(name) != "dumb" &&
         *name != '\0';
}

/// What fits into one line of the terminal, which may have changed its size.
std::string fitting(const std::string& line) {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return line.substr(0, known ? static_cast<std::size_t>(size.ws_col - 1) : 79U);
}

int tenth(long done, long total) {
  return static_cast<int>(10 * static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(is_terminal()) {
  if (!quiet_) heart_ = std::thread([this] { beat(); });
}

Progress::~Progress() { finish(); }

void Progress::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  end_.notify_all();
  if (heart_.joinable()) heart_.join();
  if (!quiet_ && terminal_) end_moving_line();
}

/// Shows the last known state whenever nothing else was shown for a while.
void Progress::beat() {
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, milliseconds(200), [this] { return finished_; })) {
    if (Clock::now() - shown_ >= silence_ && !stop_requested()) show(*current_);
  }
}

bool Progress::due_now(long done, long total) const {
  if (terminal_) return Clock::now() - shown_ > milliseconds(100) || done == total;
  return tenth(done, total) != last_tenth_;
}

bool Progress::due(long done, long total) const {
  const std::lock_guard lock(mutex_);
  return !quiet_ && due_now(done, std::max(1L, total));
}

void Progress::update(long done, long total, std::string_view detail) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  if (!counting_ || done < counted_.done) {
    counted_ = Track();
    counted_.first = done - 1;
    last_tenth_ = -1;
  }
  counting_ = true;
  current_ = &counted_;
  counted_.detail = detail;
  counted_.done = done;
  counted_.total = std::max(1L, total);
  if (!due_now(done, counted_.total)) return;
  last_tenth_ = tenth(done, counted_.total);
  show(counted_);
}

void Progress::prepare(std::string_view what, long done, long total) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  if (prepared_.detail != what || done < prepared_.done) {
    prepared_ = Track();
    prepared_.detail = what;
    prepared_.first = done;
    silence_ = std::chrono::seconds(1);
  }
  current_ = &prepared_;
  prepared_.done = done;
  prepared_.total = std::max(1L, total);
}

LongWork Progress::work(std::string_view counted) {
  return {stop_token(),
          [this, counted = std::string(counted)](std::string_view what, long done, long total) {
            if (what == counted) {
              update(done, total, what);
            } else {
              prepare(what, done, total);
            }
          }};
}

void Progress::show(const Track& track) {
  const double elapsed = std::chrono::duration<double>(Clock::now() - track.begin).count();
  const auto done = static_cast<double>(track.done);
  const auto total = static_cast<double>(track.total);
  const auto since = static_cast<double>(track.done - track.first);
  // Right at the beginning nobody knows.
  const bool known = since > 0 && (elapsed > 0.5 || track.done == track.total);
  const std::string time =
      known ? duration(elapsed * (total - done) / since) + " left" : duration(elapsed);
  const std::string line =
      fmt::format("{}/{}  {}  {}", track.done, track.total, track.detail, time);
  if (terminal_) {
    constexpr int kWidth = 24;
    const int filled = std::clamp(static_cast<int>(kWidth * done / total), 0, kWidth);
    show_moving_line(
        fitting(fmt::format("[{:#<{}}{:.<{}}] {}", "", filled, "", kWidth - filled, line)));
    silence_ = milliseconds(200);
  } else {
    write_message(line);
    silence_ =
        std::max<Clock::duration>(std::chrono::seconds(10), (Clock::now() - track.begin) / 10);
  }
  shown_ = Clock::now();
}

}  // namespace lifeguard
