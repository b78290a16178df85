#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/runs/run_rows.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"

/// Hashes that tell a damaged run file from a whole one (XXH3-128). They are no protection against
/// somebody who changes a file and computes them again: what such a file claims must hold by itself
/// (run_check.hpp), and playing it again shows whether it is true.
///
/// The header has one, and every round has one over all rows of the round and the hash before it,
/// so that each stands for everything up to there. How a run was cut into commits leaves no trace:
/// the same run has the same hashes. Times, which differ between runs, have a chain of their own.
/// The last commit has one over the state to go on from, the policies and the last round's hash.
namespace lifeguard {

/// A hash in the making: what came before, then rows, with the columns that the schema has.
class RowHash {
 public:
  explicit RowHash(std::string_view previous, int schema = kSchemaVersion) : schema_(schema) {
    hash_.add(previous);
  }

  template <class Row>
  void add(const Table<Row>& table, const Row& row) {
    if (table.since > schema_) return;
    hash_.add(table.name);
    for (const Column<Row>& column : table.columns) {
      if (column.since <= schema_) add(column.get(row));
    }
  }
  template <class Row>
  void add(const Row& row) {
    add(table_of<Row>(), row);
  }
  template <class Row>
  void add(const std::optional<Row>& row) {
    if (row) add(*row);
  }
  template <class Row>
  void add(const std::vector<Row>& rows) {
    for (const Row& row : rows) add(row);
  }

  std::string text() const { return hash_.hex(); }

 private:
  void add(const Cell& cell);

  Fingerprint hash_;
  int schema_;
};

// Texts of the table meta that are not fixed when a run begins.
inline constexpr std::string_view kHeaderChecksum = "header_checksum";
inline constexpr std::string_view kFinished = "finished";
inline constexpr std::string_view kCertificate = "certificate";
/// Of a run whose trajectories come from outside: "true", and the checksum of its first header,
/// with which its chain begins. The header changes with the fleet.
inline constexpr std::string_view kObserved = "observed";
inline constexpr std::string_view kFirstHeader = "first_header_checksum";

/// In a file of that schema.
std::string header_checksum(const RunDescription& description, int schema = kSchemaVersion);

/// The checksum of a policy that was handed out, `last` being that of the one before.
std::string issue_checksum(std::string_view last, const StoredIssue& issue);

/// The chain's first link, and the one after `last`, in a file of that schema.
StoredChecksum first_checksum(std::string_view header, const StoredEvaluation& first);
StoredChecksum next_checksum(const StoredChecksum& last, const RoundOutcome& outcome,
                             int schema = kSchemaVersion);

/// `results` is the hash of the last round, `finished` and `certificate` what the table meta says.
std::string checkpoint_checksum(const RunState& state, std::string_view results, bool finished,
                                std::string_view certificate);

}  // namespace lifeguard
