#pragma once

#include <Eigen/Core>

#include "lifeguard/core/saved_state.hpp"

namespace lifeguard {

/// What is believed of how tasks differ: δ_t = α_t - m ~ N(0, P) with
///   P = L_k L_kᵀ + ψ Ḡ⁻¹,
/// k directions in which tasks differ, and a spread ψ that is the same in all directions of the
/// metric Ḡ, in which policies are compared. L = P^½ is the basis of the knowledge α_t = m + L s_t,
/// s_t ~ N(0, I): its columns are the principal axes of P, the longest first.
class TaskPrior {
 public:
  /// The eigenvalues of LᵀL, the variances of tasks along these axes, stay in [lowest, highest].
  TaskPrior(int features, int actions, double lowest, double highest);

  bool known() const { return precision_.size() > 0; }
  /// P⁻¹, L, and the eigenvalues of LᵀL, which is diagonal.
  const Eigen::MatrixXd& precision() const { return precision_; }
  const Eigen::MatrixXd& basis() const { return basis_; }
  const Eigen::VectorXd& variances() const { return variances_; }
  /// ψ.
  double spread() const { return spread_; }

  /// The most likely P of this form, given the sum of the tasks' second moments
  /// E[δ_t δ_tᵀ] and their number. `first_spread` counts as one more task that differs in no
  /// particular direction: δδᵀ = first_spread · Ḡ⁻¹. `directions` is k, at most d - 1. False, and
  /// nothing changes, if a matrix is singular to working precision.
  bool maximise(const Eigen::MatrixXd& moments, double tasks, const Eigen::MatrixXd& metric,
                double first_spread, int directions);

  /// s with L s = δ, for each column.
  Eigen::MatrixXd coefficients(const Eigen::MatrixXd& deviations) const;

  void save(StateWriter& writer) const;
  /// Throws InvalidInput unless it fits.
  void load(StateReader& reader);

 private:
  /// P = V diag(variances) Vᵀ.
  void set(const Eigen::MatrixXd& axes, const Eigen::VectorXd& variances);

  int features_;
  int parameters_;
  double lowest_;
  double highest_;
  double spread_ = 0;
  Eigen::MatrixXd precision_;
  Eigen::MatrixXd basis_;
  Eigen::VectorXd variances_;
};

}  // namespace lifeguard
