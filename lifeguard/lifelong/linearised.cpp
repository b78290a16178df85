#include "lifeguard/lifelong/linearised.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

LinearisedUpdate::LinearisedUpdate(int parameters, int basis_size)
    : rest_(parameters),
      direction_(basis_size),
      curved_basis_(parameters, basis_size),
      system_(basis_size, basis_size),
      basis_factor_(parameters) {}

bool LinearisedUpdate::factorise(const Eigen::MatrixXd& curvature, const Eigen::MatrixXd& basis) {
  square_ = basis.rows() == basis.cols();
  if (square_) {
    // ds = L⁻¹Δ whatever the metric is; a metric that is none is refused all the same.
    for (Eigen::Index b = 0; b < different_blocks(curvature); ++b) {
      metric_factor_.compute(action_block(curvature, b));
      if (metric_factor_.info() != Eigen::Success) return false;
    }
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

LinearisedStatus LinearisedUpdate::update(const Eigen::MatrixXd& curvature,
                                          const Eigen::MatrixXd& steps, int task,
                                          Knowledge& knowledge) {
  Eigen::MatrixXd& basis = knowledge.basis;
  Eigen::MatrixXd& coefficients = knowledge.coefficients;
  if (!factorise(curvature, basis)) return LinearisedStatus::singular;
  if (square_) {
    expressed_ = basis_factor_.solve(steps);
    coefficients += expressed_;
    return LinearisedStatus::ok;
  }
  expressed_.noalias() = curved_basis_.transpose() * steps;
  metric_factor_.solveInPlace(expressed_);
  coefficients += expressed_;
  rest_ = steps.col(task);
  rest_.noalias() -= basis * expressed_.col(task);
  // L s_t grows by the whole rest if s_t is as long as the others are on average. A shorter s_t
  // takes a part of it only, or a small coefficient would turn the whole basis.
  const double mean_square = coefficients.squaredNorm() / knowledge.tasks();
  const double square = std::max(mean_square, coefficients.col(task).squaredNorm());
  if (square > 0) {
    direction_ = coefficients.col(task) / square;
    basis.noalias() += rest_ * direction_.transpose();
  }
  return LinearisedStatus::ok;
}

}  // namespace lifeguard
