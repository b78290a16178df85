#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {

/// What an independent look at a run file found.
struct RunCheck {
  std::string method;
  long rounds = 0;
  long issues = 0;       // policies that were handed out to machines outside
  long policies = 0;     // that were played or are the last ones, and were checked
  long evaluations = 0;  // that were held against policies evaluated again
  long bounds = 0;       // rounds in which the regret was held against the theorem's bound
  long lemmas = 0;       // rounds whose measured quantities were held against the theorem's bounds
  bool checksums_checked = false;
  bool certificate_checked = false;
  bool replayed = false;
  /// What was not looked at, and why: only a program that knows a run's system can play it.
  std::string not_checked;
  /// Empty means: all that was checked holds, exactly. One line for each finding.
  std::vector<std::string> findings;
};

struct CheckOptions {
  /// Play the run again: every stored number but the times must come out the same to the bit.
  bool replay = false;
  /// Without, what is found does not depend on checksums; for tests.
  Checksums checksums = Checksums::verify;
  /// Told and asked while it goes on; check_run then throws Stopped.
  LongWork work = {};
};

/// Reads a run file from the first byte to the last and believes nothing of it:
///  - SQLite's own integrity check, and the checksums of header, rounds, times and state;
///  - the tables themselves: those of a run, as a run makes them, and nothing else;
///  - type, length and range of every value;
///  - experiment, tasks, safe sets, first policies and settings, against what the configuration and
///    the seed give when drawn again;
///  - that every round, evaluation, certificate, regret and lemma that must be there is there, in
///    its place, and nothing else;
///  - every policy that was played, and the last ones, against their constraints in exact
///    arithmetic (check_policy);
///  - that no anchor had to stand in for a policy (StoredRound::fallbacks);
///  - margins, worst rows, spectra and counts of unsafe policies, against each other, and against
///    the policies where those are stored;
///  - evaluations, by evaluating again, for the policies that are stored;
///  - the regret against the theorem's bound (docs/theorem.md), the bound against its terms, and
///  the
///    quantities of the paper's lemmas against their bounds;
///  - the last certificate and the last policies, against the stored learner.
/// A file that is not a run at all throws RunFileError; whatever is wrong with a run is a finding.
/// Of a run whose system is not registered here all is checked that needs nobody to play it, and
/// `not_checked` says what that leaves out. To play it again, and a file before schema 8, which
/// does not say what its system is, throw UnknownSystem where nothing is found wrong.
RunCheck check_run(const std::filesystem::path& path, const CheckOptions& options);
RunCheck check_run(const std::filesystem::path& path, bool replay = false);

}  // namespace lifeguard
