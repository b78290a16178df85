#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/config.hpp"

namespace lifeguard {

class Run;
struct RoundOutcome;

/// How playing ended.
enum class RunStatus { finished, stopped };

/// How to watch a run while it is played.
struct RunOptions {
  /// Told what a user should know before the first round, e.g. of first policies that had to be
  /// replaced.
  std::function<void(const std::string&)> warn = {};
  /// Called after every round; false stops the run after it, ready to resume.
  std::function<bool(const Run&, const RoundOutcome&)> after_round = {};
  /// A commit is made when so much time has passed since the last one, and at the end. 0 commits
  /// every round. Decides nothing but how much is played again after a crash.
  double commit_seconds = 0.25;
  /// Told and asked where after_round() is not: while the run is set up, and inside long rounds.
  LongWork work = {};
};

/// Plays a run into a new file, or goes on with one that was left unfinished. Throws Stopped if
/// `work` asks for it: rounds since the last commit are then played again by resume_run(), and
/// there is no file if the run was not yet set up.
RunStatus start_run(const ExperimentConfig& config, const std::filesystem::path& path,
                    const RunOptions& options = {});
RunStatus resume_run(const std::filesystem::path& path, const RunOptions& options = {});

}  // namespace lifeguard
