#pragma once

#include <Eigen/Core>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// Sums over a batch for a Gaussian policy with mean K Φ and one σ for all actions, whose score is
///   ∇_K log π(u | x) = (u - K Φ) Φᵀ / σ².
struct PolicyGradient {
  /// ĝ = (1/n) Σ_i Σ_m A_m ∇log π: A·F entries in the order of α, in units of the advantages.
  Eigen::VectorXd gradient;
  /// The F × F block of F = (1/n) Σ_i Σ_m E_u[∇log π ∇log πᵀ] = I_A ⊗ (1/(nσ²)) Σ Φ Φᵀ, the Fisher
  /// information of one whole trajectory.
  Eigen::MatrixXd fisher;
  /// Σ_i Σ_m A_m (|ε|²/σ² - a) with the noise ε = u - KΦ of the a actions: how much costlier than
  /// expected large noise was.
  double curvature_sum = 0;
  /// Of the noise itself, over the batch: Σ ε of each action, Σ |ε|² and the largest |ε|². What
  /// they say about where the actions came from: trajectory_check.hpp.
  Eigen::VectorXd noise_sums;
  double noise_squares = 0;
  double largest_noise_square = 0;
  /// The summands of ĝ, before the division by n: one row of `stride` trajectories for each entry,
  /// zero behind the last one.
  AlignedVector<double> trajectory_gradients;
  AlignedVector<double> trajectory_products;  // likewise Σ_m ΦΦᵀ, upper triangle by rows
  AlignedVector<double> trajectory_curvatures;
  AlignedVector<double> trajectory_noises;  // Σ ε of each action, then Σ |ε|², then the largest
  AlignedVector<double> row_sums;           // over trajectories
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> gains;
  std::size_t stride = 0;

  double trajectory_gradient(int entry, int i) const {
    return trajectory_gradients[static_cast<std::size_t>(entry) * stride + i];
  }
};

/// `advantages` has steps × trajectories.stride() numbers, zero where a trajectory is no longer
/// live. With `curvature_weights`, of the same shape, each ΦΦᵀ in `fisher` is multiplied by its
/// weight. Reuses the memory of `result`.
void compute_policy_gradient(const Trajectories& trajectories, const GaussianPolicy& policy,
                             const double* advantages, PolicyGradient& result,
                             const double* curvature_weights = nullptr);

}  // namespace lifeguard
