#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/LU>

#include "lifeguard/policy/policy.hpp"

namespace lifeguard {

enum class LinearisedStatus {
  ok,
  /// LᵀΓL, or Γ if L is square, was not positive definite to working precision; the knowledge is
  /// unchanged.
  singular,
};

/// The paper's linearised update, mirror descent in θ = (L, s̄, S') with α_t = ᾱ_t + L (s̄ + s'_t)
/// and the natural metric Γ of the round's loss: a gradient step of the loss at the present θ moves
/// α_t by Δ = α⁺ - α_t. The part of Δ that L can express goes to the coefficients,
///   ds = (LᵀΓL)⁻¹ LᵀΓ Δ,
/// a share w of it to the common mean s̄, and so to every task, and the rest to s'_t alone. The part
/// of the task's step that L cannot express turns L along s_t.
class LinearisedUpdate {
 public:
  LinearisedUpdate(int parameters, int basis_size);

  /// Each task t moves by steps.col(t), which is w Δ or less but for the observed one, as far as L
  /// can express it. `curvature` has the blocks of Γ (action_blocks.hpp).
  LinearisedStatus update(const Eigen::MatrixXd& curvature, const Eigen::MatrixXd& steps, int task,
                          Knowledge& knowledge);

 private:
  bool factorise(const Eigen::MatrixXd& curvature, const Eigen::MatrixXd& basis);

  Eigen::VectorXd rest_;          // of the task's step: what L cannot express
  Eigen::VectorXd direction_;     // k: along which L turns
  Eigen::MatrixXd expressed_;     // k × T: (LᵀΓL)⁻¹ LᵀΓ of the steps
  Eigen::MatrixXd curved_basis_;  // ΓL, d × k
  Eigen::MatrixXd system_;        // LᵀΓL, k × k
  bool square_ = false;           // k = d
  // Of something, since a copy reads the status that only a decomposition sets.
  Eigen::LLT<Eigen::MatrixXd> metric_factor_{Eigen::MatrixXd::Identity(1, 1)};  // of LᵀΓL or Γ
  Eigen::PartialPivLU<Eigen::MatrixXd> basis_factor_;                           // of a square L
};

}  // namespace lifeguard
