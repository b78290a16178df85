#pragma once

#include <Eigen/Core>

#include "lifeguard/core/aligned.hpp"
#include "lifeguard/policy/gaussian_policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// How far to go along the direction d of a base learner: α⁺ = α_j - step · shrinkage · d. A visit
/// is v = 0, 1, 2, …: how often the task was played before.
enum class StepRule {
  fixed,         // step = size
  harmonic,      // step = size / (1 + v): the paper's c / j
  trust_region,  // ½ step² dᵀFd = δ_v = trust_region / (1 + v)^decay
  line_search,   // the radius δ_v · 2^{-k} of lowest importance-weighted cost on the batch
};

/// How the part of a gradient that is only sampling noise is estimated (docs/base_learners.md).
/// With noise N = E[(ĝ - g)ᵀ F⁻¹ (ĝ - g)] and q = ĝᵀ F⁻¹ ĝ, the multiple of ĝ that is nearest to g
/// is about 1 - N/q.
enum class NoiseShrinkage {
  none,
  white,     // N = d · var(A) / n: right if advantages were independent of states and actions
  measured,  // N from the spread of the gradient over trajectories; needs at least 2
};

struct StepSettings {
  StepRule rule = StepRule::trust_region;
  /// The step of `fixed`, the c of `harmonic`; > 0.
  double size = 0.1;
  /// δ in nats of KL divergence over a whole trajectory; > 0.
  double trust_region = 16.0;
  /// r ≥ 0 in δ_v = δ / (1 + v)^r.
  double decay = 1.0;
  NoiseShrinkage shrinkage = NoiseShrinkage::measured;
  /// The shrinkage factor is max(shrinkage_floor, 1 - N/q); in [0, 1].
  double shrinkage_floor = 0.05;
  /// The line search looks at the first so many trajectories, as in the paper.
  int line_search_trajectories = 10;
  /// ... and at so many radii, each half of the one before.
  int line_search_candidates = 12;
  /// ... and rejects a radius if its importance weights are worth less than this share of the
  /// samples: (Σw)² / (N Σw²); in (0, 1].
  double line_search_effective_share = 0.5;

  void validate() const;
  /// δ_v.
  double radius(double visit) const;
  bool operator==(const StepSettings&) const = default;
};

/// The cost along α = played - step · direction, as far as the batch can tell:
///   S(step) = (1/n) Σ_i Σ_m (π_α(u|x) / π_played(u|x) - 1) A_m.
/// Each step's action is re-weighted under the states as they were visited, so S is right to first
/// order in the step and does not degenerate with the length of a trajectory, as weights of whole
/// trajectories do. S'(0) = -ĝᵀ direction exactly.
class ImportanceLine {
 public:
  /// Uses the first `count` trajectories.
  void prepare(const Trajectories& trajectories, const GaussianPolicy& played,
               const double* advantages, const Eigen::VectorXd& direction, int count);
  struct Point {
    double value = 0;            // S(step)
    double effective_share = 0;  // (Σw)² / (N Σw²) of the weights
  };
  Point at(double step) const;

 private:
  int count_ = 0;
  AlignedVector<double> slope_;  // log weight = step · slope - step² · bend
  AlignedVector<double> bend_;
  AlignedVector<double> advantages_;
};

/// The step of lowest S among √(2 δ 2^{-k} / dᵀFd), k = 0, 1, …; the smallest of them if none has
/// enough effective samples.
double line_search_step(const ImportanceLine& line, const StepSettings& settings, double radius,
                        double direction_curvature);

}  // namespace lifeguard
