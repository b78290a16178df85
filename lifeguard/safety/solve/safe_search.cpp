#include "lifeguard/safety/solve/safe_search.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

namespace {

void check_sizes(const std::vector<ProjectionTask>& tasks, const Knowledge& target,
                 const Knowledge& last) {
  const long d = target.basis.rows();
  const long k = target.basis.cols();
  const long count = static_cast<long>(tasks.size());
  require(k >= 1 && k <= d, "target.basis columns", static_cast<double>(k),
          "must be at least 1 and at most the number of rows");
  require_size("target.coefficients rows", target.coefficients.rows(), k);
  require_size("target.coefficients columns", target.coefficients.cols(), count);
  require_size("last.basis rows", last.basis.rows(), d);
  require_size("last.basis columns", last.basis.cols(), k);
  require_size("last.coefficients rows", last.coefficients.rows(), k);
  require_size("last.coefficients columns", last.coefficients.cols(), count);
  for (const Knowledge* knowledge : {&target, &last}) {
    require_size("anchors columns", knowledge->anchors.cols(), count);
    for (long t = 0; t < count; ++t) {
      const Eigen::VectorXd& anchor = tasks[static_cast<std::size_t>(t)].anchor();
      require_size("tasks anchor", anchor.size(), d);
      require_size("anchors rows", knowledge->anchors.rows(), d);
      // Its name is made only for the message: this is asked of all tasks in every round.
      if (knowledge->anchors.col(t) == anchor) continue;
      throw InvalidInput(indexed("anchors", t), "another vector", "must be the anchor of the task");
    }
  }
}

}  // namespace

SafeSearch::SafeSearch(const ProjectionSettings& settings)
    : settings_(settings), spectrum_(settings.p, settings.q) {
  require_positive("p", settings_.p);
  require(std::isfinite(settings_.q) && settings_.q > settings_.p, "q", settings_.q,
          "must be finite and greater than p");
  require_positive("mu1", settings_.mu1);
  require_positive("mu2", settings_.mu2);
  require(settings_.max_alternations >= 1, "max_alternations", settings_.max_alternations,
          "must be at least 1");
  require_not_negative("objective_tolerance", settings_.objective_tolerance);
  require(settings_.margin > 0 && settings_.margin < 0.1, "margin", settings_.margin,
          "must lie strictly between 0 and 0.1");
}

ProjectionFault SafeSearch::fault(ProjectionStage stage) const {
  return faults_ ? faults_(stage) : ProjectionFault::none;
}

void SafeSearch::begin(const SafetyProblem& problem, const Knowledge& target,
                       const Knowledge& last) {
  check_sizes(problem.tasks, target, last);
  const double reserve =
      SpectrumVerifier::reserve(target.basis.rows(), target.basis.cols(), settings_.q);
  require(settings_.q - settings_.p > 4 * reserve, "q", settings_.q,
          "must be greater than p beyond rounding errors of LᵀL");
  problem_ = &problem;
  coefficients_.set_deadline(problem.deadline);
  target_ = &target;
  present_.knowledge = last;
  present_.objective = kNaN;
  present_.retraction = 1;
  failed_ = false;
  margins_are_known_ = false;
  // Field by field, since the list of objectives keeps its memory.
  result_.status = ProjectionStatus::not_run;
  result_.objectives.clear();
  result_.alternations = 0;
  result_.basis_path = BasisPath::not_run;
  result_.coefficient_paths = {};
  result_.basis_iterations = 0;
  result_.coefficient_iterations = 0;
  result_.worst_row_margin = kNaN;
  result_.worst_slack_margin = kNaN;
  result_.worst_task = -1;
  result_.worst_row = -1;
  result_.repaired_tasks = 0;
  result_.repaired_basis = false;
}

bool SafeSearch::target_is_finite() const {
  return target_->basis.allFinite() && target_->coefficients.allFinite();
}

bool SafeSearch::is_curved() const {
  return std::any_of(problem_->tasks.begin(), problem_->tasks.end(),
                     [](const ProjectionTask& task) { return !task.inequalities().empty(); });
}

double SafeSearch::objective(const Knowledge& knowledge) const {
  return settings_.mu1 * (knowledge.coefficients - target_->coefficients).squaredNorm() +
         settings_.mu2 * (knowledge.basis - target_->basis).squaredNorm();
}

bool SafeSearch::start_from_last() {
  tightened_.tighten(problem_->tasks, settings_.margin);
  repair(present_.knowledge);
  present_.objective = objective(present_.knowledge);
  if (!target_is_finite() || !std::isfinite(present_.objective)) {
    result_.status = ProjectionStatus::kept_last;
    return false;
  }
  result_.objectives.push_back(present_.objective);
  return true;
}

void SafeSearch::repair(Knowledge& knowledge) {
  if (!spectrum_.hold(knowledge.basis)) {
    spectrum_.impose(knowledge.basis);
    result_.repaired_basis = true;
  }
  coefficients_.set_basis(knowledge.basis);
  for (std::size_t t = 0; t < problem_->tasks.size(); ++t) {
    auto column = knowledge.coefficients.col(static_cast<Eigen::Index>(t));
    if (column.allFinite() && coefficients_.margin(problem_->tasks[t], column).safe()) continue;
    ++result_.repaired_tasks;
    if (!column.allFinite()) column.setZero();
    const Eigen::VectorXd wanted = column;
    fit_task(t, wanted, present_);
  }
}

void SafeSearch::fit_task(std::size_t task, const Eigen::Ref<const Eigen::VectorXd>& target,
                          ProjectionPoint& point) {
  const ProjectionFault fault = this->fault(ProjectionStage::coefficient_step);
  const SafeCoefficients::Answer answer =
      coefficients_.solve(problem_->tasks, tightened_, task, target, fault,
                          point.knowledge.coefficients.col(static_cast<Eigen::Index>(task)));
  result_.coefficient_iterations += answer.iterations;
  result_.coefficient_paths.inside += answer.path == CoefficientPath::inside;
  result_.coefficient_paths.rows += answer.path == CoefficientPath::rows;
  result_.coefficient_paths.ball += answer.path == CoefficientPath::ball;
  result_.coefficient_paths.scaled += answer.path == CoefficientPath::scaled;
  if (answer.path == CoefficientPath::scaled || fault != ProjectionFault::none) failed_ = true;
  point.retraction = std::min(point.retraction, answer.retraction);
}

bool SafeSearch::fit_coefficients(ProjectionPoint& point) {
  if (!spectrum_.hold(point.knowledge.basis)) return false;
  point.retraction = 1;
  coefficients_.set_basis(point.knowledge.basis);
  for (std::size_t t = 0; t < problem_->tasks.size(); ++t) {
    fit_task(t, target_->coefficients.col(static_cast<Eigen::Index>(t)), point);
  }
  point.objective = objective(point.knowledge);
  return std::isfinite(point.objective);
}

bool SafeSearch::is_safe(const Knowledge& knowledge) {
  if (!spectrum_.hold(knowledge.basis) || !knowledge.coefficients.allFinite()) return false;
  coefficients_.set_basis(knowledge.basis);
  for (std::size_t t = 0; t < problem_->tasks.size(); ++t) {
    const auto column = knowledge.coefficients.col(static_cast<Eigen::Index>(t));
    if (!coefficients_.margin(problem_->tasks[t], column).safe()) return false;
  }
  return true;
}

void SafeSearch::accept(ProjectionPoint& next) {
  std::swap(present_, next);
  result_.objectives.push_back(present_.objective);
}

bool SafeSearch::accept_target() {
  if (!spectrum_.hold(target_->basis)) return false;
  record_margins(*target_);
  if (!(result_.worst_row_margin > 0 && result_.worst_slack_margin > 0)) return false;
  result_.objectives.push_back(objective(present_.knowledge));
  present_.knowledge = *target_;
  present_.objective = 0;
  if (result_.objectives[0] > 0) {
    result_.objectives.push_back(0);
    result_.alternations = 1;
    result_.basis_path = BasisPath::inside;
  }
  result_.coefficient_paths.inside = static_cast<long>(target_->coefficients.cols());
  margins_are_known_ = true;
  return true;
}

void SafeSearch::accept_target_unchecked() {
  present_.knowledge = *target_;
  if (settings_.none_limits_spectrum) spectrum_.impose(present_.knowledge.basis);
  present_.objective = objective(present_.knowledge);
}

const ProjectionResult& SafeSearch::finish() {
  if (result_.status != ProjectionStatus::not_checked && !margins_are_known_) {
    record_margins(present_.knowledge);
  }
  result_.knowledge = present_.knowledge;
  result_.objective = present_.objective;
  result_.retraction = present_.retraction;
  return result_;
}

void SafeSearch::record_margins(const Knowledge& knowledge) {
  coefficients_.set_basis(knowledge.basis);
  result_.worst_row_margin = kInfinity;
  result_.worst_slack_margin = kInfinity;
  for (std::size_t t = 0; t < problem_->tasks.size(); ++t) {
    const TaskMargin margin = coefficients_.margin(
        problem_->tasks[t], knowledge.coefficients.col(static_cast<Eigen::Index>(t)));
    if (margin.row_margin < result_.worst_row_margin) {
      result_.worst_row_margin = margin.row_margin;
      result_.worst_task = static_cast<int>(t);
      result_.worst_row = margin.worst_row;
    }
    result_.worst_slack_margin = std::min(result_.worst_slack_margin, margin.slack_margin);
  }
}

}  // namespace lifeguard
