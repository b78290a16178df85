#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

namespace lifeguard {

/// Π(X), the matrix nearest to X (Frobenius) whose singular values all lie in [low, high], and the
/// derivative of Π: with X = U diag(σ) Vᵀ and f_i = σ_i limited to [low, high], Π(X) = U diag(f)
/// Vᵀ.
///
/// The set is not convex, but Π is the gradient of the convex function ½‖X‖² − ½dist²(X), so its
/// derivative is symmetric and positive semi-definite wherever it exists (all σ_i > 0).
class SpectralClip {
 public:
  /// Forgets the singular vectors that the next compute() starts from. Results between two restarts
  /// depend in their last bits on what was computed since.
  void restart() { warm_ = false; }

  /// X is d × k with d ≥ k. False when Π(X) is not well defined: a singular value near 0, or
  /// entries that are not finite.
  bool compute(const Eigen::MatrixXd& x, double low, double high);

  const Eigen::MatrixXd& result() const { return result_; }
  /// False when X lies inside, where Π and its derivative are the identity.
  bool clipped() const { return clipped_; }

  /// DΠ on rank-one matrices: for given vs = Vᵀs and vt = Vᵀt, writes `inner` (k × k) and returns
  /// `outer` with ⟨a sᵀ, DΠ[b tᵀ]⟩ = (Uᵀa)ᵀ inner (Uᵀb) + outer a·b for all a and b.
  double metric(const Eigen::Ref<const Eigen::VectorXd>& vs,
                const Eigen::Ref<const Eigen::VectorXd>& vt, Eigen::MatrixXd& inner);
  const Eigen::MatrixXd& left() const { return left_; }    // U, d × k
  const Eigen::MatrixXd& right() const { return right_; }  // V, k × k

 private:
  bool rotate_columns();

  Eigen::MatrixXd result_;
  Eigen::MatrixXd gram_;
  Eigen::MatrixXd shifted_;
  // Of something, since a copy reads the status that only a decomposition sets.
  Eigen::LLT<Eigen::MatrixXd> cholesky_{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen_;
  Eigen::MatrixXd left_;
  Eigen::MatrixXd right_;
  Eigen::VectorXd values_;
  Eigen::VectorXd limited_;
  Eigen::VectorXd ratio_;                     // f_i / σ_i
  Eigen::MatrixXd entry_weights_;             // (Γ + Ω) / 2, of F_ij in DΠ[F]_ij
  Eigen::MatrixXd transposed_entry_weights_;  // (Γ − Ω) / 2, of F_ji
  Eigen::VectorXd direction_product_;         // vs ∘ vt
  bool warm_ = false;
  bool clipped_ = false;
};

}  // namespace lifeguard
