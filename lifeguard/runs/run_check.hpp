#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lifeguard {

/// What an independent look at a run file found.
struct RunCheck {
  std::string method;
  long rounds = 0;
  long policies = 0;  // that were played and checked
  long lemmas = 0;    // rounds whose measured quantities were held against the theorem's bounds
  bool certificate_checked = false;
  bool replayed = false;
  /// Empty means: all that was checked holds, exactly. One line for each finding.
  std::vector<std::string> findings;
};

/// Reads a run file from the first byte to the last: SQLite's own integrity check; every policy
/// that was ever played, against its task's constraints in exact arithmetic (checker.hpp); rounds
/// without gaps; the quantities that the regret theorem bounds, against their bounds; and the last
/// certificate against the stored learner. With `replay`, the run is
/// played again and every stored number must come out the same to the bit.
RunCheck check_run(const std::filesystem::path& path, bool replay = false);

}  // namespace lifeguard
