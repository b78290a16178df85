#include "cli/stop.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"

namespace lifeguard {
namespace {

struct Ending {
  std::atomic<bool> requested = false;
  std::mutex mutex;
  std::atomic<int> exit_code = kStopped;
  std::function<std::string()> how_to_go_on = [] { return std::string("nothing was written"); };
  bool said = false;
};

/// Never destroyed: the watching thread lives until the very end.
Ending& ending() {
  static auto* const one = new Ending;
  return *one;
}

std::string stopped_message(const std::string& how_to_go_on) {
  return how_to_go_on.empty() ? "" : "lifeguard: stopped; " + how_to_go_on;
}

/// Whatever the other threads are doing, and whichever locks they hold.
[[noreturn]] void end_at_once() {
  Ending& end = ending();
  if (end.mutex.try_lock() && !end.said) {
    const std::string message = stopped_message(end.how_to_go_on());
    if (!message.empty()) write_last_message(message);
  }
  _exit(end.exit_code);
}

void watch(const sigset_t& signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  ending().requested = true;
  const timespec grace{kGraceMilliseconds / 1000, kGraceMilliseconds % 1000 * 1000000L};
  sigtimedwait(&signals, nullptr, &grace);
  end_at_once();
}

}  // namespace

void watch_for_stop() {
  static bool watching = false;
  if (watching) return;
  watching = true;
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    // nohup says that a closed terminal is to mean nothing. A shell says the same of Ctrl-C for
    // what it starts in the background, but who sends that signal by hand means it.
    if (signal == SIGHUP && before.sa_handler == SIG_IGN) continue;
    std::signal(signal, SIG_DFL);
    sigaddset(&signals, signal);
  }
  // Every thread inherits that these wait for the one that watches.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(watch, signals).detach();
}

bool stop_requested() { return ending().requested; }

StopToken stop_token() { return StopToken(stop_requested); }

void when_stopped(int exit_code, std::function<std::string()> how_to_go_on) {
  Ending& end = ending();
  const std::lock_guard lock(end.mutex);
  end.exit_code = exit_code;
  end.how_to_go_on = std::move(how_to_go_on);
}

int end_stopped() {
  Ending& end = ending();
  const std::lock_guard lock(end.mutex);
  const std::string message = stopped_message(end.how_to_go_on());
  if (!end.said && !message.empty()) write_message(message);
  end.said = true;
  return end.exit_code;
}

}  // namespace lifeguard
