#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Curved constraints as the solver steps see them: they know rows only, so what a point violates
/// is cut off by tangent planes, and the step is taken again (Kelley 1960). Every safe policy lies
/// behind every tangent plane, whatever point it was taken at.

/// Below this excess over 1 a ratio is left to retraction.
inline constexpr double kRatioTolerance = 1e-7;
/// Steps of cutting and solving again before what is left is scaled back.
inline constexpr int kMostCuttingSteps = 200;

/// Where the curved constraints of a task end.
struct CurvedConstraints {
  const std::vector<GainInequality>& inequalities;
  const Eigen::MatrixXd& rows;    // A, for the slack limit
  const Eigen::VectorXd& limits;  // b
  double slack_limit;             // c_max

  bool exist() const { return !inequalities.empty(); }
  /// The largest ρ of all, that of ‖b - A α‖ to c_max included.
  double largest_ratio(const Eigen::Ref<const Eigen::VectorXd>& policy) const;
  /// Tangent planes at a policy, of all that is at least `least` of its limit.
  void add_tangents(const Eigen::Ref<const Eigen::VectorXd>& policy, double least,
                    std::vector<GainInequality::Tangent>& tangents) const;
};

/// The largest τ in [0, 1] for which ᾱ + τ (α - ᾱ) is known to have a ratio of at most `most` < 1,
/// since ratios are convex: from the ratio at the anchor ᾱ and at α.
double convex_scale(double anchor_ratio, double ratio, double most);

}  // namespace lifeguard
