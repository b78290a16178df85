#include "cli/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.hpp"
#include "lifeguard/runs/output_file.hpp"

namespace lifeguard {
namespace {

/// Nobody waits longer for a standard error that takes no more.
constexpr int kPatienceMilliseconds = 1000;

struct Streams {
  std::mutex mutex;
  std::string output;                   // not yet written
  int lost = 0;                         // the errno of the first failure to write it
  std::atomic<bool> line_open = false;  // a moving line is shown
};

/// Never destroyed: threads may write until the very end.
Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

/// All of it, or an errno. A stream that does not block is waited for: forever if `patience` is
/// -1.
int write_all(int stream, std::string_view text, int patience) {
  while (!text.empty()) {
    const ssize_t count = write(stream, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd wait{stream, POLLOUT, 0};
      if (poll(&wait, 1, patience) == 0) return EAGAIN;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

void write_pending(Streams& s) {
  if (s.lost == 0) s.lost = write_all(STDOUT_FILENO, s.output, -1);
  s.output.clear();
}

}  // namespace

void reserve_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is given, which is this one. Opened the wrong way round, so that using
    // it is still an error.
    const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != stream) _exit(kFailed);
  }
}

void write_output(std::string_view text) {
  constexpr std::size_t kBuffer = std::size_t{1} << 16;
  Streams& s = streams();
  const std::lock_guard lock(s.mutex);
  s.output += text;
  // Who looks on sees it as it comes.
  static const bool terminal = isatty(STDOUT_FILENO) != 0;
  if (terminal || s.output.size() >= kBuffer) write_pending(s);
}

void print_json(const nlohmann::ordered_json& json, int indent) {
  write_output(json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  write_output("\n");
}

void flush_output() {
  Streams& s = streams();
  const std::lock_guard lock(s.mutex);
  write_pending(s);
}

int finish_output(int code) {
  flush_output();
  int lost = streams().lost;
  // A file on another computer may say only now that there was no room.
  if (lost == 0 && close(STDOUT_FILENO) != 0 && errno != EBADF) lost = errno;
  if (lost == 0 || lost == EPIPE) return code;
  say("lifeguard: standard output cannot be written: {}; what was printed is lost",
      std::strerror(lost));
  if (code != kDone) return code;
  return means_disk_full(lost) ? kDiskFull : kFailed;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 4000;
  std::string result;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < ' ' && c != '\n' && c != '\t') || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  if (text.size() > kMost) result += " ...";
  return result;
}

void write_message(std::string_view text) {
  Streams& s = streams();
  const std::lock_guard lock(s.mutex);
  const std::string line = (s.line_open ? "\n" : "") + printable(text) + "\n";
  s.line_open = false;
  write_all(STDERR_FILENO, line, kPatienceMilliseconds);
}

void write_last_message(std::string_view text) {
  // Others may hold the lock and wait forever.
  const std::string line = (streams().line_open ? "\n" : "") + printable(text) + "\n";
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void show_moving_line(std::string_view text) {
  Streams& s = streams();
  const std::lock_guard lock(s.mutex);
  s.line_open = true;
  write_all(STDERR_FILENO, fmt::format("\r\033[K{}", text), kPatienceMilliseconds);
}

void end_moving_line() {
  Streams& s = streams();
  const std::lock_guard lock(s.mutex);
  if (s.line_open) write_all(STDERR_FILENO, "\n", kPatienceMilliseconds);
  s.line_open = false;
}

}  // namespace lifeguard
