#pragma once

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// What the charts of one run are made from, beside what its file holds. All tasks' parameter
/// vectors are columns.
struct RunDetails {
  const RunView* run = nullptr;
  std::vector<std::string> parameters;  // names
  std::vector<std::string> tasks;       // names
  std::vector<SafeSet> safe_sets;       // one for each task; none without constraints
  Eigen::MatrixXd policies;
  Eigen::MatrixXd lqr;           // empty if it is not known
  Eigen::MatrixXd coefficients;  // what tells the tasks apart: s, or the policies themselves
  bool has_coefficients = false;

  /// The task with the least margin now; the first one without constraints.
  std::size_t worst_task() const;
};

/// Adds the details of one run to its entry in the report, the tasks with their policies and
/// flights, and gives what its charts are made from. `since` as in report_data. The view must
/// outlive the result.
RunDetails describe_run(const RunView& run, long since, nlohmann::ordered_json& entry);

/// Enough for paths and pictures, and a third of the size.
double six_digits(double value);
Eigen::VectorXd with_six_digits(const Eigen::VectorXd& values);
std::vector<double> entries(const Eigen::VectorXd& values);
std::vector<double> six_digit_entries(const Eigen::VectorXd& values);

/// The most points of a path of one task: it has many numbers a point.
inline constexpr std::size_t kPathPoints = 100;

/// Which of the points `first` … `count` - 1 of a curve are kept: all, or evenly spread ones with
/// both ends.
std::vector<std::size_t> thinned(std::size_t first, std::size_t count, std::size_t limit);

/// The first of rows ordered by .round that comes after `since`.
template <typename Row>
std::size_t first_after(const std::vector<Row>& rows, long since) {
  std::size_t i = 0;
  while (i < rows.size() && rows[i].round <= since) ++i;
  return i;
}

}  // namespace lifeguard
