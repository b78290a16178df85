#include "lifeguard/safety/solve/tightened_tasks.hpp"

#include <algorithm>
#include <cmath>

namespace lifeguard {

void TightenedTasks::tighten(const std::vector<ProjectionTask>& tasks, double margin) {
  bounds_.resize(tasks.size());
  tightened_.resize(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const ProjectionTask& task = tasks[t];
    bounds_[t] = (1 - margin) * task.reduced();
    tightened_[t] = {&task.rows(), &task.row_lengths(), &bounds_[t],
                     tightened_slack_limit(task.reduced().norm(), task.slack_limit(), margin)};
  }
}

double tightened_slack_limit(double anchor_slack, double slack_limit, double margin) {
  if (!std::isfinite(slack_limit)) return slack_limit;
  return std::max(slack_limit * (1 - 2 * margin),
                  0.5 * ((1 - margin) * anchor_slack + slack_limit - margin * anchor_slack));
}

}  // namespace lifeguard
