#include "lifeguard/safety/solve/projection.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/solve/paper_projection.hpp"

namespace lifeguard {

namespace {

constexpr double kNearlyActive = 1e-6;
constexpr double kLittleGain = 0.9;

// Joint steps without gain, each on a nearer target, after which descent ends.
constexpr int kPatience = 12;

// What a broken solver might hand on.
void corrupt(ProjectionFault fault, Eigen::Ref<Eigen::MatrixXd> values) {
  if (fault == ProjectionFault::not_finite) {
    values.setConstant(kNaN);
  } else if (fault == ProjectionFault::unsafe) {
    values.array() += 1e3;
  }
}

}  // namespace

const char* to_string(ProjectionStatus status) {
  switch (status) {
    case ProjectionStatus::not_run:
      return "not_run";
    case ProjectionStatus::converged:
      return "converged";
    case ProjectionStatus::alternation_limit:
      return "alternation_limit";
    case ProjectionStatus::solver_failed:
      return "solver_failed";
    case ProjectionStatus::kept_last:
      return "kept_last";
    case ProjectionStatus::not_checked:
      return "not_checked";
  }
  return "unknown";
}

Projection::Projection(ProjectionSettings settings) : settings_(std::move(settings)) {
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

void Projection::check_sizes(const std::vector<ProjectionTask>& tasks,
                             const Eigen::MatrixXd& target_basis,
                             const Eigen::MatrixXd& target_coefficients,
                             const Eigen::MatrixXd& last_basis,
                             const Eigen::MatrixXd& last_coefficients) const {
  const long d = target_basis.rows();
  const long k = target_basis.cols();
  require(k >= 1 && k <= d, "target_basis columns", static_cast<double>(k),
          "must be at least 1 and at most the number of rows");
  require_size("last_basis rows", last_basis.rows(), d);
  require_size("last_basis columns", last_basis.cols(), k);
  const long count = static_cast<long>(tasks.size());
  require_size("target_coefficients rows", target_coefficients.rows(), k);
  require_size("target_coefficients columns", target_coefficients.cols(), count);
  require_size("last_coefficients rows", last_coefficients.rows(), k);
  require_size("last_coefficients columns", last_coefficients.cols(), count);
  for (const ProjectionTask& task : tasks) require_size("tasks anchor", task.anchor().size(), d);
  const double reserve = SpectrumVerifier::reserve(d, k, settings_.q);
  require(settings_.q - settings_.p > 4 * reserve, "q", settings_.q,
          "must be greater than p beyond rounding errors of LᵀL");
}

ProjectionFault Projection::fault(ProjectionStage stage) const {
  return faults_ ? faults_(stage) : ProjectionFault::none;
}

double Projection::objective(const Eigen::MatrixXd& basis, const Eigen::MatrixXd& coefficients,
                             const Eigen::MatrixXd& target_basis,
                             const Eigen::MatrixXd& target_coefficients) const {
  return settings_.mu1 * (coefficients - target_coefficients).squaredNorm() +
         settings_.mu2 * (basis - target_basis).squaredNorm();
}

// Bounds and slack limits with room for rounding: r = b'(1 − η), tightened_slack_limit().
void Projection::tighten(const std::vector<ProjectionTask>& tasks) {
  const double eta = settings_.margin;
  bounds_.resize(tasks.size());
  slack_limits_.resize(tasks.size());
  step_tasks_.resize(tasks.size());
  memories_.resize(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const ProjectionTask& task = tasks[t];
    bounds_[t] = (1 - eta) * task.reduced();
    slack_limits_[t] = tightened_slack_limit(task.reduced().norm(), task.slack_limit(), eta);
    step_tasks_[t] = {&task.rows(), &task.row_lengths(), &bounds_[t], slack_limits_[t]};
    memories_[t].active_rows.clear();
  }
}

std::pair<double, double> Projection::spectrum_limits(const Eigen::MatrixXd& basis) const {
  const double reserve = SpectrumVerifier::reserve(basis.rows(), basis.cols(), settings_.q);
  return {std::sqrt(settings_.p + reserve), std::sqrt(settings_.q - reserve)};
}

void Projection::limit_spectrum(Eigen::MatrixXd& basis) {
  if (basis.allFinite() && spectrum_.inside(basis, settings_.p, settings_.q)) return;
  const auto [low, high] = spectrum_limits(basis);
  clip_.restart();
  if (basis.allFinite() && clip_.compute(basis, low, high) &&
      spectrum_.inside(clip_.result(), settings_.p, settings_.q)) {
    basis = clip_.result();
    return;
  }
  if (basis.allFinite()) {  // singular: a full decomposition finds directions for the missing ones
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(basis, Eigen::ComputeThinU | Eigen::ComputeThinV);
    basis = svd.matrixU() * svd.singularValues().cwiseMax(low).cwiseMin(high).asDiagonal() *
            svd.matrixV().transpose();
    if (basis.allFinite() && spectrum_.inside(basis, settings_.p, settings_.q)) return;
  }
  // Algorithm 1 of the paper starts from diag(ζ) with p ≤ ζ² ≤ q.
  basis.setIdentity();
  basis *= std::sqrt(0.5 * (settings_.p + settings_.q));
}

// Scales coefficients towards 0, where the anchor is, until the verifier accepts them.
double Projection::retract(const ProjectionTask& task, double basis_length,
                           const Eigen::MatrixXd& basis, Eigen::Ref<Eigen::VectorXd> coefficients) {
  if (!coefficients.allFinite()) {
    coefficients.setZero();
    return 0;
  }
  if (verifier_.margin(task, basis, basis_length, coefficients).safe()) return 1;
  policy_.noalias() = basis * coefficients;
  image_.noalias() = task.rows() * policy_;
  const double longest = longest_scale(image_, task.reduced(), task.slack_limit());
  wanted_ = coefficients;
  for (double back = 1e-12; back < 1; back *= 4) {
    const double factor = longest * (1 - back);
    coefficients = factor * wanted_;
    if (verifier_.margin(task, basis, basis_length, coefficients).safe()) return factor;
  }
  coefficients.setZero();
  return 0;
}

// Bounds with room for twice the rounding errors of an s with ‖L‖_F ‖s‖ = reach. False when that is
// most of the bounds.
bool Projection::make_room(const ProjectionTask& task, std::size_t index, double reach, long k) {
  const double error = rounding_bound(task.anchor().size(), k, reach);
  roomy_bounds_ = bounds_[index] - 2 * error * task.row_lengths();
  if (!(roomy_bounds_.array() > 0.5 * bounds_[index].array()).all()) return false;
  roomy_slack_limit_ = slack_limits_[index];
  if (!task.has_ball()) return true;
  roomy_slack_limit_ -= 4 * error * task.row_lengths().norm();
  return roomy_slack_limit_ > roomy_bounds_.norm();
}

void Projection::coefficient_step(const ProjectionTask& task, std::size_t index,
                                  double basis_length,
                                  const Eigen::Ref<const Eigen::VectorXd>& target, Point& point) {
  auto coefficients = point.coefficients.col(static_cast<Eigen::Index>(index));
  const Eigen::VectorXd& bounds = bounds_[index];
  const ProjectionFault wrong = fault(ProjectionStage::coefficient_step);
  policy_.noalias() = point.basis * target;
  image_.noalias() = task.rows() * policy_;
  CoefficientPath path = CoefficientPath::inside;
  if ((image_.array() <= bounds.array()).all() &&
      (!task.has_ball() || (bounds - image_).norm() <= slack_limits_[index])) {
    coefficients = target;
    ++result_.coefficient_paths.inside;
  } else {
    CoefficientMemory& memory = memories_[index];
    memory.active_rows.clear();
    policy_.noalias() = point.basis * coefficients;
    image_.noalias() = task.rows() * policy_;
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      if (image_[i] >= bounds[i] * (1 - kNearlyActive)) {
        memory.active_rows.push_back(static_cast<int>(i));
      }
    }
    b_rows_.noalias() = task.rows() * point.basis;
    path = coefficient_step_.solve(b_rows_, bounds, slack_limits_[index], target, memory,
                                   coefficients, wrong == ProjectionFault::failure);
    result_.coefficient_iterations += coefficient_step_.iterations();
    // In thin sets and for long s the rounding errors exceed the margin: solve once more with room
    // for them, since scaling back would cost far more.
    if (path != CoefficientPath::scaled && coefficients.allFinite() &&
        !verifier_.margin(task, point.basis, basis_length, coefficients).safe() &&
        make_room(task, index, basis_length * coefficients.norm(), point.basis.cols())) {
      path = coefficient_step_.solve(b_rows_, roomy_bounds_, roomy_slack_limit_, target, memory,
                                     coefficients, wrong == ProjectionFault::failure);
      result_.coefficient_iterations += coefficient_step_.iterations();
    }
    result_.coefficient_paths.rows += path == CoefficientPath::rows;
    result_.coefficient_paths.ball += path == CoefficientPath::ball;
    result_.coefficient_paths.scaled += path == CoefficientPath::scaled;
  }
  corrupt(wrong, coefficients);
  failed_ = failed_ || path == CoefficientPath::scaled || wrong != ProjectionFault::none;
  point.retraction =
      std::min(point.retraction, retract(task, basis_length, point.basis, coefficients));
}

bool Projection::complete(const std::vector<ProjectionTask>& tasks,
                          const Eigen::MatrixXd& target_basis,
                          const Eigen::MatrixXd& target_coefficients, Point& point) {
  if (!point.basis.allFinite() || !spectrum_.inside(point.basis, settings_.p, settings_.q)) {
    return false;
  }
  point.retraction = 1;
  const double basis_length = rounded_up_length(point.basis);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    coefficient_step(tasks[t], t, basis_length,
                     target_coefficients.col(static_cast<Eigen::Index>(t)), point);
  }
  point.objective = objective(point.basis, point.coefficients, target_basis, target_coefficients);
  return std::isfinite(point.objective);
}

void Projection::repair(const std::vector<ProjectionTask>& tasks, Point& point) {
  if (!point.basis.allFinite() || !spectrum_.inside(point.basis, settings_.p, settings_.q)) {
    limit_spectrum(point.basis);
    result_.repaired_basis = true;
  }
  const double basis_length = rounded_up_length(point.basis);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    auto column = point.coefficients.col(static_cast<Eigen::Index>(t));
    if (column.allFinite() &&
        verifier_.margin(tasks[t], point.basis, basis_length, column).safe()) {
      continue;
    }
    ++result_.repaired_tasks;
    if (!column.allFinite()) column.setZero();
    wanted_ = column;
    const Eigen::VectorXd target = wanted_;
    coefficient_step(tasks[t], t, basis_length, target, point);
  }
}

void Projection::project_exact(const std::vector<ProjectionTask>& tasks,
                               const Eigen::MatrixXd& target_basis,
                               const Eigen::MatrixXd& target_coefficients) {
  const auto [low, high] = spectrum_limits(target_basis);
  result_.status = ProjectionStatus::alternation_limit;
  basis_step_.restart();
  for (int alternation = 0; alternation < settings_.max_alternations; ++alternation) {
    failed_ = false;
    const ProjectionFault wrong = fault(ProjectionStage::basis_step);
    BasisPath path =
        basis_step_.solve(step_tasks_, present_.coefficients, target_basis, present_.basis, low,
                          high, next_.basis, wrong == ProjectionFault::failure);
    corrupt(wrong, next_.basis);
    failed_ = path == BasisPath::kept || wrong != ProjectionFault::none;
    result_.basis_iterations += basis_step_.iterations();
    next_.coefficients = present_.coefficients;
    bool verified = complete(tasks, target_basis, target_coefficients, next_);
    // Some S is feasible for any L, so when an alternation gains little the target's own basis is
    // tried too. Alternation cannot reach it while the old coefficients are in the way.
    if (alternation == 0 && path != BasisPath::inside &&
        !(verified && next_.objective < kLittleGain * present_.objective)) {
      direct_.basis = target_basis;
      limit_spectrum(direct_.basis);
      direct_.coefficients = present_.coefficients;
      if (complete(tasks, target_basis, target_coefficients, direct_) &&
          (!verified || direct_.objective < next_.objective)) {
        std::swap(direct_, next_);
        verified = true;
        path = BasisPath::direct;
      }
    }
    if (!verified || !(next_.objective < present_.objective)) {
      result_.status = !failed_           ? ProjectionStatus::converged
                       : alternation == 0 ? ProjectionStatus::kept_last
                                          : ProjectionStatus::solver_failed;
      break;
    }
    const double gain = present_.objective - next_.objective;
    std::swap(present_, next_);
    ++result_.alternations;
    result_.objectives.push_back(present_.objective);
    result_.basis_path = path;
    if (gain <= settings_.objective_tolerance * present_.objective) {
      result_.status = failed_ ? ProjectionStatus::solver_failed : ProjectionStatus::converged;
      break;
    }
  }
}

// Steps in L and S together; then L is limited to its spectrum and S is the S-step's for it, so
// that every point is feasible. A step that does not lower the objective is repeated on a nearer
// target.
void Projection::descend(const std::vector<ProjectionTask>& tasks,
                         const Eigen::MatrixXd& target_basis,
                         const Eigen::MatrixXd& target_coefficients) {
  const auto [low, high] = spectrum_limits(target_basis);
  int idle = 0;
  double h = 1;
  while (result_.alternations < settings_.max_alternations) {
    ++result_.alternations;
    failed_ = false;
    next_.coefficients = present_.coefficients;
    bool lower =
        joint_step_.solve({step_tasks_, present_.basis, present_.coefficients, target_basis,
                           target_coefficients, settings_.mu1, settings_.mu2, low, high},
                          h, next_.basis);
    if (lower &&
        joint_step_.model_gain() <= settings_.objective_tolerance * h * present_.objective) {
      result_.status = ProjectionStatus::converged;  // not even the linearised problem has a step
      return;
    }
    if (lower) {
      limit_spectrum(next_.basis);
      lower = complete(tasks, target_basis, target_coefficients, next_) &&
              next_.objective < present_.objective;
    }
    const double gain = lower ? present_.objective - next_.objective : 0;
    if (lower) {
      std::swap(present_, next_);
      result_.objectives.push_back(present_.objective);
    }
    h = lower ? std::min(1.0, 2 * h) : 0.25 * h;
    idle = gain > settings_.objective_tolerance * present_.objective ? 0 : idle + 1;
    if (idle == kPatience) {
      result_.status = ProjectionStatus::converged;
      return;
    }
  }
  result_.status = ProjectionStatus::alternation_limit;
}

void Projection::project_paper(const std::vector<ProjectionTask>& tasks,
                               const Eigen::MatrixXd& target_basis,
                               const Eigen::MatrixXd& target_coefficients) {
  const ProjectionFault wrong = fault(ProjectionStage::semidefinite_program);
  next_.basis = present_.basis;
  next_.coefficients = present_.coefficients;
  failed_ = wrong == ProjectionFault::failure ||
            paper_basis(present_.coefficients, target_basis, present_.basis, settings_.p,
                        settings_.q, next_.basis) != PaperBasisStatus::solved;
  corrupt(wrong, next_.basis);
  limit_spectrum(next_.basis);
  result_.status = ProjectionStatus::kept_last;
  if (!complete(tasks, target_basis, target_coefficients, next_)) return;
  // One pass, as in Algorithm 1. It may raise the objective, since the program ignores direction.
  std::swap(present_, next_);
  result_.alternations = 1;
  result_.objectives.push_back(present_.objective);
  result_.status = failed_ ? ProjectionStatus::solver_failed : ProjectionStatus::converged;
}

void Projection::project_none(const Eigen::MatrixXd& target_basis,
                              const Eigen::MatrixXd& target_coefficients) {
  present_.basis = target_basis;
  present_.coefficients = target_coefficients;
  if (settings_.none_limits_spectrum) limit_spectrum(present_.basis);
  present_.objective =
      objective(present_.basis, present_.coefficients, target_basis, target_coefficients);
  result_.status = ProjectionStatus::not_checked;
}

// What the cascades find as well, after more work: the target is safe as it is.
bool Projection::keep_target(const std::vector<ProjectionTask>& tasks,
                             const Eigen::MatrixXd& target_basis,
                             const Eigen::MatrixXd& target_coefficients) {
  if (!spectrum_.inside(target_basis, settings_.p, settings_.q)) return false;
  record_margins(tasks, target_basis, target_coefficients);
  if (!(result_.worst_row_margin > 0 && result_.worst_slack_margin > 0)) return false;
  result_.objectives.push_back(
      objective(present_.basis, present_.coefficients, target_basis, target_coefficients));
  present_.basis = target_basis;
  present_.coefficients = target_coefficients;
  present_.objective = 0;
  if (result_.objectives[0] > 0) {
    result_.objectives.push_back(0);
    result_.alternations = 1;
    result_.basis_path = BasisPath::inside;
  }
  result_.coefficient_paths.inside = static_cast<long>(target_coefficients.cols());
  result_.status = ProjectionStatus::converged;
  return true;
}

void Projection::record_margins(const std::vector<ProjectionTask>& tasks,
                                const Eigen::MatrixXd& basis, const Eigen::MatrixXd& coefficients) {
  const double basis_length = rounded_up_length(basis);
  result_.worst_row_margin = kInfinity;
  result_.worst_slack_margin = kInfinity;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const TaskMargin margin = verifier_.margin(tasks[t], basis, basis_length,
                                               coefficients.col(static_cast<Eigen::Index>(t)));
    if (margin.row_margin < result_.worst_row_margin) {
      result_.worst_row_margin = margin.row_margin;
      result_.worst_task = static_cast<int>(t);
      result_.worst_row = margin.worst_row;
    }
    result_.worst_slack_margin = std::min(result_.worst_slack_margin, margin.slack_margin);
  }
}

const ProjectionResult& Projection::project(const std::vector<ProjectionTask>& tasks,
                                            const Eigen::MatrixXd& target_basis,
                                            const Eigen::MatrixXd& target_coefficients,
                                            const Eigen::MatrixXd& last_basis,
                                            const Eigen::MatrixXd& last_coefficients) {
  const auto start = std::chrono::steady_clock::now();
  check_sizes(tasks, target_basis, target_coefficients, last_basis, last_coefficients);
  result_.objectives.clear();
  result_.alternations = 0;
  result_.basis_path = BasisPath::not_run;
  result_.coefficient_paths = {};
  result_.basis_iterations = 0;
  result_.coefficient_iterations = 0;
  result_.worst_task = -1;
  result_.worst_row = -1;
  result_.repaired_tasks = 0;
  result_.repaired_basis = false;
  result_.worst_row_margin = kNaN;
  result_.worst_slack_margin = kNaN;

  present_.basis = last_basis;
  present_.coefficients = last_coefficients;
  present_.retraction = 1;
  const bool usable = target_basis.allFinite() && target_coefficients.allFinite();
  const bool may_keep = settings_.mode == ProjectionMode::exact && usable && !faults_;
  if (settings_.mode == ProjectionMode::none && usable) {
    project_none(target_basis, target_coefficients);
  } else if (!may_keep || !keep_target(tasks, target_basis, target_coefficients)) {
    tighten(tasks);
    repair(tasks, present_);
    present_.objective =
        objective(present_.basis, present_.coefficients, target_basis, target_coefficients);
    if (!usable || !std::isfinite(present_.objective)) {
      result_.status = ProjectionStatus::kept_last;
    } else {
      result_.objectives.push_back(present_.objective);
      if (settings_.mode == ProjectionMode::exact) {
        project_exact(tasks, target_basis, target_coefficients);
        if (settings_.descend && present_.objective > 0)
          descend(tasks, target_basis, target_coefficients);
      } else {
        project_paper(tasks, target_basis, target_coefficients);
      }
    }
    record_margins(tasks, present_.basis, present_.coefficients);
  }
  result_.basis = present_.basis;
  result_.coefficients = present_.coefficients;
  result_.objective = present_.objective;
  result_.retraction = present_.retraction;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result_.seconds = elapsed.count();
  return result_;
}

}  // namespace lifeguard
