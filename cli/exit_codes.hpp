#pragma once

namespace lifeguard {

/// What scripts can rely on.
enum ExitCode {
  kDone = 0,
  kFailed = 1,        // something went wrong while running
  kInvalidInput = 2,  // the command line, a configuration or a problem file was not valid
  kStopped = 3,       // stopped by a signal; `lifeguard resume` goes on
  kUnsafe = 4,        // `lifeguard check` found something that does not hold
};

/// Thrown by a command that ends with a code of its own, after it has said why.
struct Exit {
  int code;
};

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 done, 1 something went wrong while running, 2 the input was not valid,\n"
    "3 stopped by a signal (resume goes on), 4 check found something that does not hold.";

}  // namespace lifeguard
