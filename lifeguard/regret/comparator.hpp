#pragma once

#include <Eigen/Core>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Round losses of one task, summed:
///   f(α) = ½ xᵀ G x - γᵀ x + κ,   x = α - reference,
/// with a block of G for each action (action_blocks.hpp). The reference is a policy near those that
/// were played, so that the three terms do not cancel.
struct LossSum {
  Eigen::MatrixXd curvature;  // G = Σ G_j, blocks of features × features
  Eigen::VectorXd linear;     // γ = Σ G_j (α_j⁺ - reference)
  Eigen::VectorXd reference;
  double constant = 0;  // κ = Σ l_j(reference)

  LossSum() = default;
  LossSum(int features, int parameters);

  double value(const Eigen::VectorXd& alpha) const;
  Eigen::VectorXd gradient(const Eigen::VectorXd& alpha) const;
};

enum class ComparatorStatus {
  not_run,
  /// The minimum over all policies lies in the safe set.
  unconstrained,
  /// Rows or the slack limit bind at the minimum.
  constrained,
};

/// The best fixed policy in hindsight. Its value is known to lie in [lower_bound, value].
struct ComparatorResult {
  ComparatorStatus status = ComparatorStatus::not_run;
  Eigen::VectorXd alpha;  // in the safe set
  double value = kNaN;
  /// No policy of the safe set has a lower sum, up to rounding: the dual value at the multipliers.
  double lower_bound = kNaN;
  Eigen::VectorXd multipliers;  // λ ≥ 0, one for each row
  double ball_multiplier = 0;   // ν ≥ 0 of the slack limit
};

/// min f(α) over A α ≤ b, ‖b - A α‖ ≤ c_max. In coordinates in which the curvature is the identity
/// this is the program of the safety projection's S-step, whose solver is used. Where the curvature
/// is nearly singular a proximal term makes it regular, and is moved along until its part in the
/// duality gap is gone. `interior` must be strictly safe (choose_anchor).
ComparatorResult best_in_hindsight(const LossSum& sum, const SafeSet& set,
                                   const Eigen::VectorXd& interior);

}  // namespace lifeguard
