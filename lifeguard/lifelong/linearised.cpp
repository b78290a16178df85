#include "lifeguard/lifelong/linearised.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/objective.hpp"

namespace lifeguard {

void LinearisedSettings::validate() const {
  require(initial_share >= 0 && initial_share <= 1, "initial_share", initial_share,
          "must lie in [0, 1]");
  require_positive("share_decay", share_decay);
  require(minimum_share >= 0 && minimum_share <= 1, "minimum_share", minimum_share,
          "must lie in [0, 1]");
  require(own_memory >= 0 && own_memory < 1, "own_memory", own_memory, "must lie in [0, 1)");
  require(retreat_factor > 1, "retreat_factor", retreat_factor, "must be greater than 1");
}

double LinearisedSettings::share(long rounds_before, int tasks) const {
  const double visits = static_cast<double>(rounds_before) / tasks;
  return std::max(minimum_share, initial_share / (1 + visits / share_decay));
}

LinearisedUpdate::LinearisedUpdate(int parameters, int basis_size)
    : rest_(parameters),
      curved_step_(parameters),
      common_(basis_size),
      whole_(basis_size),
      curved_basis_(parameters, basis_size),
      system_(basis_size, basis_size),
      basis_factor_(parameters) {}

bool LinearisedUpdate::factorise(const Eigen::MatrixXd& curvature, const Eigen::MatrixXd& basis) {
  square_ = basis.rows() == basis.cols();
  if (square_) {
    // ds = L⁻¹Δ whatever the metric is; a metric that is none is refused all the same.
    metric_factor_.compute(curvature);
    if (metric_factor_.info() != Eigen::Success) return false;
    basis_factor_.compute(basis);
    return true;
  }
  for (Eigen::Index j = 0; j < basis.cols(); ++j) {
    apply_curvature(curvature, basis.col(j), curved_basis_.col(j));
  }
  system_.noalias() = basis.transpose() * curved_basis_;
  metric_factor_.compute(system_);
  return metric_factor_.info() == Eigen::Success;
}

void LinearisedUpdate::express(const Eigen::VectorXd& step, const Eigen::MatrixXd& curvature,
                               const Eigen::MatrixXd& basis, Eigen::VectorXd& coefficients) {
  if (square_) {
    coefficients = basis_factor_.solve(step);
    return;
  }
  apply_curvature(curvature, step, curved_step_);
  coefficients.noalias() = basis.transpose() * curved_step_;
  metric_factor_.solveInPlace(coefficients);
}

LinearisedStatus LinearisedUpdate::update(const Eigen::MatrixXd& curvature,
                                          const Eigen::VectorXd& step,
                                          const Eigen::VectorXd& common_step, int task,
                                          Knowledge& knowledge, const Eigen::VectorXd* takes_part) {
  Eigen::MatrixXd& basis = knowledge.basis;
  Eigen::MatrixXd& coefficients = knowledge.coefficients;
  if (!factorise(curvature, basis)) return LinearisedStatus::singular;

  express(common_step, curvature, basis, common_);
  express(step, curvature, basis, whole_);
  for (int t = 0; t < knowledge.tasks(); ++t) {
    if (t == task) {
      coefficients.col(t) += whole_;
    } else if (takes_part == nullptr || (*takes_part)(t) != 0) {
      coefficients.col(t) += common_;
    }
  }
  if (square_) return LinearisedStatus::ok;
  rest_ = step;
  rest_.noalias() -= basis * whole_;
  // L s_t grows by the whole rest if s_t is as long as the others are on average. A shorter s_t
  // takes a part of it only, or a small coefficient would turn the whole basis.
  const double mean_square = coefficients.squaredNorm() / knowledge.tasks();
  const double square = std::max(mean_square, coefficients.col(task).squaredNorm());
  if (square > 0) {
    whole_ = coefficients.col(task) / square;
    basis.noalias() += rest_ * whole_.transpose();
  }
  return LinearisedStatus::ok;
}

}  // namespace lifeguard
