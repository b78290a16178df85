#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard {

// What is drawn or evaluated again on another computer, with another library of functions, may
// differ in the last digits. That is no damage: damage to the last digit is the checksums' to find.
inline constexpr double kDrawnAgain = 1e-9;
inline constexpr double kEvaluatedAgain = 1e-6;

/// Whether two numbers agree to that part of the larger one and of a unit.
bool nearly_equal(double a, double b, double tolerance, double unit = 0);

/// Whether both are JSON objects with the same keys and nearly the same numbers.
bool nearly_same_object(std::string_view a, std::string_view b);

/// The row of a round in rows ordered by it; null if there is none.
template <class Row>
const Row* row_of(const std::vector<Row>& rows, long round) {
  const auto found = std::lower_bound(rows.begin(), rows.end(), round,
                                      [](const Row& row, long r) { return row.round < r; });
  return found != rows.end() && found->round == round ? &*found : nullptr;
}

/// What a check has read of a run file, and what it has found. Internal, not installed: the parts
/// of check_run() (run_check.cpp has the list) share it.
struct CheckedRun {
  CheckedRun(const std::filesystem::path& path, const CheckOptions& how);

  CheckOptions options;
  std::optional<RunReader> reader;
  std::optional<RunView> view;
  RunDescription description;
  std::optional<RunState> state;  // as it is stored
  std::vector<StoredChecksum> checksums;
  ExperimentConfig config;
  std::vector<StoredEvaluation> evaluations;
  std::vector<Task> absent;    // of systems that are not registered here
  std::unique_ptr<Run> again;  // what the configuration and the seed give
  RunCheck result;
  std::vector<std::string> unsafe;

  const RunHeader& header() const { return view->header; }
  const StoredExperiment& experiment() const { return view->header.experiment; }
  bool observed() const { return view->header.observed; }
  int schema() const { return header().schema_version; }
  /// More of the same kind says nothing new.
  bool full() const { return result.findings.size() >= kMostFindings; }

  void find(const std::string& finding);
  /// A policy that was played and broke its constraints. Methods without constraints have many of
  /// them, which must not hide what else is found.
  void find_unsafe(const std::string& finding);

  /// Everything, so that the file is not held open while it is thought about. False if it makes no
  /// sense to go on.
  bool read();

  /// Finds the columns that differ, or with a tolerance differ by more; `when` begins the findings.
  template <class Row>
  void compare(const Table<Row>& table, const Row& found, const Row& expected, double tolerance,
               std::string_view when) {
    for (const Column<Row>& column : table.columns) {
      if (column.since > schema()) continue;
      const Cell a = column.get(found);
      const Cell b = column.get(expected);
      const std::string what = difference(a, b, tolerance);
      if (what.empty()) continue;
      const auto* text = std::get_if<std::string_view>(&a);
      const auto* wanted = std::get_if<std::string_view>(&b);
      if (tolerance > 0 && text != nullptr && wanted != nullptr &&
          nearly_same_object(*text, *wanted)) {
        continue;
      }
      const Cell key = table.columns.front().get(expected);
      const std::string place =
          std::holds_alternative<std::int64_t>(key)
              ? fmt::format("{} {}", table.columns.front().name, std::get<std::int64_t>(key))
              : std::string(std::get<std::string_view>(key));
      find(
          fmt::format("{}table {}, {}, column {}: {}", when, table.name, place, column.name, what));
    }
  }

  template <class Row>
  void compare(const std::vector<Row>& found, const std::vector<Row>& expected, double tolerance,
               std::string_view when) {
    const Table<Row>& table = table_of<Row>();
    if (found.size() != expected.size()) {
      find(fmt::format("{}table {} has {} rows, must have {}", when, table.name, found.size(),
                       expected.size()));
    }
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
      compare(table, found[i], expected[i], tolerance, when);
    }
  }

  /// The rows are of these rounds, all of them and no others.
  template <class Row>
  bool in_their_places(const std::vector<Row>& rows, const std::vector<long>& expected) {
    const std::string_view table = table_of<Row>().name;
    std::size_t i = 0;
    for (const long round : expected) {
      if (i < rows.size() && rows[i].round == round) {
        ++i;
        continue;
      }
      if (i < rows.size() && rows[i].round < round) {
        find(fmt::format("table {}, round {}: must not be there", table, rows[i].round));
      } else {
        find(fmt::format("table {}, round {}: is missing", table, round));
      }
      return false;
    }
    if (i < rows.size()) {
      find(fmt::format("table {}, round {}: must not be there", table, rows[i].round));
    }
    return i == rows.size();
  }

  std::vector<long> all_rounds(bool wanted) const {
    std::vector<long> rounds;
    for (std::size_t i = 1; wanted && i <= view->rounds.size(); ++i) {
      rounds.push_back(static_cast<long>(i));
    }
    return rounds;
  }

  // What is said of policies, against those that are stored: the first ones, the last ones, and
  // after every round the one that the next round played.

  /// Calls visit(task, α) for each policy after the round that is known.
  template <class Visit>
  void known_policies_after(long round, const Visit& visit) const {
    if (observed()) {
      // Rounds may be of policies that were handed out long before, and machines begin when they
      // come: the last ones are known, unless the fleet has changed since.
      const bool changed = !view->changes.empty() && view->changes.back().round >= round;
      if (round != header().rounds_done || round == 0 || changed) return;
    }
    if (round == header().rounds_done || round == 0) {
      const Eigen::MatrixXd& all = round == 0 ? view->first_policies : view->policies;
      for (int t = 0; t < experiment().tasks; ++t) visit(t, Eigen::VectorXd(all.col(t)));
    } else if (const StoredRound* next = row_of(view->rounds, round + 1)) {
      visit(next->task, next->played);
    }
  }

 private:
  static constexpr std::size_t kMostFindings = 20;

  /// With what the rows and gains in it mean.
  std::string explained(const std::string& finding) const;
};

}  // namespace lifeguard
