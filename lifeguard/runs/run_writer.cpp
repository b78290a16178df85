#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_database.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

/// As throw_run_file_error() for a file that is being written. Of the ways in which there may be no
/// room SQLite knows only one; of the others the system's last word is still there, since what
/// SQLite does after a failed write succeeds.
[[noreturn]] void fail_writing(SQLite::Database& database, const SQLite::Exception& error) {
  const int reason = errno;
  if ((error.getErrorCode() & 0xff) == SQLITE_IOERR && means_disk_full(reason)) {
    throw RunFileFull(fmt::format("{} cannot grow: the disk is full ({})", database.getFilename(),
                                  std::strerror(reason)));
  }
  throw_run_file_error(database.getFilename(), error);
}

void bind_cell(SQLite::Statement& statement, int index, const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    statement.bind(index, *whole);
  } else if (const auto* number = std::get_if<double>(&cell)) {
    statement.bind(index, *number);
  } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
    statement.bind(index, std::string(*text));
  } else if (const auto* bytes = std::get_if<std::span<const std::byte>>(&cell)) {
    // No bytes are not NULL.
    const void* data = bytes->empty() ? static_cast<const void*>("") : bytes->data();
    statement.bind(index, data, static_cast<int>(bytes->size()));
  } else {
    statement.bind(index);
  }
}

}  // namespace

/// Writes rows of one table.
template <class Row>
class RowInsert {
 public:
  RowInsert(SQLite::Database& database, const Table<Row>& table, bool replace = false)
      : table_(table), statement_(database, insert_sql(table, replace)) {}
  explicit RowInsert(SQLite::Database& database, bool replace = false)
      : RowInsert(database, table_of<Row>(), replace) {}

  void operator()(const Row& row) {
    int index = 0;
    for (const Column<Row>& column : table_.columns)
      bind_cell(statement_, ++index, column.get(row));
    statement_.exec();
    statement_.reset();
  }
  void operator()(const std::optional<Row>& row) {
    if (row) (*this)(*row);
  }
  void operator()(const std::vector<Row>& rows) {
    for (const Row& row : rows) (*this)(row);
  }

 private:
  const Table<Row>& table_;
  SQLite::Statement statement_;
};

struct RunWriter::Statements {
  explicit Statements(SQLite::Database& database)
      : text(database, /*replace=*/true),
        round(database),
        times(database, times_table()),
        evaluation(database),
        certificate(database),
        regret(database),
        lemmas(database),
        observation(database),
        beliefs(database),
        task_belief(database),
        issue(database),
        checksum(database),
        checkpoint(database, /*replace=*/true),
        knowledge(database, /*replace=*/true),
        policy(database, /*replace=*/true) {}
  RowInsert<StoredText> text;
  RowInsert<StoredRound> round;
  RowInsert<StoredRound> times;
  RowInsert<StoredEvaluation> evaluation;
  RowInsert<StoredCertificate> certificate;
  RowInsert<StoredRegret> regret;
  RowInsert<StoredLemmas> lemmas;
  RowInsert<StoredObservation> observation;
  RowInsert<StoredBeliefs> beliefs;
  RowInsert<StoredTaskBelief> task_belief;
  RowInsert<StoredIssue> issue;
  RowInsert<StoredChecksum> checksum;
  RowInsert<StoredCheckpoint> checkpoint;
  RowInsert<StoredKnowledge> knowledge;
  RowInsert<StoredPolicy> policy;
};

RunWriter::RunWriter(const std::filesystem::path& path, FileClaim claim,
                     std::unique_ptr<SQLite::Database> database)
    : path_(path),
      claim_(std::move(claim)),
      database_(std::move(database)),
      statements_(std::make_unique<Statements>(*database_)) {}
RunWriter::~RunWriter() = default;
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;

namespace {

void insert_description(SQLite::Database& database, const RunDescription& description,
                        const std::string& checksum) {
  RowInsert<StoredText> text(database);
  text(description.texts);
  text({std::string(kHeaderChecksum), checksum});
  text({std::string(kFinished), "false"});
  RowInsert<StoredExperiment>{database}(description.experiment);
  RowInsert<StoredTask>{database}(description.tasks);
  RowInsert<StoredSafeSet>{database}(description.safe_sets);
  RowInsert<StoredSetting>{database}(description.settings);
  RowInsert<StoredMachine>{database}(description.machines);
  RowInsert<StoredChange>{database}(description.changes);
}

}  // namespace

RunWriter RunWriter::create(const std::filesystem::path& path, const RunDescription& description) {
  if (std::filesystem::exists(path)) {
    throw RunFileExists(
        fmt::format("{} exists already; resume it or choose another name", path.string()));
  }
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  // The header is one transaction on a file of another name, so that a run file either has its
  // configuration or is not there.
  std::filesystem::path draft = path;
  draft += ".new";
  FileClaim claim = FileClaim::on_new(draft);
  for (const char* log : {"-journal", "-wal", "-shm"}) {
    std::filesystem::remove(draft.string() + log);
  }
  try {
    {
      SQLite::Database database(draft.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      database.exec(fmt::format("PRAGMA application_id = {}", kRunApplicationId));
      database.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
      visit_tables([&](const auto& table) { database.exec(create_sql(table)); });
      const std::string checksum = header_checksum(description);
      insert_description(database, description, checksum);
      if (!description.machines.empty()) {
        RowInsert<StoredText>{database}(StoredText{std::string(kFirstHeader), checksum});
      }
      transaction.commit();
      database.exec("PRAGMA journal_mode = WAL");
    }
    // The log of a run that was killed and then deleted would be taken for this one's.
    for (const char* log : {"-wal", "-shm"}) std::filesystem::remove(path.string() + log);
    rename_to_free_name(draft, path);
  } catch (const SQLite::Exception& error) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    throw_run_file_error(path, error);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    throw;
  }
  return open(path, std::move(claim));
}

RunWriter RunWriter::open(const std::filesystem::path& path) {
  require(std::filesystem::exists(path), "run", path.string(), "must be a file that exists");
  return open(path, FileClaim::on_existing(path));
}

RunWriter RunWriter::open(const std::filesystem::path& path, FileClaim claim) {
  try {
    auto database = std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READWRITE,
                                                       /*busy_timeout_ms=*/5000);
    distrust(*database);
    const int version = checked_version(*database, path);
    if (version < kSchemaVersion) {
      throw RunFileError(
          fmt::format("{} has schema version {}; this lifeguard ({}) can read it, and goes on only "
                      "with version {}",
                      path.string(), version, kVersion, kSchemaVersion));
    }
    database->exec("PRAGMA journal_mode = WAL");
    // A commit survives a killed process at once and a power failure after the next checkpoint of
    // the log; the file is consistent after either.
    database->exec("PRAGMA synchronous = NORMAL");
    RunWriter writer(path, std::move(claim), std::move(database));
    SQLite::Statement last(*writer.database_,
                           "SELECT round, results, times FROM checksums ORDER BY round DESC");
    if (last.executeStep()) {
      writer.last_ = {last.getColumn(0).getInt64(), last.getColumn(1).getString(),
                      last.getColumn(2).getString()};
    } else {
      SQLite::Statement header(*writer.database_, "SELECT value FROM meta WHERE key = ?");
      header.bind(1, std::string(kHeaderChecksum));
      if (header.executeStep()) writer.last_.results = header.getColumn(0).getString();
    }
    SQLite::Statement issue(*writer.database_,
                            "SELECT place, checksum FROM issues ORDER BY place DESC");
    if (issue.executeStep()) {
      writer.issues_ = issue.getColumn(0).getInt64() + 1;
      writer.last_issue_ = issue.getColumn(1).getString();
    }
    return writer;
  } catch (const SQLite::Exception& error) {
    throw_run_file_error(path, error);
  }
}

void RunWriter::begin() {
  if (open_) return;
  database_->exec("BEGIN IMMEDIATE");
  open_ = true;
}

void RunWriter::require_claimed() {
  if (claim_.holds(path_)) return;
  // The log beside the name may be another file's by now: it is not ours to tidy up.
  sqlite3_db_config(database_->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  throw RunFileError(
      fmt::format("{} was deleted or replaced while it was being written: the rounds played are "
                  "lost; begin the run again",
                  path_.string()));
}

void RunWriter::add(const StoredEvaluation& first) {
  try {
    begin();
    statements_->evaluation(first);
    last_ = first_checksum(last_.results, first);
    statements_->checksum(last_);
  } catch (const SQLite::Exception& error) {
    fail_writing(*database_, error);
  }
}

void RunWriter::add(const RoundOutcome& outcome) {
  try {
    begin();
    statements_->round(outcome.round);
    statements_->times(outcome.round);
    statements_->evaluation(outcome.evaluation);
    statements_->certificate(outcome.certificate);
    statements_->regret(outcome.regret);
    statements_->lemmas(outcome.lemmas);
    statements_->observation(outcome.observation);
    statements_->beliefs(outcome.beliefs);
    statements_->task_belief(outcome.task_beliefs);
    last_ = next_checksum(last_, outcome);
    statements_->checksum(last_);
  } catch (const SQLite::Exception& error) {
    fail_writing(*database_, error);
  }
}

void RunWriter::add(StoredIssue& issue) {
  try {
    begin();
    issue.place = issues_;
    issue.checksum = issue_checksum(last_issue_, issue);
    statements_->issue(issue);
    ++issues_;
    last_issue_ = issue.checksum;
  } catch (const SQLite::Exception& error) {
    fail_writing(*database_, error);
  }
}

void RunWriter::replace(const RunDescription& description) {
  try {
    begin();
    for (const char* table :
         {"experiment", "tasks", "safe_sets", "settings", "machines", "changes"}) {
      database_->exec(fmt::format("DELETE FROM {}", table));
    }
    database_->exec(fmt::format("DELETE FROM meta WHERE key <> '{}'", kFirstHeader));
    insert_description(*database_, description, header_checksum(description));
  } catch (const SQLite::Exception& error) {
    fail_writing(*database_, error);
  }
}

void RunWriter::write(const RunState& state, bool finished, const std::string& certificate_json) {
  require_claimed();
  try {
    begin();
    statements_->policy(state.policies);
    statements_->knowledge(state.knowledge);
    if (finished) {
      statements_->text(StoredText{std::string(kFinished), "true"});
      statements_->text(StoredText{std::string(kCertificate), certificate_json});
    }
    statements_->checkpoint(StoredCheckpoint{
        1,
        state.round,
        {state.state},
        checkpoint_checksum(state, last_.results, finished, finished ? certificate_json : "")});
    database_->exec("COMMIT");
    open_ = false;
  } catch (const SQLite::Exception& error) {
    fail_writing(*database_, error);
  }
}

void RunWriter::commit(const RunState& state) { write(state, false, ""); }

void RunWriter::commit() {
  require_claimed();
  if (!open_) return;
  try {
    database_->exec("COMMIT");
    open_ = false;
  } catch (const SQLite::Exception& error) {
    fail_writing(*database_, error);
  }
}

void RunWriter::make_durable() { database_->exec("PRAGMA synchronous = FULL"); }

void RunWriter::finish(const RunState& state, const std::string& certificate_json) {
  write(state, true, certificate_json);
  try {
    // Without a log beside it a finished run is one file, also for those who may only read it.
    database_->exec("PRAGMA journal_mode = DELETE");
  } catch (const SQLite::Exception&) {
    // Somebody is reading: the log stays for now, and the file is as good.
  }
}

}  // namespace lifeguard
