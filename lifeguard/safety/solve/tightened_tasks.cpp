#include "lifeguard/safety/solve/tightened_tasks.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

void TightenedTasks::tighten(const std::vector<ProjectionTask>& tasks, double margin) {
  tasks_ = &tasks;
  margin_ = margin;
  bounds_.resize(tasks.size());
  tightened_.resize(tasks.size());
  grown_.resize(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const ProjectionTask& task = tasks[t];
    bounds_[t] = (1 - margin) * task.reduced();
    tightened_[t] = {&task.rows(), &task.row_lengths(), &bounds_[t],
                     tightened_slack_limit(task.reduced().norm(), task.slack_limit(), margin)};
    if (task.inequalities().empty()) continue;
    grown_[t].rows = task.rows();
    grown_[t].lengths = task.row_lengths();
    tightened_[t] = {&grown_[t].rows, &grown_[t].lengths, &bounds_[t], kInfinity};
  }
}

void TightenedTasks::cut(std::size_t task, const Eigen::VectorXd& policy) {
  const ProjectionTask& of = (*tasks_)[task];
  tangents_.clear();
  curved_constraints(of).add_tangents(policy, 1, tangents_);
  auto& [rows, lengths] = grown_[task];
  Eigen::VectorXd& bounds = bounds_[task];
  const Eigen::Index before = rows.rows();
  const Eigen::Index after = before + static_cast<Eigen::Index>(tangents_.size());
  rows.conservativeResize(after, of.anchor().size());
  lengths.conservativeResize(after);
  bounds.conservativeResize(after);
  Eigen::Index row = before;
  for (const GainInequality::Tangent& tangent : tangents_) {
    const double bound = tangent.bound - tangent.row.dot(of.anchor());
    // The anchor is strictly inside, so only rounding can take its place away.
    if (!(bound > 0)) continue;
    rows.row(row) = tangent.row.transpose();
    lengths(row) = tangent.row.norm();
    bounds(row) = (1 - margin_) * bound;
    ++row;
  }
  rows.conservativeResize(row, Eigen::NoChange);
  lengths.conservativeResize(row);
  bounds.conservativeResize(row);
}

double tightened_slack_limit(double anchor_slack, double slack_limit, double margin) {
  if (!std::isfinite(slack_limit)) return slack_limit;
  return std::max(slack_limit * (1 - 2 * margin),
                  0.5 * ((1 - margin) * anchor_slack + slack_limit - margin * anchor_slack));
}

}  // namespace lifeguard
