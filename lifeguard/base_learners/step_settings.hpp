#pragma once

namespace lifeguard {

class SettingVisitor;

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

  void visit(SettingVisitor& visitor);
  /// r of δ_v, apart from the others: each method has its own.
  void visit_decay(SettingVisitor& visitor);
  void validate() const;
  /// δ_v.
  double radius(double visit) const;
  bool operator==(const StepSettings&) const = default;
};

}  // namespace lifeguard
