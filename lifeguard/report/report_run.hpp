#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {

/// What a run file held at one moment: nothing in it is later than header.rounds_done.
struct RunSnapshot {
  explicit RunSnapshot(const RunReader& reader);
  /// Reads what was added to the same run since the last time.
  void read_on(const RunReader& reader);

  std::string file;
  RunHeader header;
  std::vector<StoredRound> rounds;
  std::vector<StoredEvaluation> evaluations;
  std::vector<StoredRegret> regrets;
  std::vector<StoredCertificate> certificates;
  std::string state;
};

/// Adds the details of one run to its entry in the report: tasks with safe sets, paths and
/// animations, margins, spectrum and coefficients. `since` as in report_data.
void describe_run(const RunSnapshot& run, long since, nlohmann::ordered_json& entry);

/// Which of the points `first` … `count` - 1 of a curve are kept: all, or evenly spread ones with
/// both ends.
std::vector<std::size_t> thinned(std::size_t first, std::size_t count, std::size_t limit);

/// The first of rows ordered by .round that comes after `since`.
template <typename Row>
std::size_t first_after(const std::vector<Row>& rows, long since) {
  std::size_t i = 0;
  while (i < rows.size() && rows[i].round <= since) ++i;
  return i;
}

}  // namespace lifeguard
