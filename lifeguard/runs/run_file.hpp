#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/file_claim.hpp"
#include "lifeguard/runs/run_checksums.hpp"
#include "lifeguard/runs/run_rows.hpp"

namespace SQLite {
class Database;
class Statement;
}  // namespace SQLite

namespace lifeguard {

/// A run file that cannot be read or written: from another program, too new, disk full.
class RunFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What was named as a run file is not there or is something else: the fault of who named it.
class NotARunFile : public RunFileError {
 public:
  using RunFileError::RunFileError;
};

/// Another process holds the run file; it may be free again soon.
class RunFileBusy : public RunFileError {
 public:
  using RunFileError::RunFileError;
};

/// The file that was to be made is there already.
class RunFileExists : public RunFileError {
 public:
  using RunFileError::RunFileError;
};

/// There is no room for the run file to grow.
class RunFileFull : public RunFileError {
 public:
  using RunFileError::RunFileError;
};

/// The run is of a system that is not registered in this program, which what was asked for needs.
class UnknownSystem : public RunFileError {
 public:
  using RunFileError::RunFileError;
};

/// A run file whose content is not what a run leaves behind. The message names the file, and where
/// it can the table, the row and the column.
class DamagedRunFile : public RunFileError {
 public:
  using RunFileError::RunFileError;
};

/// What a run file is, without its content.
struct RunHeader {
  int schema_version = 0;
  std::string lifeguard_version;
  StoredExperiment experiment;
  bool begun = false;  // whether there was a commit yet
  bool finished = false;
  /// Its trajectories come from outside (FleetRun), so that nobody can play it again.
  bool observed = false;
  long rounds_done = 0;
  // As it was given; overrides are "key=value".
  std::string config_source;
  std::string config_text;
  std::vector<std::string> overrides;

  /// Reads the configuration again. Throws InvalidInput if this lifeguard does not understand it.
  /// `absent` as in parse_config().
  ExperimentConfig config(const std::vector<Task>& absent = {}) const;
};

/// One run is one SQLite file. It is written in batches of rounds, each one transaction together
/// with the state to go on from, so a run that was killed resumes after its last batch and loses
/// nothing but the time. Readers can open it meanwhile (WAL).
class RunWriter {
 public:
  /// A new file; an existing one is an error. Nobody else can write it meanwhile.
  static RunWriter create(const std::filesystem::path& path, const RunDescription& description);
  /// To go on with a file that is not finished. One of an older schema is an error.
  static RunWriter open(const std::filesystem::path& path);
  ~RunWriter();
  RunWriter(RunWriter&&) noexcept;
  RunWriter& operator=(RunWriter&&) noexcept;

  /// The evaluation of the first policies.
  void add(const StoredEvaluation& first);
  /// All that a round left behind; rounds come in order.
  void add(const RoundOutcome& outcome);
  /// A policy that is handed out; its place and checksum are filled in.
  void add(StoredIssue& issue);
  /// What is fixed has changed: a fleet that grew, shrank or was described anew.
  void replace(const RunDescription& description);
  /// Makes all that was added since the last commit durable, with the state after it.
  /// Throws RunFileError if the file was deleted or replaced.
  void commit(const RunState& state);
  /// The same where the state has not changed.
  void commit();
  /// From now on a commit survives also a power failure, and takes longer.
  void make_durable();
  /// The last commit: the run is finished.
  void finish(const RunState& state, const std::string& certificate_json);

 private:
  RunWriter(const std::filesystem::path& path, FileClaim claim,
            std::unique_ptr<SQLite::Database> database);
  static RunWriter open(const std::filesystem::path& path, FileClaim claim);
  void begin();
  /// Throws if the file was deleted or replaced since it was opened.
  void require_claimed();
  void write(const RunState& state, bool finished, const std::string& certificate_json);
  struct Statements;
  std::filesystem::path path_;
  FileClaim claim_;  // given up after the database is closed
  std::unique_ptr<SQLite::Database> database_;
  std::unique_ptr<Statements> statements_;
  bool open_ = false;
  StoredChecksum last_;  // of the last round that was added
  long issues_ = 0;      // how many policies were handed out, and the last one's checksum
  std::string last_issue_;
};

enum class Checksums {
  verify,
  ignore,  // to look at a damaged file, and to test what else finds damage
};

/// The rows of a run file as they were at the moment of opening, however long one reads and whoever
/// writes meanwhile. Every value's type, length and range is checked when it is read.
class RunReader {
 public:
  /// Before any row there can be, so that none is overlooked.
  static constexpr long kFirst = std::numeric_limits<long>::min();

  /// Throws RunFileError that says what is wrong with the file.
  explicit RunReader(const std::filesystem::path& path, Checksums checksums = Checksums::verify);
  /// Reads a database that is open already, as it is in the transaction that its owner began.
  /// Messages call it `path`.
  RunReader(std::shared_ptr<SQLite::Database> database, const std::filesystem::path& path,
            Checksums checksums = Checksums::verify);
  ~RunReader();
  RunReader(RunReader&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  const RunHeader& header() const { return header_; }

  /// Of files from schema 4 on; held against its checksum.
  RunDescription description() const;
  /// Rows from round `first` on; none from a file whose schema did not have them.
  std::vector<StoredRound> rounds(long first = kFirst) const;
  std::vector<StoredEvaluation> evaluations(long first = kFirst) const;
  std::vector<StoredCertificate> certificates(long first = kFirst) const;
  std::vector<StoredRegret> regrets(long first = kFirst) const;
  std::vector<StoredLemmas> lemmas(long first = kFirst) const;
  std::vector<StoredBeliefs> beliefs(long first = kFirst) const;
  /// From this moment on (StoredTaskBelief).
  std::vector<StoredTaskBelief> task_beliefs(long first = kFirst) const;
  std::vector<StoredChecksum> checksums(long first = kFirst) const;
  std::vector<StoredObservation> observations(long first = kFirst) const;
  /// Policies that were handed out, from this place on.
  std::vector<StoredIssue> issues(long first = kFirst) const;
  /// The last commit, held against its checksum; nothing before the first. Files before schema 4
  /// have no knowledge in it, and policies only if they are finished.
  std::optional<RunState> state() const;
  /// The names and parameters of the tasks in a file before schema 4.
  std::vector<StoredTask> old_tasks() const;
  /// The certificate of the last round of a finished run; empty if there is none.
  const std::string& certificate_json() const { return certificate_; }
  /// SQLite's own check of every page and index; empty if all is well.
  std::string integrity() const;
  /// Tables, indices, views and triggers that are not those of a run, one line each. Of files
  /// before schema 4 nothing is said.
  std::vector<std::string> foreign_parts() const;
  /// What is not as it was committed, by the checksums of header, rounds, times and state: one line
  /// each. Of files before schema 4, which have none, nothing is said.
  std::vector<std::string> checksum_findings() const;

 private:
  template <class Row>
  std::vector<Row> rows(const Table<Row>& table, std::optional<long> first = {}) const;
  template <class Row>
  std::vector<Row> rounds_of(const Table<Row>& table, long first) const;
  void begin();
  void read_header();
  RunDescription read_description() const;
  std::optional<RunState> read_state() const;
  [[noreturn]] void damaged(const std::string& what) const;

  std::filesystem::path path_;
  Checksums mode_;
  std::shared_ptr<SQLite::Database> database_;
  RunHeader header_;
  std::string certificate_;
  std::string header_checksum_;
  std::string first_header_;
};

}  // namespace lifeguard
