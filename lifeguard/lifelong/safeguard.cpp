#include "lifeguard/lifelong/safeguard.hpp"

#include <algorithm>

#include "lifeguard/safety/prove/safety_view.hpp"

namespace lifeguard {
namespace {

ProjectionTask projection_task(const SafeSet& set, const Eigen::VectorXd& anchor) {
  return {set.coefficients(), set.limits(), anchor, set.slack_limit()};
}

}  // namespace

Safeguard::Safeguard(const ProjectionSettings& settings) : projection_(settings) {}

void Safeguard::add_task(const SafeSet& set, const Eigen::VectorXd& anchor) {
  tasks_.push_back(projection_task(set, anchor));
  safe_sets_.push_back(set);
}

void Safeguard::replace_task(int task, const SafeSet& set, const Eigen::VectorXd& anchor) {
  tasks_[task] = projection_task(set, anchor);
  safe_sets_[task] = set;
}

void Safeguard::remove_last_task() {
  tasks_.pop_back();
  safe_sets_.pop_back();
}

SafeguardRecord Safeguard::protect(const Knowledge& last, Knowledge& wanted) {
  const ProjectionResult& result =
      projection_.project(tasks_, wanted.basis, wanted.coefficients, last.basis, last.coefficients);
  wanted.basis = result.basis;
  wanted.coefficients = result.coefficients;
  SafeguardRecord record;
  record.status = result.status;
  record.basis_path = result.basis_path;
  record.coefficient_paths = result.coefficient_paths;
  record.alternations = result.alternations;
  record.iterations = result.basis_iterations + result.coefficient_iterations;
  record.worst_margin = std::min(result.worst_row_margin, result.worst_slack_margin);
  record.worst_task = result.worst_task;
  if (result.worst_task >= 0 && result.worst_row >= 0) {
    record.worst_row = safe_sets_[result.worst_task].name(result.worst_row);
  }
  record.retraction = result.retraction;
  record.seconds = result.seconds;
  return record;
}

bool Safeguard::allows(int task, const Eigen::Ref<const Eigen::VectorXd>& parameters) const {
  return settings().mode == ProjectionMode::none || obeys(safe_sets_[task], parameters);
}

Certificate Safeguard::certify(const Knowledge& knowledge) const {
  std::vector<Eigen::VectorXd> anchors;
  for (int t = 0; t < knowledge.tasks(); ++t) anchors.emplace_back(knowledge.anchors.col(t));
  return lifeguard::certify(
      {knowledge.basis, knowledge.coefficients, anchors, safe_sets_, settings().p, settings().q});
}

}  // namespace lifeguard
