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
// The file is SQLite's in memory (its VFS memdb), under the name of one that is there.

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
#include <nlohmann/json.hpp>
#include <optional>
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
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard::run_file_fuzz {

// Reading is what is tried, on every input. What is made of what was read takes ten times as long,
// and a check, which draws the experiment again, a hundred times: of so many inputs one goes
// through it, chosen by its bytes.
constexpr std::size_t kShownShare = 8;
constexpr std::size_t kCheckedShare = 64;

constexpr const char* kConfig =
    "[experiment]\nname = \"tiny\"\nrounds = 4\ntasks = 2\ntrajectories = 4\nsteps = 10\n"
    "[evaluation]\nstart_states = 2\n[family]\nbase = \"mass-spring\"\n"
    "[safe_set]\nslack_limit = 100\n[safe_set.lqr_box]\nreach = 0.5\n";

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "run_file_fuzz: %s\n", what);
  std::abort();
}

struct NamedColumn {
  std::string table;
  std::string key;
  std::string column;
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
    memory_.emplace(file_);
    visit_tables([&](const auto& table) {
      for (const auto& column : table.columns) {
        columns_.push_back({std::string(table.name), std::string(table.columns.front().name),
                            std::string(column.name)});
      }
    });
  }
  ~Bench() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& file() const { return file_; }

  void write(std::string_view bytes) const { memory_->write(bytes); }

  void write_changed(std::string_view changes) const {
    std::string bytes = whole_;
    std::vector<Change> in_tables;
    while (changes.size() >= 8) {
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(changes[i]); };
      Change change;
      change.place = byte(0) + 256U * byte(1);
      change.row = byte(2);
      change.kind = byte(3) % 8;
      const std::size_t length = std::min<std::size_t>(byte(4), changes.size() - 8);
      change.value = changes.substr(8, length);
      changes.remove_prefix(8 + length);
      if (change.kind < 6) {
        in_tables.push_back(change);
        continue;
      }
      const std::size_t place = (change.place + 65536U * change.row) % bytes.size();
      if (change.kind == 7) {
        bytes.resize(std::max<std::size_t>(place, 1));
      } else {
        const std::size_t most = std::min(change.value.size(), bytes.size() - place);
        std::copy_n(change.value.begin(), most, bytes.begin() + static_cast<long>(place));
      }
    }
    write(bytes);
    try {
      if (!in_tables.empty()) change_tables(in_tables);
    } catch (const SQLite::Exception&) {
      // Changes that SQLite does not take are none.
    }
  }

 private:
  struct Change {
    std::size_t place = 0;
    unsigned row = 0;
    unsigned kind = 0;
    std::string_view value;
  };

  void change_tables(const std::vector<Change>& changes) const {
    SQLite::Database database(file_.string(), SQLite::OPEN_READWRITE);
    database.exec(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; "
        "PRAGMA ignore_check_constraints = ON; BEGIN");
    for (const Change& change : changes) {
      const NamedColumn& column = columns_[change.place % columns_.size()];
      const std::string where = " WHERE " + column.key + " = (SELECT " + column.key + " FROM " +
                                column.table + " LIMIT 1 OFFSET " + std::to_string(change.row % 8) +
                                ")";
      if (change.kind == 5) {
        SQLite::Statement(database, "DELETE FROM " + column.table + where).exec();
        continue;
      }
      SQLite::Statement update(
          database, "UPDATE OR IGNORE " + column.table + " SET " + column.column + " = ?" + where);
      const std::string value(change.value);
      std::int64_t whole = 0;
      std::memcpy(&whole, value.data(), std::min(value.size(), sizeof(whole)));
      double number = 0;
      std::memcpy(&number, value.data(), std::min(value.size(), sizeof(number)));
      if (change.kind == 0) update.bind(1, whole);
      if (change.kind == 1) update.bind(1, number);
      if (change.kind == 2) update.bind(1, value);
      if (change.kind == 3) update.bind(1, value.data(), static_cast<int>(value.size()));
      if (change.kind == 4) update.bind(1);
      update.exec();
    }
    database.exec("COMMIT");
  }

  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::string whole_;
  std::optional<FileInMemory> memory_;
  std::vector<NamedColumn> columns_;
};

/// A file may ask for days of simulation; that is no fault of its reader.
bool is_small(const StoredExperiment& e) {
  return e.tasks <= 8 && static_cast<long>(e.steps) * e.start_states <= 10000 && e.steps <= 1000 &&
         e.trajectories <= 100 && e.k >= 0;
}

void read(const std::filesystem::path& file, Checksums checksums, bool shown) {
  try {
    const RunReader reader(file, checksums);
    if (!is_small(reader.header().experiment)) return;
    const RunView view(reader);
    if (!shown) return;
    summary_to_json(summarise(view)).dump();
    report_of({&view}).dump();
    policy_to_header(export_policy(view, "0"));
  } catch (const RunFileError&) {
  } catch (const InvalidInput&) {
  }
}

void check(const std::filesystem::path& file) {
  try {
    if (!is_small(RunReader(file, Checksums::ignore).header().experiment)) return;
    check_run(file, {.checksums = Checksums::ignore});
  } catch (const RunFileError&) {
  }
}

}  // namespace lifeguard::run_file_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fuzz = lifeguard::run_file_fuzz;
  static const fuzz::Bench bench;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("SQLite format 3")) {
    bench.write(input);
  } else {
    bench.write_changed(input);
  }
  const std::size_t number = std::hash<std::string_view>{}(input);
  const bool shown = number % fuzz::kShownShare == 0;
  fuzz::read(bench.file(), lifeguard::Checksums::ignore, shown);
  if (shown) fuzz::read(bench.file(), lifeguard::Checksums::verify, shown);
  if (number % fuzz::kCheckedShare == 0) fuzz::check(bench.file());
  return 0;
}
