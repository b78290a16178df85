#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/run_database.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/runs/shallow_json.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

constexpr const char* kHeaderChanged =
    "its header is not as it was written: configuration, tasks, safe sets or settings";

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

/// A reader may not write, so it cannot undo what a killed writer left half done; whoever may write
/// does that first.
std::unique_ptr<SQLite::Database> open_to_read(const std::filesystem::path& path) {
  const auto open = [&](int mode) {
    auto database =
        std::make_unique<SQLite::Database>(path.string(), mode, /*busy_timeout_ms=*/5000);
    distrust(*database);
    pragma_value(*database, "user_version");
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

ExperimentConfig RunHeader::config(const std::vector<Task>& absent) const {
  // What was not said meant something else once.
  std::vector<std::string> defaults;
  if (schema_version < 8) defaults = {"base_learner.critic=none"};
  if (schema_version < 7) {
    defaults.insert(defaults.end(), {"learner.update=linearised", "projection.p=0.01"});
  }
  return parse_config(config_text, config_source, overrides, defaults, absent);
}

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
    throw_run_file_error(path, error);
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
    throw_run_file_error(path_, error);
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
    throw_run_file_error(path_, error);
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
  if (mode_ == Checksums::verify &&
      header_checksum(description, header_.schema_version) != header_checksum_) {
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
  if (header_checksum(read_description(), header_.schema_version) != header_checksum_) {
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
