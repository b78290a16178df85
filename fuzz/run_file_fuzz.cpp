// Whatever a run file holds, whoever reads it ends with an answer or with an error that says what
// is wrong with the file: never with a crash.
//
// An input is a list of changes to a small run that was just played. Eight bytes say what a change
// is, its value follows:
//   bytes 0 and 1   which column of which table, or where in the file
//   byte 2          which row, or where in the file
//   byte 3          what: an integer, a number, a text, bytes or NULL in place of the value that is
//                   there, a row less, bytes of the file overwritten, the file cut short
//   byte 4          the length of the value
// The first six get past SQLite's own checks and to ours. An input that begins as a SQLite file
// does is taken as a whole file.
//
// Inputs change the tables of a run that stays open, in a transaction that is rolled back, since
// opening a database costs more than reading this one; and what they changed is read. One of so
// many, chosen by its bytes, changes a file, which is read from its first byte to its last; only
// these can change its bytes. That file is SQLite's in memory (its VFS memdb), under the name of
// one that is there.

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard::run_file_fuzz {

// Reading what was changed is what is tried, on every input. To read all tables, closed loops, and
// a whole file takes several to a hundred times as long, what is made of what was read a hundred
// times, and a check, which draws the experiment again, a thousand times: of so many inputs one
// goes through it, chosen by its bytes, so that all of this takes about as long as the reading.
constexpr std::size_t kAllTablesShare = 32;
constexpr std::size_t kClosedLoopShare = 8;
constexpr std::size_t kWholeShare = 128;
constexpr std::size_t kShownShare = 1024;
constexpr std::size_t kCheckedShare = 16384;

constexpr const char* kConfig =
    "[experiment]\nname = \"tiny\"\nrounds = 2\ntasks = 1\ntrajectories = 4\nsteps = 10\n"
    "[evaluation]\nstart_states = 2\n[learner]\nupdate = \"empirical Bayes\"\n[family]\nbase = "
    "\"mass-spring\"\n"
    "[family.settings]\naction_weights = 0.05\nsigma = 0.25\nnoise_limit = 0.5\n"
    "[safe_set]\nslack_limit = 100\n[safe_set.lqr_box]\nreach = 3\n"
    "[safe_set.closed_loop]\ntolerance = { mass_kilograms = 0.1 }\ndecay = 0.995\n"
    "start_share = 0.7\nstate_limits = [8.0, 10.0]\n";

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "run_file_fuzz: %s\n", what);
  std::abort();
}

/// Runs `action`, which may end with the errors of a file that is not as it should be.
template <class Action>
void expect_errors_at_most(const Action& action) {
  try {
    action();
  } catch (const RunFileError&) {
  } catch (const InvalidInput&) {
  }
}

/// One change that an input asks for.
struct Change {
  std::size_t place = 0;
  unsigned row = 0;
  unsigned kind = 0;
  std::string_view value;

  bool of_tables() const { return kind < 6; }
};

std::vector<Change> changes_in(std::string_view input) {
  std::vector<Change> changes;
  while (input.size() >= 8) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
    const std::size_t length = std::min<std::size_t>(byte(4), input.size() - 8);
    changes.push_back({byte(0) + 256U * byte(1), byte(2), byte(3) % 8U, input.substr(8, length)});
    input.remove_prefix(8 + length);
  }
  return changes;
}

/// Changes the tables of a database, with statements that are prepared once.
class TableChanger {
 public:
  explicit TableChanger(SQLite::Database& database) : database_(database) {
    database.exec("PRAGMA ignore_check_constraints = ON");
    visit_tables([&](const auto& table) {
      for (const auto& column : table.columns) {
        columns_.push_back({std::string(table.name), std::string(table.columns.front().name),
                            std::string(column.name)});
      }
    });
  }

  /// Of the table that it changes.
  const std::string& table_of(const Change& change) const {
    return columns_[change.place % columns_.size()].table;
  }

  void apply(const Change& change) {
    const std::size_t column = change.place % columns_.size();
    const bool deletes = change.kind == 5;
    SQLite::Statement& statement = prepared(column, deletes);
    if (!deletes) bind_value(statement, change);
    statement.bind(deletes ? 1 : 2, static_cast<int>(change.row % 8));
    try {
      statement.exec();
    } catch (const SQLite::Exception&) {
      // Changes that SQLite does not take are none.
    }
    statement.tryReset();
  }

 private:
  struct NamedColumn {
    std::string table;
    std::string key;
    std::string column;
  };

  SQLite::Statement& prepared(std::size_t place, bool deletes) {
    const NamedColumn& column = columns_[place];
    const auto found = statements_.find({place, deletes});
    if (found != statements_.end()) return found->second;
    const std::string what =
        deletes ? "DELETE FROM " + column.table
                : "UPDATE OR IGNORE " + column.table + " SET " + column.column + " = ?";
    const std::string where = " WHERE " + column.key + " = (SELECT " + column.key + " FROM " +
                              column.table + " LIMIT 1 OFFSET ?)";
    return statements_
        .emplace(std::piecewise_construct, std::forward_as_tuple(place, deletes),
                 std::forward_as_tuple(database_, what + where))
        .first->second;
  }

  static void bind_value(SQLite::Statement& statement, const Change& change) {
    const std::string value(change.value);
    std::int64_t whole = 0;
    std::memcpy(&whole, value.data(), std::min(value.size(), sizeof(whole)));
    double number = 0;
    std::memcpy(&number, value.data(), std::min(value.size(), sizeof(number)));
    if (change.kind == 0) statement.bind(1, whole);
    if (change.kind == 1) statement.bind(1, number);
    if (change.kind == 2) statement.bind(1, value);
    if (change.kind == 3) statement.bind(1, value.data(), static_cast<int>(value.size()));
    if (change.kind == 4) statement.bind(1);
  }

  SQLite::Database& database_;
  std::vector<NamedColumn> columns_;
  std::map<std::pair<std::size_t, bool>, SQLite::Statement> statements_;
};

/// A file in memory that every connection of this process finds under its name.
class FileInMemory {
 public:
  explicit FileInMemory(const std::filesystem::path& path) {
    sqlite3_vfs_register(sqlite3_vfs_find("memdb"), /*makeDflt=*/1);
    keeper_.emplace(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    sqlite3_file_control(keeper_->getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file_);
    if (file_ == nullptr || file_->pMethods == nullptr) fail("no file in memory");
  }

  void write(std::string_view bytes) const {
    const auto size = static_cast<int>(bytes.size());
    // What is there must be as long before it can be cut.
    if (file_->pMethods->xWrite(file_, bytes.data(), size, 0) != SQLITE_OK ||
        file_->pMethods->xTruncate(file_, size) != SQLITE_OK) {
      fail("the file in memory cannot be written");
    }
  }

 private:
  std::optional<SQLite::Database> keeper_;
  sqlite3_file* file_ = nullptr;
};

/// A database that stays open, and what changes it.
class OpenRun {
 public:
  OpenRun(const std::filesystem::path& file, const char* thinned)
      : database_(std::make_shared<SQLite::Database>(":memory:", SQLite::OPEN_READWRITE)) {
    // The statements that stay prepared would use up the little memory of its own from which SQLite
    // takes what it needs for a moment, and all of that would go through the sanitizer's malloc.
    sqlite3_db_config(database_->getHandle(), SQLITE_DBCONFIG_LOOKASIDE, nullptr, 1200, 10000);
    database_->backup(file.string().c_str(), SQLite::Database::BackupType::Load);
    database_->exec(thinned);
    changer_.emplace(*database_);
    unchanged_.emplace(database_, file, Checksums::ignore);
  }

  /// Calls `read` with a reader of the database as these changes make it and with the tables that
  /// they change, and undoes them. What a reader reads when it is made is read again only if it was
  /// changed.
  template <class Read>
  void with_changes(const std::vector<Change>& changes, const Read& read) {
    std::set<std::string> touched;
    database_->exec("BEGIN");
    for (const Change& change : changes) {
      if (!change.of_tables()) continue;
      changer_->apply(change);
      touched.insert(changer_->table_of(change));
    }
    expect_errors_at_most([&] {
      if (touched.contains("meta") || touched.contains("experiment") ||
          touched.contains("checkpoint")) {
        read(RunReader(database_, unchanged_->path(), Checksums::ignore), touched);
      } else {
        read(*unchanged_, touched);
      }
    });
    database_->exec("ROLLBACK");
  }

 private:
  std::shared_ptr<SQLite::Database> database_;
  std::optional<TableChanger> changer_;
  std::optional<RunReader> unchanged_;
};

/// The run that inputs change: as a file, and as databases that stay open, with closed loops and
/// without.
class Bench {
 public:
  Bench() {
    folder_ =
        std::filesystem::temp_directory_path() / ("lifeguard-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "input.run";
    start_run(parse_config(kConfig, "tiny.toml"), file_);
    std::ostringstream bytes;
    bytes << std::ifstream(file_, std::ios::binary).rdbuf();
    whole_ = bytes.str();
    // A hundred settings are all alike.
    with_closed_loops_.emplace(file_, "DELETE FROM settings WHERE place >= 4");
    plain_.emplace(file_,
                   "DELETE FROM settings WHERE place >= 4;"
                   "UPDATE safe_sets SET inequalities = 'inequalities 0\nclosed_loops 0\n'");
    memory_.emplace(file_);
  }
  ~Bench() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& file() const { return file_; }

  OpenRun& open_run(bool closed_loops) { return closed_loops ? *with_closed_loops_ : *plain_; }

  void write_file(std::string_view bytes) const { memory_->write(bytes); }

  void write_file(const std::vector<Change>& changes) const {
    std::string bytes = whole_;
    bool of_tables = false;
    for (const Change& change : changes) {
      const std::size_t place = (change.place + 65536U * change.row) % bytes.size();
      if (change.of_tables()) {
        of_tables = true;
      } else if (change.kind == 7) {
        bytes.resize(std::max<std::size_t>(place, 1));
      } else {
        const std::size_t most = std::min(change.value.size(), bytes.size() - place);
        std::copy_n(change.value.begin(), most, bytes.begin() + static_cast<long>(place));
      }
    }
    memory_->write(bytes);
    if (!of_tables) return;
    try {
      SQLite::Database database(file_.string(), SQLite::OPEN_READWRITE);
      database.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN");
      TableChanger changer(database);
      for (const Change& change : changes) {
        if (change.of_tables()) changer.apply(change);
      }
      database.exec("COMMIT");
    } catch (const SQLite::Exception&) {
      // The bytes that were changed make it another file or none.
    }
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::string whole_;
  std::optional<OpenRun> with_closed_loops_;
  std::optional<OpenRun> plain_;
  std::optional<FileInMemory> memory_;
};

/// A file may ask for days of simulation; that is no fault of its reader.
bool is_small(const StoredExperiment& e) {
  return e.tasks <= 8 && static_cast<long>(e.steps) * e.start_states <= 10000 && e.steps <= 1000 &&
         e.trajectories <= 100 && e.k >= 0;
}

/// Meta and experiment are read by the reader itself; of a description all parts are read together.
bool in_description(const std::string& table) {
  return table == "tasks" || table == "safe_sets" || table == "settings";
}

void read_table(const RunReader& reader, const std::string& table) {
  if (table == "rounds" || table == "timings") reader.rounds();
  if (table == "evaluations") reader.evaluations();
  if (table == "certificates") reader.certificates();
  if (table == "regret") reader.regrets();
  if (table == "lemmas") reader.lemmas();
  if (table == "beliefs") reader.beliefs();
  if (table == "task_beliefs") reader.task_beliefs();
  if (table == "checksums") reader.checksums();
  if (table == "checkpoint" || table == "knowledge" || table == "policies") reader.state();
}

/// And made into what it describes.
void read_description(const RunReader& reader) {
  const RunDescription description = reader.description();
  const int parameters = description.experiment.features * description.experiment.actions;
  for (const StoredTask& task : description.tasks) task_of(task);
  for (const StoredSafeSet& set : description.safe_sets) safe_set_of(set, parameters);
}

/// Reads what was changed, or all of it.
void read_changed(const RunReader& reader, const std::set<std::string>& touched, bool all) {
  if (all) {
    const RunView view(reader);
    return;
  }
  if (std::any_of(touched.begin(), touched.end(), in_description)) read_description(reader);
  for (const std::string& table : touched) read_table(reader, table);
}

void show(const RunView& view) {
  summary_to_json(summarise(view)).dump();
  report_of({&view}).dump();
  policy_to_header(export_policy(view, "0"));
}

Bench& bench() {
  static Bench bench;
  return bench;
}

void try_tables(const std::vector<Change>& changes, std::size_t number) {
  OpenRun& run = bench().open_run(number % kClosedLoopShare == 0);
  run.with_changes(changes, [&](const RunReader& reader, const std::set<std::string>& touched) {
    if (!is_small(reader.header().experiment)) return;
    read_changed(reader, touched, number / kClosedLoopShare % kAllTablesShare == 0);
    if (number % kShownShare == 0) show(RunView(reader));
  });
}

void try_file(const std::filesystem::path& file, std::size_t number) {
  for (const Checksums checksums : {Checksums::ignore, Checksums::verify}) {
    expect_errors_at_most([&] {
      const RunReader reader(file, checksums);
      if (!is_small(reader.header().experiment)) return;
      const RunView view(reader);
      if (number % kShownShare == 0) show(view);
    });
  }
  if (number % kCheckedShare != 0) return;
  expect_errors_at_most([&] {
    if (!is_small(RunReader(file, Checksums::ignore).header().experiment)) return;
    check_run(file, {.checksums = Checksums::ignore});
  });
}

void try_input(std::string_view input) {
  const std::size_t number = std::hash<std::string_view>{}(input);
  const std::vector<Change> changes = changes_in(input);
  try_tables(changes, number);
  if (number % kWholeShare != 0) return;
  if (input.starts_with("SQLite format 3")) {
    bench().write_file(input);
  } else {
    bench().write_file(changes);
  }
  try_file(bench().file(), number);
}

}  // namespace lifeguard::run_file_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lifeguard::run_file_fuzz::try_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
