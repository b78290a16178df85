#include "lifeguard/safety/solve/joint_step.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

constexpr double kCutTolerance = 1e-10;
constexpr int kCutRounds = 60;
// The solver wants 0 strictly inside; a row that binds leaves only rounding.
constexpr double kLeastBound = 1e-13;

}  // namespace

// The row ⟨left rightᵀ, ΔL⟩ + (Lᵀleft)·Δs ≤ bound, in the variables (√μ₂ ΔL, √μ₁ ΔS). Without a
// task it is about L alone.
void JointStep::add_row(const JointStepProblem& problem, int task, const Eigen::VectorXd& left,
                        const Eigen::VectorXd& right, double bound) {
  const Eigen::Index d = problem.basis.rows();
  const Eigen::Index k = problem.basis.cols();
  const Eigen::Index row = rows_.rows();
  rows_.conservativeResize(row + 1, d * k + problem.coefficients.size());
  bounds_.conservativeResize(row + 1);
  rows_.row(row).setZero();
  for (Eigen::Index j = 0; j < k; ++j) {
    rows_.row(row).segment(j * d, d) = (right[j] / std::sqrt(problem.mu2)) * left.transpose();
  }
  if (task >= 0) {
    rows_.row(row).segment(d * k + task * k, k) =
        left.transpose() * problem.basis / std::sqrt(problem.mu1);
  }
  bounds_[row] = std::max(bound, kLeastBound * (rows_.row(row).norm() + std::fabs(bound)));
}

void JointStep::add_task_row(const JointStepProblem& problem, int task,
                             const Eigen::VectorXd& normal, double bound) {
  add_row(problem, task, normal, problem.coefficients.col(task), bound);
}

bool JointStep::cut_balls(const JointStepProblem& problem) {
  bool any = false;
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    const BasisStepTask& task = problem.tasks[i];
    if (!std::isfinite(task.slack_limit)) continue;
    const auto t = static_cast<Eigen::Index>(i);
    const Eigen::VectorXd s = problem.coefficients.col(t);
    const Eigen::VectorXd policy = basis_ * s + problem.basis * (coefficients_.col(t) - s);
    const Eigen::VectorXd slack = *task.bounds - *task.rows * policy;
    const double length = slack.norm();
    if (length <= task.slack_limit * (1 + kCutTolerance)) continue;
    const Eigen::VectorXd normal = task.rows->transpose() * slack / -length;
    const Eigen::VectorXd slack_here = *task.bounds - *task.rows * (problem.basis * s);
    add_task_row(problem, static_cast<int>(i), normal,
                 task.slack_limit - slack.dot(slack_here) / length);
    any = true;
  }
  return any;
}

bool JointStep::cut_spectrum(const JointStepProblem& problem) {
  bool any = false;
  const Eigen::MatrixXd product = polar_.transpose() * basis_;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> inner(
      0.5 * (product + product.transpose()).eval());
  for (Eigen::Index i = 0; i < product.cols(); ++i) {
    if (inner.eigenvalues()[i] >= problem.low * (1 - kCutTolerance)) continue;
    const Eigen::VectorXd right = inner.eigenvectors().col(i);
    const Eigen::VectorXd left = -(polar_ * right);
    add_row(problem, -1, left, right, -problem.low - left.dot(problem.basis * right));
    any = true;
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(basis_, Eigen::ComputeThinU | Eigen::ComputeThinV);
  for (Eigen::Index i = 0; i < product.cols(); ++i) {
    if (svd.singularValues()[i] <= problem.high * (1 + kCutTolerance)) break;
    const Eigen::VectorXd left = svd.matrixU().col(i);
    const Eigen::VectorXd right = svd.matrixV().col(i);
    add_row(problem, -1, left, right, problem.high - left.dot(problem.basis * right));
    any = true;
  }
  return any;
}

bool JointStep::solve(const JointStepProblem& problem, double h, Eigen::MatrixXd& basis) {
  const Eigen::Index d = problem.basis.rows();
  const Eigen::Index k = problem.basis.cols();
  const Eigen::Index size = d * k + problem.coefficients.size();
  const double basis_weight = std::sqrt(problem.mu2);
  const double coefficient_weight = std::sqrt(problem.mu1);
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(problem.basis,
                                              Eigen::ComputeThinU | Eigen::ComputeThinV);
  polar_ = svd.matrixU() * svd.matrixV().transpose();
  target_.resize(size);
  target_.head(d * k) = h * basis_weight * (problem.target_basis - problem.basis).reshaped();
  target_.tail(size - d * k) =
      h * coefficient_weight * (problem.target_coefficients - problem.coefficients).reshaped();
  rows_.resize(0, size);
  bounds_.resize(0);
  memory_.active_rows.clear();
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const BasisStepTask& task = problem.tasks[t];
    const Eigen::VectorXd policy =
        problem.basis * problem.coefficients.col(static_cast<Eigen::Index>(t));
    // The length of a row in the scaled variables is at most ‖a‖ times this.
    const double stretch = std::sqrt(
        problem.coefficients.col(static_cast<Eigen::Index>(t)).squaredNorm() / problem.mu2 +
        problem.basis.squaredNorm() / problem.mu1);
    for (Eigen::Index i = 0; i < task.rows->rows(); ++i) {
      // The step is no longer than the way to the target, since staying is feasible: rows farther
      // away than that cannot bind.
      const double room = (*task.bounds)[i] - task.rows->row(i).dot(policy);
      if (room > (*task.row_lengths)[i] * stretch * target_.norm()) continue;
      add_task_row(problem, static_cast<int>(t), task.rows->row(i), room);
    }
  }
  move_.resize(size);
  for (int round = 0; round < kCutRounds; ++round) {
    if (solver_.solve(rows_, bounds_, kInfinity, target_, memory_, move_) ==
        CoefficientPath::scaled) {
      return false;
    }
    basis_ = problem.basis + (move_.head(d * k) / basis_weight).reshaped(d, k);
    coefficients_ =
        problem.coefficients +
        (move_.tail(size - d * k) / coefficient_weight).reshaped(k, problem.coefficients.cols());
    const bool balls = cut_balls(problem);
    if (!cut_spectrum(problem) && !balls) break;
  }
  const Eigen::VectorXd whole = target_ / h;
  model_gain_ = whole.squaredNorm() - (whole - move_).squaredNorm();
  // After the last round a cut may still be missing: the caller limits the spectrum and solves for
  // S.
  basis = basis_;
  return basis.allFinite();
}

}  // namespace lifeguard
