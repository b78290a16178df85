// Whatever a run file holds, whoever reads it ends with an answer or with an error that says what
// is wrong with the file: never with a crash.
//
// An input that begins as a SQLite file does is taken as a whole file. Any other one is a list of
// changes to a small run that was just played, which gets past SQLite's own checks and to ours:
// eight bytes say which column of which table, which row and what kind of value, the value follows.

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace {

using namespace lifeguard;

constexpr const char* kConfig =
    "[experiment]\nname = \"tiny\"\nrounds = 4\ntasks = 2\ntrajectories = 4\nsteps = 10\n"
    "[evaluation]\nstart_states = 2\n[family]\nbase = \"mass-spring\"\n"
    "[safe_set]\nslack_limit = 100\n[safe_set.lqr_box]\nreach = 0.5\n";

struct NamedColumn {
  std::string table;
  std::string key;
  std::string column;
};

class Bench {
 public:
  Bench() {
    const std::filesystem::path memory = "/dev/shm";
    folder_ =
        (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
        ("lifeguard-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "input.run";
    start_run(parse_config(kConfig, "tiny.toml"), file_);
    std::ostringstream bytes;
    bytes << std::ifstream(file_, std::ios::binary).rdbuf();
    whole_ = bytes.str();
    visit_tables([&](const auto& table) {
      for (const auto& column : table.columns) {
        columns_.push_back({std::string(table.name), std::string(table.columns.front().name),
                            std::string(column.name)});
      }
    });
  }
  ~Bench() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& file() const { return file_; }

  void write(std::string_view bytes) const {
    for (const char* end : {"-wal", "-shm", "-journal"}) {
      std::filesystem::remove(file_.string() + end);
    }
    std::ofstream out(file_, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void write_changed(std::string_view changes) const {
    write(whole_);
    SQLite::Database database(file_.string(), SQLite::OPEN_READWRITE);
    database.exec(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; "
        "PRAGMA ignore_check_constraints = ON");
    while (changes.size() >= 8) {
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(changes[i]); };
      const NamedColumn& column = columns_[(byte(0) + 256U * byte(1)) % columns_.size()];
      const int row = byte(2) % 8;
      const int kind = byte(3) % 6;
      const std::size_t length = std::min<std::size_t>(byte(4), changes.size() - 8);
      const std::string value(changes.substr(8, length));
      changes.remove_prefix(8 + length);
      try {
        if (kind == 5) {
          SQLite::Statement(database, "DELETE FROM " + column.table + " WHERE " + column.key +
                                          " = (SELECT " + column.key + " FROM " + column.table +
                                          " LIMIT 1 OFFSET " + std::to_string(row) + ")")
              .exec();
          continue;
        }
        SQLite::Statement update(
            database, "UPDATE OR IGNORE " + column.table + " SET " + column.column + " = ? WHERE " +
                          column.key + " = (SELECT " + column.key + " FROM " + column.table +
                          " LIMIT 1 OFFSET " + std::to_string(row) + ")");
        std::int64_t whole = 0;
        std::memcpy(&whole, value.data(), std::min(value.size(), sizeof(whole)));
        double number = 0;
        std::memcpy(&number, value.data(), std::min(value.size(), sizeof(number)));
        if (kind == 0) update.bind(1, whole);
        if (kind == 1) update.bind(1, number);
        if (kind == 2) update.bind(1, value);
        if (kind == 3) update.bind(1, value.data(), static_cast<int>(value.size()));
        if (kind == 4) update.bind(1);
        update.exec();
      } catch (const SQLite::Exception&) {
        // A change that SQLite does not take is none.
      }
    }
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
  std::string whole_;
  std::vector<NamedColumn> columns_;
};

/// A file may ask for days of simulation; that is no fault of its reader.
bool is_small(const StoredExperiment& e) {
  return e.tasks <= 8 && static_cast<long>(e.steps) * e.start_states <= 10000 && e.steps <= 1000 &&
         e.trajectories <= 100 && e.k >= 0;
}

void read_all(const std::filesystem::path& file) {
  for (const Checksums checksums : {Checksums::verify, Checksums::ignore}) {
    try {
      const RunReader reader(file, checksums);
      if (!is_small(reader.header().experiment)) return;
      const RunView view(reader);
      summary_to_json(summarise(view)).dump();
      report_of({&view}).dump();
      policy_to_header(export_policy(view, "0"));
    } catch (const RunFileError&) {
    } catch (const InvalidInput&) {
    }
  }
  try {
    check_run(file, {.checksums = Checksums::ignore});
  } catch (const RunFileError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bench bench;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("SQLite format 3")) {
    bench.write(input);
  } else {
    bench.write_changed(input);
  }
  read_all(bench.file());
  return 0;
}
