#pragma once

#include <Eigen/Core>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// What the batch was good for.
enum class RoundLossStatus {
  not_run,
  ok,
  /// The batch says nothing about which way is better (all advantages equal, or no live step): the
  /// target is the played policy and the curvature is what the data gave.
  no_signal,
  /// The features of the batch do not span all directions, so the curvature was damped (see
  /// BaseLearnerSettings::relative_damping) before a step was taken. The loss is usable.
  damped_curvature,
};

/// What a base learner makes of one round's trajectories, and all that is left of them afterwards:
///   l(α) = ½ (α - α⁺)ᵀ (I_A ⊗ G) (α - α⁺) + constant.
/// α stacks the rows of the gains K, one action after the other (GaussianPolicy), and all actions
/// share their features, so the curvature is the same F × F block G for every action.
struct RoundLoss {
  RoundLossStatus status = RoundLossStatus::not_run;

  Eigen::MatrixXd curvature;  // G: F × F, symmetric, positive definite
  Eigen::VectorXd target;     // α⁺: A·F entries
  double constant = kNaN;

  /// Where the data were gathered.
  Eigen::VectorXd played;  // α_j: A·F entries
  int trajectories = 0;
  /// Mean over the batch of C(τ) = (1/M) Σ_m c_m, exploration noise included.
  double mean_cost = kNaN;
  /// The standard error of that mean over the batch's trajectories; 0 for a single one.
  double cost_error = 0;
  /// How much cost one unit of the advantages is: those are sums over steps, and may be normalised.
  double cost_unit = kNaN;
  /// Estimate of ∂E[C(τ)]/∂α at α_j, in units of cost whether or not advantages are normalised.
  Eigen::VectorXd cost_gradient;
  /// q = gᵀ F⁻¹ g of that gradient g, with the Fisher information F of one whole trajectory.
  double natural_norm_squared = kNaN;
  /// The estimated part of q that is sampling noise, as a share of q; 1 or more means all of it.
  double noise_share = kNaN;
  /// The factor by which the step was shortened for that noise; 1 if it was not.
  double shrinkage = 1;
  /// ½ (α⁺ - α_j)ᵀ (I_A ⊗ G) (α⁺ - α_j) without that factor: the trust region of the step, in the
  /// metric of this loss. NaN if it is not known; a learner then pools no gradients.
  double radius = kNaN;
  /// ½ (α⁺ - α_j)ᵀ F (α⁺ - α_j): how far the target is from the played policy, as the mean KL
  /// divergence over a trajectory, in nats.
  double step_kl = kNaN;

  /// F and A.
  int features() const { return static_cast<int>(curvature.rows()); }
  int actions() const {
    return curvature.rows() == 0 ? 0 : static_cast<int>(target.size() / curvature.rows());
  }
  /// l(α) and ∇l(α).
  double value(const Eigen::VectorXd& alpha) const;
  Eigen::VectorXd gradient(const Eigen::VectorXd& alpha) const;
};

}  // namespace lifeguard
