#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/safety/prove/verification.hpp"

namespace lifeguard {

/// What is believed of how tasks differ: δ_t = α_t - m ~ N(0, P) with
///   P = L_k L_kᵀ + ψ Ḡ⁻¹,
/// k directions in which tasks differ, and a spread ψ that is the same in all directions of the
/// metric Ḡ, in which policies are compared. L = P^½ is the basis of the knowledge α_t = m + L s_t,
/// s_t ~ N(0, I): its columns are the principal axes of P, the longest first.
class TaskPrior {
 public:
  /// What maximise() works with, so that it allocates nothing after its first call.
  struct Workspace {
    Eigen::MatrixXd factor;  // R of Ḡ = R Rᵀ, block by block
    Eigen::MatrixXd whitened, turned, axes;
    Eigen::VectorXd lengths;
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> own, principal;
    SpectrumVerifier verifier;
  };

  /// L = ζI before anything is known. The eigenvalues of LᵀL, the variances of tasks along its
  /// columns, are proven to lie in [lowest, highest] at all times.
  TaskPrior(int features, int actions, double zeta, double lowest, double highest);

  bool known() const { return known_; }
  /// L, the eigenvalues of LᵀL, which is diagonal, and P⁻¹, once it is known.
  const Eigen::MatrixXd& basis() const { return basis_; }
  const Eigen::VectorXd& variances() const { return variances_; }
  const Eigen::MatrixXd& precision() const { return precision_; }
  /// ψ.
  double spread() const { return spread_; }

  /// The most likely P of this form, given the sum of the tasks' second moments
  /// E[δ_t δ_tᵀ] and their number. `first_spread` counts as one more task that differs in no
  /// particular direction: δδᵀ = first_spread · Ḡ⁻¹. `directions` is k, at most d - 1. False, and
  /// nothing changes, if a matrix is singular to working precision.
  bool maximise(const Eigen::MatrixXd& moments, double tasks, const Eigen::MatrixXd& metric,
                double first_spread, int directions, Workspace& workspace);

  /// s with L s = δ.
  void express(const Eigen::VectorXd& deviation, Eigen::VectorXd& coefficients) const;

  void save(StateWriter& writer) const;
  /// With the L that was saved. Throws InvalidInput unless it fits.
  void load(StateReader& reader, Eigen::MatrixXd basis);

 private:
  int features_;
  int parameters_;
  double lowest_;
  double highest_;
  bool known_ = false;
  double spread_ = 0;
  Eigen::MatrixXd basis_;
  Eigen::VectorXd variances_;
  Eigen::MatrixXd precision_;
};

}  // namespace lifeguard
