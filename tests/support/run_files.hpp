#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run_rows.hpp"
#include "tests/support/folder.hpp"

namespace lifeguard::run_files {

inline ExperimentConfig small_config(const std::string& method = "learner", int rounds = 30) {
  return parse_config(
      fmt::format("[experiment]\nname = \"small\"\nrounds = {}\ntasks = 3\n"
                  "trajectories = 16\nsteps = 100\nmethod = \"{}\"\nseeds = 2\n"
                  "[evaluation]\nstart_states = 4\n"
                  "[family]\nbase = \"mass-spring\"\n"
                  "[safe_set]\nslack_limit = 100\n[safe_set.lqr_box]\nreach = 0.5\n",
                  rounds, method),
      "small.toml");
}

/// Tests on run files, in a folder of their own.
class RunFiles : public test_support::Folder {};

/// Everything in a run file but its times, as text.
inline std::string results_of(const std::filesystem::path& path) {
  SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  std::string text;
  visit_tables([&](const auto& table) {
    if (table.name == "timings") return;
    SQLite::Statement query(
        database, fmt::format("SELECT {} FROM {} ORDER BY 1",
                              table.name == "checksums" ? "round, results" : "*", table.name));
    while (query.executeStep()) {
      text += table.name;
      for (int i = 0; i < query.getColumnCount(); ++i) {
        const SQLite::Column column = query.getColumn(i);
        text += '|';
        if (column.isFloat()) {
          text += fmt::format("{}", column.getDouble());
        } else if (column.getBytes() > 0) {
          text.append(static_cast<const char*>(column.getBlob()),
                      static_cast<std::size_t>(column.getBytes()));
        }
      }
      text += '\n';
    }
  });
  return text;
}

}  // namespace lifeguard::run_files
