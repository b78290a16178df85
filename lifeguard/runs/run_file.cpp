#include "lifeguard/runs/run_file.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

// "LIFG": how `file` and we tell a run from any other database.
constexpr int kApplicationId = 0x4c494647;

constexpr const char* kHeaderChanged =
    "its header is not as it was written: configuration, tasks, safe sets or settings";

/// SQLite's complaint about a file, in the user's words.
[[noreturn]] void fail(const std::filesystem::path& path, const SQLite::Exception& error) {
  const int code = error.getErrorCode() & 0xff;
  const auto say = [&](const char* meaning) {
    return fmt::format("{} {} ({})", path.string(), meaning, error.what());
  };
  switch (code) {
    case SQLITE_NOTADB:
      throw NotARunFile(say("is not a run file"));
    case SQLITE_FULL:
      throw RunFileFull(say("cannot grow: the disk is full"));
    case SQLITE_IOERR:
      throw RunFileError(say("cannot be read or written"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw RunFileError(say("is being written by another process"));
    case SQLITE_CONSTRAINT:
      throw RunFileError(say("already has this round: is another process writing it?"));
    case SQLITE_CANTOPEN:
      throw RunFileError(say("cannot be opened"));
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // a table or column is missing
    case SQLITE_AUTH:   // a view in its place
    case SQLITE_SCHEMA:
    case SQLITE_FORMAT:
      throw DamagedRunFile(say("is damaged"));
    default:
      throw RunFileError(say("cannot be used"));
  }
}

/// As fail() for a file that is being written. Of the ways in which there may be no room SQLite
/// knows only one; of the others the system's last word is still there, since what SQLite does
/// after a failed write succeeds.
[[noreturn]] void fail_writing(SQLite::Database& database, const SQLite::Exception& error) {
  const int reason = errno;
  if ((error.getErrorCode() & 0xff) == SQLITE_IOERR && means_disk_full(reason)) {
    throw RunFileFull(fmt::format("{} cannot grow: the disk is full ({})", database.getFilename(),
                                  std::strerror(reason)));
  }
  fail(database.getFilename(), error);
}

int pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
}

/// A database from elsewhere must not make us run anything: no triggers, no views, no functions of
/// its choice; and its pages are looked at before they are believed.
void distrust(SQLite::Database& database) {
  sqlite3* handle = database.getHandle();
  // To ask for it once more would prepare every statement of the database anew.
  int views = 1;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, -1, &views);
  if (views == 0) return;
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  database.exec("PRAGMA cell_size_check = ON");
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

/// The schema version of a file that is a run; throws for any other.
int checked_version(SQLite::Database& database, const std::filesystem::path& path) {
  if (pragma(database, "application_id") != kApplicationId) {
    throw NotARunFile(path.string() + " is not a run file: it is another program's database");
  }
  const int version = pragma(database, "user_version");
  if (version < 1 || version > kSchemaVersion) {
    throw NotARunFile(fmt::format(
        "{} has schema version {}; this lifeguard ({}) knows 1 to {}. A newer lifeguard wrote it.",
        path.string(), version, kVersion, kSchemaVersion));
  }
  return version;
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

Cell cell_of(const SQLite::Column& column) {
  if (column.isInteger()) return static_cast<std::int64_t>(column.getInt64());
  if (column.isFloat()) return column.getDouble();
  if (column.isText()) {
    const char* text = column.getText("");
    return std::string_view(text, static_cast<std::size_t>(column.getBytes()));
  }
  if (column.isBlob()) {
    const void* data = column.getBlob();
    return std::span(static_cast<const std::byte*>(data),
                     static_cast<std::size_t>(column.getBytes()));
  }
  return std::monostate{};
}

/// Keys ascend, so that nothing is there twice whatever the schema of a damaged file says.
bool ascends(const Cell& before, const Cell& after) {
  if (before.index() != after.index()) return false;
  if (const auto* whole = std::get_if<std::int64_t>(&before)) {
    return *whole < std::get<std::int64_t>(after);
  }
  if (const auto* text = std::get_if<std::string_view>(&before)) {
    return *text < std::get<std::string_view>(after);
  }
  return false;
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

ExperimentConfig RunHeader::config() const {
  // What was not said meant something else once.
  std::vector<std::string> defaults;
  if (schema_version < 7) defaults = {"learner.update=linearised", "projection.p=0.01"};
  return parse_config(config_text, config_source, overrides, defaults);
}

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
      database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
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
    fail(path, error);
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
    fail(path, error);
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

namespace {

/// A reader may not write, so it cannot undo what a killed writer left half done; whoever may write
/// does that first.
std::unique_ptr<SQLite::Database> open_to_read(const std::filesystem::path& path) {
  const auto open = [&](int mode) {
    auto database =
        std::make_unique<SQLite::Database>(path.string(), mode, /*busy_timeout_ms=*/5000);
    distrust(*database);
    pragma(*database, "user_version");
    return database;
  };
  try {
    return open(SQLite::OPEN_READONLY);
  } catch (const SQLite::Exception& error) {
    if ((error.getErrorCode() & 0xff) != SQLITE_READONLY) throw;
  }
  open(SQLite::OPEN_READWRITE);
  return open(SQLite::OPEN_READONLY);
}

}  // namespace

RunReader::RunReader(const std::filesystem::path& path, Checksums checksums)
    : path_(path), mode_(checksums) {
  std::error_code error_code;
  if (!std::filesystem::is_regular_file(path, error_code)) {
    const bool there = std::filesystem::exists(path, error_code);
    throw NotARunFile(fmt::format(
        "{} is {}", path.empty() ? "\"\"" : path.string(),
        there ? "not a run file: it is not even a plain file" : "not there; name a run file"));
  }
  // The smallest page of a database; of less SQLite would make an empty one.
  constexpr std::uintmax_t kLeastBytes = 512;
  if (const auto bytes = std::filesystem::file_size(path, error_code); bytes < kLeastBytes) {
    throw NotARunFile(fmt::format("{} is not a run file: it {}", path.string(),
                                  bytes == 0 ? "is empty" : "is too short"));
  }
  try {
    database_ = open_to_read(path);
    // One transaction as long as this reader lives: what it reads fits together.
    database_->exec("BEGIN");
  } catch (const SQLite::Exception& error) {
    fail(path, error);
  }
  begin();
}

RunReader::RunReader(std::shared_ptr<SQLite::Database> database, const std::filesystem::path& path,
                     Checksums checksums)
    : path_(path), mode_(checksums), database_(std::move(database)) {
  distrust(*database_);
  begin();
}

void RunReader::begin() {
  try {
    header_.schema_version = checked_version(*database_, path_);
    read_header();
  } catch (const SQLite::Exception& error) {
    fail(path_, error);
  }
}

RunReader::~RunReader() = default;
RunReader::RunReader(RunReader&&) noexcept = default;

void RunReader::damaged(const std::string& what) const {
  throw DamagedRunFile(fmt::format("{} is damaged: {}", path_.string(), what));
}

template <class Row>
std::vector<Row> RunReader::rows(const Table<Row>& table, std::optional<long> first) const {
  const int version = header_.schema_version;
  if (table.since > version) return {};
  RunSizes sizes = header_.experiment.sizes();
  sizes.grown = header_.observed;
  try {
    SQLite::Statement query(*database_, select_sql(table, version, first.has_value()));
    if (first) query.bind(1, static_cast<int64_t>(*first));
    std::vector<Row> rows;
    while (query.executeStep()) {
      Row& row = rows.emplace_back();
      int index = 0;
      for (const Column<Row>& column : table.columns) {
        if (column.since > version) continue;
        const std::string complaint = column.set(row, cell_of(query.getColumn(index)), sizes);
        if (!complaint.empty()) {
          damaged(fmt::format("table {}, {} {}, column {}: {}", table.name,
                              table.columns.front().name, query.getColumn(0).getString(),
                              column.name, complaint));
        }
        ++index;
      }
      const auto& key = table.columns.front().get;
      if (rows.size() > 1 && !ascends(key(rows[rows.size() - 2]), key(row))) {
        damaged(fmt::format("table {}, {} {}: is there twice", table.name,
                            table.columns.front().name, query.getColumn(0).getString()));
      }
    }
    return rows;
  } catch (const SQLite::Exception& error) {
    fail(path_, error);
  }
}

template <class Row>
std::vector<Row> RunReader::rounds_of(const Table<Row>& table, long first) const {
  std::vector<Row> found = rows(table, first);
  if (!found.empty() && (!header_.begun || found.back().round > header_.rounds_done)) {
    damaged(fmt::format("table {}, round {}: is later than the last commit", table.name,
                        found.back().round));
  }
  return found;
}

void RunReader::read_header() {
  std::string finished = "(missing)";
  std::string overrides = "[]";
  std::string method;
  for (const StoredText& text : rows(table_of<StoredText>())) {
    if (text.key == "lifeguard_version") header_.lifeguard_version = text.value;
    if (text.key == "method") method = text.value;
    if (text.key == kFinished) finished = text.value;
    if (text.key == kCertificate) certificate_ = text.value;
    if (text.key == kHeaderChecksum) header_checksum_ = text.value;
    if (text.key == kFirstHeader) first_header_ = text.value;
    if (text.key == kObserved) header_.observed = text.value == "true";
    if (text.key == "config_source") header_.config_source = text.value;
    if (text.key == "config") header_.config_text = text.value;
    if (text.key == "overrides") overrides = text.value;
  }
  if (finished != "true" && finished != "false") {
    damaged(fmt::format("table meta, key finished: is \"{}\", must be true or false", finished));
  }
  header_.finished = finished == "true";
  if (first_header_.empty()) first_header_ = header_checksum_;
  try {
    header_.overrides = shallow_json(overrides).get<std::vector<std::string>>();
    if (header_.schema_version < 4) {
      header_.experiment = experiment_of(header_.config());
      header_.experiment.method = method;
    }
  } catch (const InvalidInput& error) {
    throw RunFileError(
        fmt::format("{} holds a configuration that this lifeguard ({}) does not understand: {}",
                    path_.string(), kVersion, error.what()));
  } catch (const nlohmann::json::exception& error) {
    damaged(fmt::format("table meta, key overrides: {}", complaint_of(error)));
  }
  if (header_.schema_version >= 4) {
    const std::vector<StoredExperiment> found = rows(table_of<StoredExperiment>());
    if (found.empty()) damaged("table experiment has no row");
    header_.experiment = found.front();
  }
  // The state itself is long and only some want it.
  SQLite::Statement query(*database_, "SELECT round FROM checkpoint");
  if (query.executeStep()) {
    header_.begun = true;
    const RunSizes sizes = header_.experiment.sizes();
    const std::string complaint =
        from_cell(cell_of(query.getColumn(0)), Fit::not_negative, sizes, header_.rounds_done);
    if (!complaint.empty()) {
      damaged(fmt::format("table checkpoint, column round: {}", complaint));
    }
  }
}

RunDescription RunReader::read_description() const {
  RunDescription description;
  description.texts = rows(table_of<StoredText>());
  description.experiment = header_.experiment;
  description.tasks = rows(table_of<StoredTask>());
  description.safe_sets = rows(table_of<StoredSafeSet>());
  description.settings = rows(table_of<StoredSetting>());
  description.machines = rows(table_of<StoredMachine>());
  description.changes = rows(table_of<StoredChange>());
  if (static_cast<int>(description.tasks.size()) != header_.experiment.tasks) {
    damaged(fmt::format("table tasks has {} rows, must have {}", description.tasks.size(),
                        header_.experiment.tasks));
  }
  return description;
}

RunDescription RunReader::description() const {
  RunDescription description = read_description();
  if (mode_ == Checksums::verify && header_checksum(description) != header_checksum_) {
    damaged(kHeaderChanged);
  }
  return description;
}

std::vector<StoredTask> RunReader::old_tasks() const { return rows(table_of<StoredTask>()); }

std::vector<StoredRound> RunReader::rounds(long first) const {
  std::vector<StoredRound> rounds = rounds_of(table_of<StoredRound>(), first);
  const std::vector<StoredRound> times = rounds_of(times_table(), first);
  for (std::size_t i = 0; i < std::max(rounds.size(), times.size()); ++i) {
    if (i >= rounds.size() || i >= times.size() || rounds[i].round != times[i].round) {
      damaged(
          fmt::format("rounds and timings are of different rounds from the {}th row on", i + 1));
    }
    rounds[i].rollout_seconds = times[i].rollout_seconds;
    rounds[i].learn_seconds = times[i].learn_seconds;
    rounds[i].projection_seconds = times[i].projection_seconds;
  }
  return rounds;
}

std::vector<StoredEvaluation> RunReader::evaluations(long first) const {
  return rounds_of(table_of<StoredEvaluation>(), first);
}

std::vector<StoredCertificate> RunReader::certificates(long first) const {
  return rounds_of(table_of<StoredCertificate>(), first);
}

std::vector<StoredRegret> RunReader::regrets(long first) const {
  return rounds_of(table_of<StoredRegret>(), first);
}

std::vector<StoredLemmas> RunReader::lemmas(long first) const {
  return rounds_of(table_of<StoredLemmas>(), first);
}

std::vector<StoredBeliefs> RunReader::beliefs(long first) const {
  return rounds_of(table_of<StoredBeliefs>(), first);
}

std::vector<StoredTaskBelief> RunReader::task_beliefs(long first) const {
  const Table<StoredTaskBelief>& table = table_of<StoredTaskBelief>();
  std::vector<StoredTaskBelief> found = rows(table, first);
  if (!found.empty() && (!header_.begun || found.back().round() > header_.rounds_done)) {
    damaged(fmt::format("table {}, moment {}: is later than the last commit", table.name,
                        found.back().moment));
  }
  return found;
}

std::vector<StoredChecksum> RunReader::checksums(long first) const {
  return rounds_of(table_of<StoredChecksum>(), first);
}

std::vector<StoredObservation> RunReader::observations(long first) const {
  return rounds_of(table_of<StoredObservation>(), first);
}

std::vector<StoredIssue> RunReader::issues(long first) const {
  return rows(table_of<StoredIssue>(), first);
}

std::optional<RunState> RunReader::read_state() const {
  const std::vector<StoredCheckpoint> checkpoint = rows(table_of<StoredCheckpoint>());
  RunState state;
  state.policies = rows(table_of<StoredPolicy>());
  const std::vector<StoredKnowledge> knowledge = rows(table_of<StoredKnowledge>());
  if (!knowledge.empty()) state.knowledge = knowledge.front();
  if (checkpoint.empty()) {
    if (!state.policies.empty() || state.knowledge || header_.finished) {
      damaged("table checkpoint has no row");
    }
    return std::nullopt;
  }
  state.round = checkpoint.front().round;
  state.state = checkpoint.front().state.text;
  state.checksum = checkpoint.front().checksum;
  if (header_.schema_version < 4) return state;
  if (static_cast<int>(state.policies.size()) != header_.experiment.tasks) {
    damaged(fmt::format("table policies has {} rows, must have {}", state.policies.size(),
                        header_.experiment.tasks));
  }
  if (state.knowledge.has_value() != (header_.experiment.k > 0)) {
    damaged(fmt::format("table knowledge has {} rows, must have {}", knowledge.size(),
                        header_.experiment.k > 0 ? 1 : 0));
  }
  return state;
}

std::optional<RunState> RunReader::state() const {
  std::optional<RunState> state = read_state();
  if (!state || mode_ == Checksums::ignore || header_.schema_version < 4) return state;
  const std::vector<StoredChecksum> last = checksums(state->round);
  if (last.empty()) damaged(fmt::format("table checksums, round {}: is missing", state->round));
  if (state->checksum !=
      checkpoint_checksum(*state, last.back().results, header_.finished, certificate_)) {
    damaged(fmt::format("the state after round {} is not as it was committed", state->round));
  }
  return state;
}

std::string RunReader::integrity() const {
  try {
    const std::string answer = database_->execAndGet("PRAGMA integrity_check").getString();
    return answer == "ok" ? "" : answer;
  } catch (const SQLite::Exception& error) {
    return error.what();
  }
}

std::vector<std::string> RunReader::foreign_parts() const {
  std::vector<std::string> findings;
  if (header_.schema_version < 4) return findings;
  std::map<std::string, std::string> expected;
  visit_tables([&](auto table) {
    std::erase_if(table.columns,
                  [&](const auto& column) { return column.since > header_.schema_version; });
    expected[std::string(table.name)] = create_sql(table);
  });
  try {
    SQLite::Statement query(*database_, "SELECT type, name, sql FROM sqlite_schema");
    while (query.executeStep()) {
      const std::string type = query.getColumn(0).getString();
      const std::string name = query.getColumn(1).getString();
      if (name.starts_with("sqlite_")) continue;  // SQLite's own, made with a table
      const auto known = expected.find(name);
      if (type != "table" || known == expected.end()) {
        findings.push_back(fmt::format("the file has a {} \"{}\", which no run has", type, name));
      } else if (query.getColumn(2).getString() != known->second) {
        findings.push_back(fmt::format("table {} is not made as a run's is", name));
      }
    }
  } catch (const SQLite::Exception& error) {
    findings.emplace_back(error.what());
  }
  return findings;
}

namespace {

/// Takes the row of a round out of a table, in order.
template <class Row>
class RowsInOrder {
 public:
  RowsInOrder(std::vector<Row> rows, std::vector<std::string>& findings)
      : rows_(std::move(rows)), findings_(findings) {}

  std::optional<Row> take(long round) {
    skip_before(round);
    if (next_ >= rows_.size() || rows_[next_].round != round) return std::nullopt;
    return std::move(rows_[next_++]);
  }
  /// What belongs to no round.
  void skip_before(long round) {
    for (; next_ < rows_.size() && rows_[next_].round < round; ++next_) {
      findings_.push_back(fmt::format("table {} has a row for round {}, which was not played",
                                      table_of<Row>().name, rows_[next_].round));
    }
  }

 private:
  std::vector<Row> rows_;
  std::vector<std::string>& findings_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<std::string> RunReader::checksum_findings() const {
  std::vector<std::string> findings;
  if (header_.schema_version < 4) return findings;
  if (header_checksum(read_description()) != header_checksum_) {
    findings.emplace_back(kHeaderChanged);
  }
  std::vector<StoredRound> of_rounds = rounds();
  const auto played = static_cast<long>(of_rounds.size());
  if (played != header_.rounds_done) {
    findings.push_back(
        fmt::format("{} rounds are stored, the state is after {}", played, header_.rounds_done));
    return findings;
  }
  RowsInOrder<StoredRound> rounds_in_order(std::move(of_rounds), findings);
  RowsInOrder<StoredEvaluation> evaluations_in_order(evaluations(), findings);
  RowsInOrder<StoredCertificate> certificates_in_order(certificates(), findings);
  RowsInOrder<StoredRegret> regrets_in_order(regrets(), findings);
  RowsInOrder<StoredLemmas> lemmas_in_order(lemmas(), findings);
  RowsInOrder<StoredObservation> observations_in_order(observations(), findings);
  RowsInOrder<StoredBeliefs> beliefs_in_order(beliefs(), findings);
  RowsInOrder<StoredChecksum> checksums_in_order(checksums(), findings);
  // Before a round and after it: both belong to it.
  std::vector<StoredTaskBelief> of_tasks = task_beliefs();
  std::size_t next_of_tasks = 0;
  // Each round is held against the hash before it as it is stored, so that one that was changed is
  // one finding and not the end of the chain.
  StoredChecksum last{0, first_header_, ""};
  for (long round = header_.begun ? 0 : 1; round <= played; ++round) {
    RoundOutcome outcome;
    const auto evaluation = evaluations_in_order.take(round);
    if (round == 0) {
      if (!evaluation) findings.emplace_back("table evaluations, round 0: is missing");
      last = first_checksum(last.results, evaluation.value_or(StoredEvaluation{}));
    } else {
      const auto row = rounds_in_order.take(round);
      if (!row) {
        findings.push_back(fmt::format("table rounds, round {}: is missing", round));
        return findings;
      }
      outcome = {*row,
                 evaluation,
                 certificates_in_order.take(round),
                 regrets_in_order.take(round),
                 lemmas_in_order.take(round),
                 observations_in_order.take(round),
                 beliefs_in_order.take(round),
                 {}};
      for (; next_of_tasks < of_tasks.size() && of_tasks[next_of_tasks].round() <= round;
           ++next_of_tasks) {
        outcome.task_beliefs.push_back(std::move(of_tasks[next_of_tasks]));
      }
      last = next_checksum(last, outcome, header_.schema_version);
    }
    const auto stored = checksums_in_order.take(round);
    if (!stored) {
      findings.push_back(fmt::format("table checksums, round {}: is missing", round));
      return findings;
    }
    if (stored->results != last.results) {
      findings.push_back(fmt::format("round {}: its rows are not as they were committed", round));
    }
    if (stored->times != last.times) {
      findings.push_back(fmt::format("round {}: its times are not as they were committed", round));
    }
    last = *stored;
  }
  std::string last_issue;
  for (const StoredIssue& issue : issues()) {
    if (issue.checksum != issue_checksum(last_issue, issue)) {
      findings.push_back(
          fmt::format("table issues, place {}: is not as it was committed", issue.place));
    }
    last_issue = issue.checksum;
  }
  const std::optional<RunState> state = read_state();
  if (state && state->checksum !=
                   checkpoint_checksum(*state, last.results, header_.finished, certificate_)) {
    findings.push_back(
        fmt::format("the state after round {} is not as it was committed", state->round));
  }
  return findings;
}

}  // namespace lifeguard
