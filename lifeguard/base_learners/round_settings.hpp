#pragma once

#include "lifeguard/base_learners/base_learner_settings.hpp"

namespace lifeguard {

class SettingVisitor;

/// What a batch itself says about how to learn from it. This is what lets one setting serve systems
/// as different as a mass that never fails and a pole that falls in every trajectory
/// (docs/learning.md has the numbers).
struct AdaptationSettings {
  /// The advantage's horizon 1 / (1 - γ), in steps, if every trajectory failed; with a share φ of
  /// failures 1 - γ = (1 - φ)(1 - γ₀) + φ / failure_horizon, γ₀ being the base learner's discount.
  /// After a failure all later steps cost the same whatever was done, and a long horizon drowns
  /// what the actions changed in when the failure came. ≥ 1; 0 leaves the discount alone.
  double failure_horizon = 5.0;
  /// The trust region for each live step, in nats: δ = this times the mean number of live steps of
  /// the batch. The mean action then moves by √(2 · this) standard deviations of the exploration
  /// noise, whatever the horizon. ≥ 0; 0 leaves the base learner's δ alone.
  double trust_region_per_step = 1.8;
  /// δ grows by max(1, this / ν) where the noise share ν of the gradient is small: a direction that
  /// the batch is sure of may be followed further. ≥ 0; 0 means never.
  double sure_noise_share = 0.15;
  /// The largest step as a multiple of the Newton step, which goes to where the batch's own
  /// curvature in the actions puts the minimum: a trust region alone keeps stepping as far when the
  /// minimum is near. ≥ 0; 0 means no limit.
  double newton_limit = 1.0;

  /// What is the same for all methods, and what each method has for itself.
  void visit_horizon(SettingVisitor& visitor);
  void visit_steps(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const AdaptationSettings&) const = default;
};

/// How trajectories become a loss, in the same way for every learner.
struct RoundSettings {
  BaseLearnerSettings base_learner = default_base_learner();
  AdaptationSettings adaptation;

  /// eNAC with the advantages that served all families best (docs/learning.md): γ = 0.998, λ = 0.95
  /// and a baseline fitted twice; trust regions decay as 1 / (1 + visits).
  static BaseLearnerSettings default_base_learner();

  /// The table [base_learner], which all methods of an experiment share …
  void visit_base_learner(SettingVisitor& visitor);
  /// … and the size of the steps, which each method has in a table of its own, since each may be
  /// tuned.
  void visit_steps(SettingVisitor& visitor);
  /// Takes over what all methods share.
  void share_base_learner(const RoundSettings& common);
  void validate() const;
  bool operator==(const RoundSettings&) const = default;
};

}  // namespace lifeguard
