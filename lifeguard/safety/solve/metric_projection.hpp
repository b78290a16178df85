#pragma once

#include <Eigen/Core>
#include <memory>

#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

/// The safe policy nearest to a wanted one in the metric of a round's loss:
///   min (α' - α)ᵀ G (α' - α)  over  A α' ≤ b, ‖b - A α'‖ ≤ c_max.
/// A step -G⁻¹g that is cut by constraints must be cut in the metric G that made it. Then it stands
/// still only where the cost cannot fall inside the set (g = -Aᵀλ, λ ≥ 0); cut in another metric it
/// stands still elsewhere, at G⁻¹g = -Aᵀλ for the Euclidean one. With G = C Cᵀ and y = Cᵀ(α' - ᾱ)
/// the program is the S-step's. G has a block for each action (action_blocks.hpp).
///
/// A workspace: no allocation once it has seen the largest size.
class MetricProjection {
 public:
  MetricProjection();
  ~MetricProjection();
  MetricProjection(MetricProjection&&) noexcept;
  MetricProjection& operator=(MetricProjection&&) noexcept;

  /// `policy` comes in as it is wanted and leaves safe up to rounding. The anchor must be strictly
  /// inside. A metric that is not positive definite leaves the policy as it is: not_run.
  /// `margin` is the part of the anchor's distance to each row that stays free, as in
  /// ProjectionSettings: with it the verifier accepts the answer.
  CoefficientPath project(const SafeSet& set, const Eigen::Ref<const Eigen::VectorXd>& anchor,
                          const Eigen::MatrixXd& metric, double margin,
                          Eigen::Ref<Eigen::VectorXd> policy);

 private:
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace lifeguard
