// What a damaged run file does: every column of every table is changed, every blob cut, every table
// emptied, and pages are overwritten. The check must find it, resume must refuse to go on from it,
// and nobody who reads the file may do worse than say what is wrong.

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_folder.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/played_runs.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::run_damage_test {

using run_files::RunFiles;
using run_files::small_config;

struct NamedColumn {
  std::string table;
  std::string key;
  std::string column;
  bool blob = false;

  std::string name() const { return table + "." + column; }
};

/// Every column of every table, by the description that also made the schema.
std::vector<NamedColumn> all_columns() {
  std::vector<NamedColumn> columns;
  visit_tables([&](const auto& table) {
    for (const auto& column : table.columns) {
      columns.push_back({std::string(table.name), std::string(table.columns.front().name),
                         std::string(column.name), column.type.starts_with("BLOB")});
    }
  });
  return columns;
}

std::vector<std::string> all_tables() {
  std::vector<std::string> tables;
  visit_tables([&](const auto& table) { tables.emplace_back(table.name); });
  return tables;
}

/// What only a run has that learnt from outside.
bool of_fleets(const std::string& table) {
  return table == "machines" || table == "changes" || table == "issues" || table == "observations";
}

/// What only a run has that believes something of its tasks.
bool of_beliefs(const std::string& table) { return table == "beliefs" || table == "task_beliefs"; }

class DamagedRuns : public RunFiles {
 protected:
  void SetUp() override {
    RunFiles::SetUp();
    start_run(small_config("learner", 12), path("whole.run"));
    RunOptions stop;
    stop.after_round = [](const auto&, const RoundOutcome& o) { return o.round.round < 7; };
    start_run(small_config("learner", 12), path("part.run"), stop);
  }

  /// A copy of a file, changed by some SQL.
  std::filesystem::path changed(const std::string& from, const std::string& sql) {
    for (const char* end : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path("changed.run" + std::string(end)));
    }
    std::filesystem::copy_file(path(from), path("changed.run"));
    SQLite::Database database(path("changed.run").string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF");
    database.exec(sql);
    return path("changed.run");
  }
};

/// A value that differs as little as can be: one more, one bit, one letter.
std::string slightly_changed(SQLite::Database& database, const NamedColumn& c, long row) {
  const std::string where = fmt::format("{} ORDER BY {} LIMIT 1 OFFSET {}", c.table, c.key, row);
  SQLite::Statement query(database, fmt::format("SELECT {} FROM {}", c.column, where));
  if (!query.executeStep()) return "";
  const SQLite::Column value = query.getColumn(0);
  if (value.isInteger())
    return fmt::format("{}", value.getInt64() + (c.column == c.key ? 1000 : 1));
  if (value.isFloat()) {
    const double number = value.getDouble();
    if (std::isinf(number)) return "1e300";
    return fmt::format("{}", number == 0 ? 1e-300 : std::nextafter(number, 2 * number));
  }
  if (value.isNull()) return "0.5";
  std::string bytes(static_cast<const char*>(value.getBlob()),
                    static_cast<std::size_t>(value.getBytes()));
  if (bytes.empty()) return value.isText() ? "'x'" : "x'00'";
  char& changed = bytes[bytes.size() / 2];
  if (value.isText()) {
    // One digit or letter for another.
    for (char& letter : bytes) {
      if (letter >= '0' && letter <= '8') {
        ++letter;
        return "'" + bytes + "'";
      }
    }
    changed = changed == 'x' ? 'y' : 'x';
    std::string quoted = "'";
    for (const char letter : bytes) quoted += letter == '\'' ? "''" : std::string(1, letter);
    return quoted + "'";
  }
  changed = static_cast<char>(changed ^ 1);
  std::string hex = "x'";
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex + "'";
}

/// The statement that changes a column in one row; empty if there is no such row.
std::string change_of(const std::filesystem::path& file, const NamedColumn& c, long row) {
  SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
  const std::string value = slightly_changed(database, c, row);
  if (value.empty()) return "";
  return fmt::format(
      "UPDATE {0} SET {1} = {2} WHERE {3} = (SELECT {3} FROM {0} ORDER BY {3} LIMIT 1 OFFSET {4})",
      c.table, c.column, value, c.key, row);
}

/// Everybody who looks at runs. Whatever the file holds, the worst is an error that names it.
void look_at(const std::filesystem::path& file, const std::string& what, bool in_folder = true) {
  const auto try_to = [&](const char* name, const auto& action) {
    try {
      action();
    } catch (const RunFileError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("changed.run")) << what << ": " << name;
    } catch (const InvalidInput&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << name << ": " << error.what();
    }
  };
  for (const Checksums checksums : {Checksums::verify, Checksums::ignore}) {
    std::optional<RunView> view;
    try_to("view", [&] { view.emplace(RunReader(file, checksums)); });
    if (!view) continue;
    try_to("info", [&] { summary_to_json(summarise(*view)).dump(); });
    try_to("report", [&] { report_of({&*view}).dump(); });
    for (const char* task : {"0", "1", "2"}) {
      try {
        policy_to_header(export_policy(*view, task));
      } catch (const RunFileError&) {  // an unsafe policy is refused
      }
    }
  }
  if (!in_folder) return;
  RunFolder folder(file.parent_path());
  EXPECT_THAT(*folder.list(), testing::HasSubstr("whole.run")) << what;
  EXPECT_TRUE(folder.report("", -1)) << what;
}

std::vector<std::string> findings_of(const std::filesystem::path& file, const CheckOptions& options,
                                     const std::string& what) {
  try {
    return check_run(file, options).findings;
  } catch (const RunFileError& error) {
    return {error.what()};
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
    return {};
  }
}

TEST_F(DamagedRuns, WholeOnesAreFine) {
  for (const char* file : {"whole.run", "part.run"}) {
    EXPECT_THAT(check_run(path(file)).findings, testing::IsEmpty());
    EXPECT_THAT(check_run(path(file), {.replay = true, .checksums = Checksums::ignore}).findings,
                testing::IsEmpty());
  }
}

TEST_F(DamagedRuns, EveryChangedColumnIsFoundByItsChecksum) {
  int changes = 0;
  for (const char* file : {"whole.run", "part.run"}) {
    for (const NamedColumn& column : all_columns()) {
      for (const long row : {0L, 4L}) {
        const std::string sql = change_of(path(file), column, row);
        if (sql.empty()) continue;
        const auto damaged = changed(file, sql);
        EXPECT_THAT(findings_of(damaged, {}, sql), testing::Not(testing::IsEmpty())) << sql;
        look_at(damaged, sql);
        ++changes;
      }
    }
  }
  EXPECT_GT(changes, 250);
}

TEST_F(DamagedRuns, EveryChangedResultIsFoundByPlayingAgain) {
  for (const NamedColumn& column : all_columns()) {
    if (column.table == "timings" || column.name() == "checksums.times") continue;
    if (of_fleets(column.table) || of_beliefs(column.table)) continue;
    const std::string sql = change_of(path("whole.run"), column, 0);
    ASSERT_NE(sql, "") << column.name();
    const CheckOptions options{.replay = true, .checksums = Checksums::ignore};
    EXPECT_THAT(findings_of(changed("whole.run", sql), options, sql),
                testing::Not(testing::IsEmpty()))
        << sql;
  }
}

TEST_F(DamagedRuns, AnUnfinishedRunDoesNotGoOnFromAnyChange) {
  for (const NamedColumn& column : all_columns()) {
    for (const long row : {0L, 4L}) {
      const std::string sql = change_of(path("part.run"), column, row);
      if (sql.empty()) continue;
      EXPECT_THROW(resume_run(changed("part.run", sql)), RunFileError) << sql;
    }
  }
  EXPECT_EQ(resume_run(changed("part.run", "SELECT 1")), RunStatus::finished);
}

TEST_F(DamagedRuns, DeletedAndAddedRowsAreFoundWithAndWithoutChecksums) {
  for (const std::string& table : all_tables()) {
    if (of_fleets(table) || of_beliefs(table)) continue;
    std::vector<std::string> statements = {
        fmt::format("DELETE FROM {}", table),
        fmt::format("DELETE FROM {0} WHERE rowid = (SELECT max(rowid) FROM {0})", table),
        fmt::format("DELETE FROM {0} WHERE rowid = (SELECT min(rowid) FROM {0})", table)};
    for (const char* file : {"whole.run", "part.run"}) {
      for (const std::string& sql : statements) {
        const auto damaged = changed(file, sql);
        for (const Checksums checksums : {Checksums::verify, Checksums::ignore}) {
          if (checksums == Checksums::ignore && table == "checksums") continue;
          EXPECT_THAT(findings_of(damaged, {.checksums = checksums}, sql),
                      testing::Not(testing::IsEmpty()))
              << file << ": " << sql;
        }
        look_at(damaged, sql);
        if (std::string(file) == "part.run") {
          EXPECT_THROW(resume_run(damaged), RunFileError) << sql;
        }
      }
    }
  }
}

TEST_F(DamagedRuns, ContradictionsAreFoundWithoutChecksums) {
  const double half[3] = {0.5, 0.5, 0.5};
  std::string blob = "x'";
  for (std::size_t i = 0; i < sizeof(half); ++i) {
    blob += fmt::format("{:02x}", reinterpret_cast<const unsigned char*>(half)[i]);
  }
  blob += "'";
  const std::vector<std::string> statements = {
      "UPDATE rounds SET unsafe = 2",
      "UPDATE rounds SET unsafe = 1 WHERE round = 5",
      "UPDATE rounds SET task = (task + 1) % 3 WHERE round = 5",
      "UPDATE rounds SET visit = visit + 1 WHERE round = 5",
      "UPDATE rounds SET fallbacks = 1 WHERE round = 5",
      "UPDATE rounds SET worst_row = 'no such row' WHERE round = 5",
      "UPDATE rounds SET worst_margin = worst_margin + 1 WHERE round = 5",
      "UPDATE evaluations SET round = 13 WHERE round = 12",
      "UPDATE evaluations SET costs = " + blob + " WHERE round = 0",
      "UPDATE evaluations SET margins = " + blob + " WHERE round = 5",
      "UPDATE evaluations SET costs = " + blob + " WHERE round = 5",
      "UPDATE certificates SET margins = " + blob + " WHERE round = 5",
      "UPDATE certificates SET worst_rows = x'090000000900000009000000' WHERE round = 5",
      "UPDATE certificates SET spectrum = zeroblob(16) WHERE round = 5",
      "UPDATE certificates SET spectrum_holds = 0 WHERE round = 5",
      "UPDATE certificates SET fingerprint = 'x' WHERE round = 12",
      "DELETE FROM certificates",
      "DELETE FROM policies",
      "UPDATE regret SET round = 11 WHERE round = 10",
      "INSERT INTO regret (round, surrogate) VALUES (11, 1)",
      "UPDATE regret SET surrogate = bound + abs(bound) + 1 WHERE round = 10",
      "UPDATE regret SET bound = surrogate - abs(surrogate) - 1 WHERE round = 10",
      "UPDATE regret SET bound = 2 * bound + 100 * abs(bound) + 100 WHERE round = 10",
      "UPDATE regret SET bound = NULL WHERE round = 10",
      "UPDATE regret SET bound_rounds = -1 - bound_rounds WHERE round = 10",
      "UPDATE lemmas SET knowledge = 2 * knowledge_bound WHERE round = 5",
      "UPDATE tasks SET name = 'another' WHERE task = 1",
      "UPDATE tasks SET parameters = replace(parameters, 'mass', 'weight') WHERE task = 1",
      "UPDATE tasks SET sigma = 2 * sigma WHERE task = 1",
      "UPDATE tasks SET first_policy = x'000000000000f03f000000000000f03f' WHERE task = 1",
      "UPDATE safe_sets SET slack_limit = 101 WHERE safe_set = 1",
      "UPDATE settings SET value = 'x' WHERE key = 'learner.zeta'",
      "UPDATE experiment SET steps = 101",
      "UPDATE experiment SET method = 'pg'",
      "UPDATE experiment SET k = 1",
      "UPDATE meta SET value = 'pg' WHERE key = 'method'",
      "INSERT INTO meta VALUES ('another', 'key')",
      "CREATE TABLE junk (x)",
      "CREATE TRIGGER late AFTER INSERT ON rounds BEGIN DELETE FROM rounds; END",
      "CREATE VIEW seen AS SELECT * FROM rounds",
      "CREATE INDEX quick ON rounds (task)",
      "ALTER TABLE rounds ADD COLUMN more",
      "UPDATE policies SET parameters = zeroblob(16) WHERE task = 1",
      "UPDATE knowledge SET coefficients = zeroblob(48)",
      "UPDATE checkpoint SET round = 11",
      "UPDATE rounds SET round = 13 WHERE round = 12; "  // NOLINT(bugprone-suspicious-missing-comma)
      "UPDATE timings SET round = 13 WHERE round = 12",
  };
  for (const std::string& sql : statements) {
    const auto damaged = changed("whole.run", sql);
    EXPECT_THAT(findings_of(damaged, {.checksums = Checksums::ignore}, sql),
                testing::Not(testing::IsEmpty()))
        << sql;
    look_at(damaged, sql);
  }
}

TEST_F(DamagedRuns, ValuesOfAnyKindInAnyColumnAreNoMoreThanAnError) {
  const std::vector<std::string> values = {"NULL",
                                           "-1",
                                           "9223372036854775807",
                                           "1e308",
                                           "'text'",
                                           "x''",
                                           "zeroblob(4096)",
                                           "cast(x'ff8041' AS TEXT)",
                                           "replace(hex(zeroblob(50000)), '0', '[')"};
  int changes = 0;
  for (const NamedColumn& column : all_columns()) {
    for (const std::string& value : values) {
      // The same table without its rules, so that it takes anything.
      const std::string sql = fmt::format(
          "CREATE TABLE copy AS SELECT * FROM {0}; DROP TABLE {0}; ALTER TABLE copy RENAME TO {0}; "
          "UPDATE {0} SET {1} = {2}",
          column.table, column.column, value);
      const auto damaged = changed("whole.run", sql);
      // A folder of runs reads all of them: one change in four, so that it sees every value.
      look_at(damaged, sql, /*in_folder=*/++changes % 4 == 0);
      findings_of(damaged, {.checksums = Checksums::ignore}, sql);
    }
  }
  EXPECT_GT(changes, 900);
}

TEST_F(DamagedRuns, CutBlobsAreNamed) {
  int cut = 0;
  for (const NamedColumn& column : all_columns()) {
    if (!column.blob || column.table == "checkpoint" || of_fleets(column.table) ||
        of_beliefs(column.table)) {
      continue;
    }
    for (const char* value : {"substr({0}, 2)", "substr({0}, 9)", "x''", "{0} || zeroblob(8)"}) {
      const std::string sql =
          fmt::format("UPDATE {} SET {} = cast({} AS BLOB)", column.table, column.column,
                      fmt::format(fmt::runtime(value), column.column));
      try {
        const RunView view(changed("whole.run", sql));
        ADD_FAILURE() << sql;
      } catch (const DamagedRunFile& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("changed.run is damaged")) << sql;
        if (column.table != "safe_sets") {  // whose lengths only fit each other
          EXPECT_THAT(error.what(), testing::HasSubstr("table " + column.table)) << sql;
          EXPECT_THAT(error.what(), testing::HasSubstr("column " + column.column)) << sql;
          EXPECT_THAT(error.what(), testing::HasSubstr("bytes")) << sql;
        }
      }
      ++cut;
    }
  }
  EXPECT_GE(cut, 60);
}

TEST_F(DamagedRuns, MissingTablesColumnsAndViewsInTheirPlaceAreNoMoreThanAnError) {
  std::vector<std::string> statements;
  for (const std::string& table : all_tables()) {
    statements.push_back("DROP TABLE " + table);
    statements.push_back(fmt::format(
        "ALTER TABLE {0} RENAME TO hidden; CREATE VIEW {0} AS SELECT * FROM hidden", table));
  }
  for (const NamedColumn& column : all_columns()) {
    if (column.column == column.key) continue;
    statements.push_back(fmt::format("ALTER TABLE {} DROP COLUMN {}", column.table, column.column));
  }
  for (const std::string& sql : statements) {
    const auto damaged = changed("part.run", sql);
    EXPECT_THAT(findings_of(damaged, {}, sql), testing::Not(testing::IsEmpty())) << sql;
    look_at(damaged, sql);
    EXPECT_THROW(resume_run(damaged), RunFileError) << sql;
  }
}

TEST_F(DamagedRuns, OverwrittenAndMissingPagesAreFound) {
  const auto size = static_cast<long>(std::filesystem::file_size(path("whole.run")));
  const CounterRandom random(3, RandomStream::user, 0);
  auto draw = [&, n = 0U](double to) mutable {
    return static_cast<long>(random.uniform(n++) * to);
  };
  for (int attempt = 0; attempt < 120; ++attempt) {
    const auto damaged = changed("whole.run", "SELECT 1");
    std::string what;
    if (attempt % 3 == 0) {
      const long kept = draw(static_cast<double>(size));
      std::filesystem::resize_file(damaged, static_cast<std::uintmax_t>(kept));
      what = fmt::format("cut to {} bytes", kept);
    } else {
      std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
      const long length = attempt % 3 == 1 ? 4096 : 1 + draw(16);
      const long place = attempt % 3 == 1 ? 4096 * draw(static_cast<double>(size) / 4096)
                                          : draw(static_cast<double>(size - length));
      file.seekp(place);
      for (long i = 0; i < length; ++i) file.put(static_cast<char>(draw(256)));
      what = fmt::format("{} bytes overwritten at {}", length, place);
    }
    look_at(damaged, what);
    findings_of(damaged, {.replay = true}, what);
    // Bytes that no table uses may be anything; a whole page or the end of the file is missed.
    if (attempt % 3 != 2) {
      EXPECT_THAT(findings_of(damaged, {}, what), testing::Not(testing::IsEmpty())) << what;
    }
  }
}

TEST_F(DamagedRuns, AFolderShowsWhatIsWrongWithEachFileAndTheOthersAsEver) {
  std::ofstream(path("empty.run")).close();
  std::ofstream(path("text.run")) << "not a run";
  changed("part.run", "UPDATE rounds SET played = x'00' WHERE round = 3");
  RunWriter::create(path("young.run"), lifeguard::Run(small_config("pg", 12)).description());
  RunFolder folder(folder_);
  const auto list = nlohmann::json::parse(*folder.list())["runs"];
  std::map<std::string, std::string> problems;
  for (const auto& row : list) problems[row["name"]] = row.value("problem", "");
  ASSERT_EQ(problems.size(), 6U);
  EXPECT_EQ(problems["whole.run"], "");
  EXPECT_EQ(problems["part.run"], "");
  EXPECT_EQ(problems["young.run"], "");
  EXPECT_EQ(problems["empty.run"], "empty.run is not a run file: it is empty");
  EXPECT_THAT(problems["text.run"], testing::StartsWith("text.run is not a run file"));
  EXPECT_EQ(
      problems["changed.run"],
      "changed.run is damaged: table rounds, round 3, column played: has 1 bytes, must have 16");
  const auto report = nlohmann::json::parse(*folder.report("", -1));
  ASSERT_EQ(report["experiments"].size(), 1U);
  EXPECT_EQ(report["experiments"][0]["runs"].size(), 3U);
  EXPECT_THROW(folder.report("changed.run", -1), RunFileError);
  EXPECT_THROW(folder.report("text.run", -1), RunFileError);
  EXPECT_FALSE(folder.report("none.run", -1));
  EXPECT_TRUE(folder.report("whole.run", -1));
}

/// A run of empirical Bayes, and what is stored of what it believes.
class DamagedBeliefs : public DamagedRuns {
 protected:
  void SetUp() override {
    DamagedRuns::SetUp();
    start_run(small_believing_experiment(), path("believing.run"));
  }
};

TEST_F(DamagedBeliefs, WholeOnesHold) {
  for (const Checksums checksums : {Checksums::verify, Checksums::ignore}) {
    EXPECT_THAT(
        findings_of(path("believing.run"), {.replay = true, .checksums = checksums}, "whole"),
        testing::IsEmpty());
  }
}

TEST_F(DamagedBeliefs, EveryChangeIsFoundByItsChecksumAndByPlayingAgain) {
  int changes = 0;
  for (const NamedColumn& column : all_columns()) {
    if (!of_beliefs(column.table) && column.name() != "rounds.agreement") continue;
    for (const long row : {0L, 4L}) {
      const std::string sql = change_of(path("believing.run"), column, row);
      ASSERT_NE(sql, "") << column.name();
      const auto damaged = changed("believing.run", sql);
      EXPECT_THAT(findings_of(damaged, {}, sql), testing::Not(testing::IsEmpty())) << sql;
      EXPECT_THAT(findings_of(damaged, {.replay = true, .checksums = Checksums::ignore}, sql),
                  testing::Not(testing::IsEmpty()))
          << sql;
      look_at(damaged, sql);
      ++changes;
    }
  }
  EXPECT_EQ(changes, 28);
}

TEST_F(DamagedBeliefs, ContradictionsAreFoundWithoutChecksums) {
  std::vector<std::string> statements = {
      "UPDATE rounds SET agreement = NULL WHERE round = 5",
      "UPDATE rounds SET agreement = 1.5 WHERE round = 5",
      "UPDATE beliefs SET trust_in_mean = -1 WHERE round = 5",
      "UPDATE beliefs SET trust_in_mean = NULL WHERE round = 5",
      "UPDATE beliefs SET units = zeroblob(16) WHERE round = 5",
      "UPDATE beliefs SET variances = x'000000000000f03f0000000000000040' WHERE round = 5",
      "UPDATE beliefs SET directions = zeroblob(32) WHERE round = 5",
      "UPDATE beliefs SET readings = directions WHERE round = 5",
      "UPDATE beliefs SET places = substr(places, 1, 24) || "  // NOLINT(bugprone-suspicious-missing-comma)
      "x'000000000000f0bf' || "
      "substr(places, 33) WHERE round = 5",
      // The last ones, which the stored learner has as well.
      "UPDATE beliefs SET mean = zeroblob(16) WHERE round = 12",
      "UPDATE beliefs SET places = zeroblob(120) WHERE round = 12",
      "UPDATE task_beliefs SET task = (task + 1) % 3 WHERE moment = 6",
      "UPDATE task_beliefs SET visit = visit + 1 WHERE moment = 6",
      "UPDATE task_beliefs SET covariance = x'000000000000f0bf' || zeroblob(16) WHERE moment = 6",
  };
  for (const char* table : {"beliefs", "task_beliefs"}) {
    statements.push_back(fmt::format("DELETE FROM {}", table));
    statements.push_back(
        fmt::format("DELETE FROM {0} WHERE rowid = (SELECT max(rowid) FROM {0})", table));
    statements.push_back(
        fmt::format("DELETE FROM {0} WHERE rowid = (SELECT min(rowid) FROM {0})", table));
  }
  for (const std::string& sql : statements) {
    const auto damaged = changed("believing.run", sql);
    EXPECT_THAT(findings_of(damaged, {.checksums = Checksums::ignore}, sql),
                testing::Not(testing::IsEmpty()))
        << sql;
    look_at(damaged, sql);
  }
  // And beliefs of a learner that has none.
  const std::string foreign =
      "INSERT INTO beliefs VALUES (5, 1, zeroblob(16), zeroblob(16), zeroblob(16), zeroblob(32), "
      "zeroblob(32), zeroblob(120))";
  start_run(small_config("pg", 12), path("pg.run"));
  EXPECT_THAT(findings_of(changed("pg.run", foreign), {.checksums = Checksums::ignore}, foreign),
              testing::Not(testing::IsEmpty()));
  look_at(changed("pg.run", foreign), foreign);
}

TEST_F(DamagedBeliefs, CutBlobsAreNamedAndOtherValuesAreNoMoreThanAnError) {
  for (const NamedColumn& column : all_columns()) {
    if (!of_beliefs(column.table)) continue;
    for (const char* value : {"substr({0}, 2)", "substr({0}, 9)", "x''", "{0} || zeroblob(8)"}) {
      if (!column.blob) break;
      const std::string sql =
          fmt::format("UPDATE {} SET {} = cast({} AS BLOB)", column.table, column.column,
                      fmt::format(fmt::runtime(value), column.column));
      try {
        const RunView view(changed("believing.run", sql));
        ADD_FAILURE() << sql;
      } catch (const DamagedRunFile& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("table " + column.table)) << sql;
        EXPECT_THAT(error.what(), testing::HasSubstr("column " + column.column)) << sql;
        EXPECT_THAT(error.what(), testing::HasSubstr("bytes")) << sql;
      }
    }
    for (const char* value :
         {"NULL", "-1", "9223372036854775807", "1e308", "'text'", "zeroblob(4096)",
          "zeroblob(length({0}))", "cast(replace(hex({0}), '00', 'ff') AS BLOB)"}) {
      const std::string sql = fmt::format(
          "CREATE TABLE copy AS SELECT * FROM {0}; DROP TABLE {0}; ALTER TABLE copy RENAME TO {0}; "
          "UPDATE {0} SET {1} = {2}",
          column.table, column.column, fmt::format(fmt::runtime(value), column.column));
      const auto damaged = changed("believing.run", sql);
      look_at(damaged, sql, /*in_folder=*/false);
      findings_of(damaged, {.checksums = Checksums::ignore}, sql);
    }
  }
}

/// A fleet that learnt four rounds from outside; one machine was added and one changed on the way.
class DamagedFleets : public DamagedRuns {
 protected:
  void SetUp() override {
    DamagedRuns::SetUp();
    play_small_fleet(path("fleet.run"));
  }
};

TEST_F(DamagedFleets, AWholeOneHolds) {
  EXPECT_THAT(findings_of(path("fleet.run"), {}, ""), testing::IsEmpty());
  EXPECT_THAT(findings_of(path("fleet.run"), {.replay = true}, ""), testing::IsEmpty());
}

TEST_F(DamagedFleets, EveryChangeIsFound) {
  int changes = 0;
  for (const NamedColumn& column : all_columns()) {
    for (const long row : {0L, 2L}) {
      const std::string sql = change_of(path("fleet.run"), column, row);
      if (sql.empty()) continue;
      const auto damaged = changed("fleet.run", sql);
      EXPECT_THAT(findings_of(damaged, {}, sql), testing::Not(testing::IsEmpty())) << sql;
      look_at(damaged, sql, false);
      ++changes;
    }
  }
  EXPECT_GT(changes, 150);
}

TEST_F(DamagedFleets, DeletedRowsAreFound) {
  for (const std::string& table : all_tables()) {
    if (of_beliefs(table)) continue;
    if (table == "lemmas") continue;
    const std::vector<std::string> statements = {
        fmt::format("DELETE FROM {}", table),
        fmt::format("DELETE FROM {0} WHERE rowid = (SELECT max(rowid) FROM {0})", table)};
    for (const std::string& sql : statements) {
      const auto damaged = changed("fleet.run", sql);
      EXPECT_THAT(findings_of(damaged, {}, sql), testing::Not(testing::IsEmpty())) << sql;
      look_at(damaged, sql, false);
    }
  }
}

TEST_F(DamagedFleets, NoFleetGoesOnFromADamagedState) {
  for (const char* sql :
       {"UPDATE checkpoint SET state = replace(state, '1', '2')", "DELETE FROM machines",
        "UPDATE tasks SET sigma = 0.5", "DELETE FROM checkpoint", "DELETE FROM policies"}) {
    EXPECT_THROW(FleetRun(small_fleet(), changed("fleet.run", sql)), RunFileError) << sql;
  }
}

}  // namespace lifeguard::run_damage_test
