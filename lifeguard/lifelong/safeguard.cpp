#include "lifeguard/lifelong/safeguard.hpp"

#include <algorithm>
#include <utility>

#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/solve/projection.hpp"

namespace lifeguard {
struct Safeguard::Solver {
  Projection projection;
  std::vector<ProjectionTask> tasks;
};

Safeguard::Safeguard(const ProjectionSettings& settings)
    : solver_(std::make_unique<Solver>(Solver{Projection(settings), {}})) {}

Safeguard::~Safeguard() = default;
Safeguard::Safeguard(Safeguard&&) noexcept = default;
Safeguard& Safeguard::operator=(Safeguard&&) noexcept = default;

const ProjectionSettings& Safeguard::settings() const { return solver_->projection.settings(); }

void Safeguard::inject_faults(FaultInjection faults) {
  solver_->projection.inject_faults(std::move(faults));
}

void Safeguard::require_task(const SafeSet& set, const Eigen::VectorXd& anchor) {
  static_cast<void>(ProjectionTask(set, anchor));
}

void Safeguard::add_task(const SafeSet& set, const Eigen::VectorXd& anchor) {
  solver_->tasks.emplace_back(set, anchor);
  safe_sets_.push_back(set);
}

void Safeguard::replace_task(int task, const SafeSet& set, const Eigen::VectorXd& anchor) {
  solver_->tasks[task] = ProjectionTask(set, anchor);
  safe_sets_[task] = set;
}

void Safeguard::remove_last_task() {
  solver_->tasks.pop_back();
  safe_sets_.pop_back();
}

SafeguardRecord Safeguard::protect(const Knowledge& last, Knowledge& wanted) {
  const ProjectionResult& result = solver_->projection.project({solver_->tasks}, wanted, last);
  wanted = result.knowledge;
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
  if (refuses_ && refuses_(task)) return false;
  return settings().mode == ProjectionMode::none || obeys(safe_sets_[task], parameters);
}

Certificate Safeguard::certify(const Knowledge& knowledge) const {
  std::vector<Eigen::VectorXd> anchors;
  for (int t = 0; t < knowledge.tasks(); ++t) anchors.emplace_back(knowledge.anchors.col(t));
  return lifeguard::certify(
      {knowledge.basis, knowledge.coefficients, anchors, safe_sets_, settings().p, settings().q});
}

}  // namespace lifeguard
