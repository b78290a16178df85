#pragma once

#include <functional>
#include <string>

#include "lifeguard/core/stop.hpp"

namespace lifeguard {

/// From here on Ctrl-C, a closed terminal and a request to terminate ask the program to stop.
/// Whoever works looks at stop_requested() and ends in good order. What does not end within
/// kGraceMilliseconds, and everything after a second signal, is ended at once: run files and other
/// output are whole at any moment, so nothing but the work since the last commit is lost. To be
/// called before there is any other thread; a second call changes nothing.
void watch_for_stop();
inline constexpr int kGraceMilliseconds = 600;

bool stop_requested();
/// stop_requested() for the library's long work.
StopToken stop_token();

/// How the command ends if it is stopped: with which exit code, and what is said about going on,
/// asked at that moment and perhaps from another thread. Nothing is said if that is empty.
void when_stopped(int exit_code, std::function<std::string()> how_to_go_on);
/// Says that and returns the exit code.
int end_stopped();

}  // namespace lifeguard
