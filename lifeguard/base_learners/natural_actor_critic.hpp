#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// Cholesky factor of a symmetric positive semi-definite matrix. A pivot below 1e-12 of the largest
/// diagonal entry counts as singular: then `relative_damping` of the mean diagonal is added to the
/// diagonal of `matrix` first, and the result is true. The matrix must not be zero.
bool factorise_damped(Eigen::MatrixXd& matrix, double relative_damping,
                      Eigen::LLT<Eigen::MatrixXd>& factor);

/// x ← (I ⊗ G)⁻¹ x for the factor of the block G.
void solve_blocks(const Eigen::LLT<Eigen::MatrixXd>& factor, Eigen::VectorXd& x);

/// xᵀ (I ⊗ G) x.
double block_norm_squared(const Eigen::MatrixXd& block, const Eigen::VectorXd& x);

/// Memory of measured_noise.
struct NoiseWorkspace {
  AlignedVector<double> deviations;  // g_i - ĝ: one row of trajectories for each entry
  AlignedVector<double> sums;        // of their products, in lanes
  std::vector<int> rows;
  Eigen::MatrixXd covariance;
};

/// N = (1/(n(n-1))) Σ_i (g_i - ĝ)ᵀ F⁻¹ (g_i - ĝ): the expected part of ĝᵀF⁻¹ĝ that is sampling
/// noise, measured by the spread of the gradient over n ≥ 2 trajectories.
double measured_noise(const PolicyGradient& gradient, int trajectories,
                      const Eigen::LLT<Eigen::MatrixXd>& fisher_factor, NoiseWorkspace& workspace);

struct ReturnRegression {
  bool damped = false;
  /// Variance of the returns that the scores do not explain, RSS / (n - d - 1); NaN if n ≤ d + 1.
  double residual_variance = 0;
};

/// Episodic natural actor-critic (Peters and Schaal 2008, "episodic NAC"): least squares of the
/// returns R_i on the scores ψ_i = Σ_m ∇log π and a constant,
///   min_{w, b} Σ_i (R_i - ψ_iᵀ w - b)².
/// Its limit is w = E[ψψᵀ]⁻¹ E[ψ R] = F⁻¹ g, the natural gradient. `scores` holds ψ_i as the
/// trajectory gradients of unit advantages.
ReturnRegression regress_returns(const PolicyGradient& scores, const double* returns,
                                 int trajectories, double relative_damping, Eigen::MatrixXd& normal,
                                 Eigen::LLT<Eigen::MatrixXd>& factor, Eigen::VectorXd& direction);

}  // namespace lifeguard
