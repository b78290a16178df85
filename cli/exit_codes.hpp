#pragma once

namespace lifeguard {

/// What scripts can rely on. A pipe whose reader has gone away is no error: the work is done and
/// the code says how it ended.
enum ExitCode {
  kDone = 0,
  kFailed = 1,        // something went wrong while running; a damaged run file, for example
  kInvalidInput = 2,  // the command line, or a file named on it, is not what the command takes
  kStopped = 3,       // stopped by a signal; `lifeguard resume` or the same command goes on
  kUnsafe = 4,        // `lifeguard check` found something that does not hold
  kDiskFull = 5,      // no room for a file or for standard output; nothing that was there is lost
};

/// Thrown by a command that ends with a code of its own, after it has said why.
struct Exit {
  int code;
};

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 done, 1 something went wrong while running, 2 the command line or a file named\n"
    "on it is not valid, 3 stopped by a signal (resume, or the same command, goes on), 4 check "
    "found\n"
    "something that does not hold, 5 the disk is full.";

}  // namespace lifeguard
