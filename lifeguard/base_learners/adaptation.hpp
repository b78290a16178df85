#pragma once

#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

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

  void validate() const;
  bool operator==(const AdaptationSettings&) const = default;
};

BaseLearnerSettings adapted(const BaseLearnerSettings& base_learner,
                            const AdaptationSettings& adaptation, const Trajectories& trajectories);

/// σ² Q_uu of the batch's advantages: by Stein's identity E[A (|ε|²/σ² - a)] / a for a actions with
/// noise ε = u - KΦ. The second derivative of the cost in α is about this times the Fisher
/// information, so F⁻¹ĝ divided by it is the Newton step. Never less than twice its own standard
/// error for advantages of variance 1.
double action_curvature(const Trajectories& trajectories, const PolicyGradient& gradient);

/// Scales the step of an eNAC loss with trust region `radius`: to a larger one where the direction
/// is sure, and down to the limit of Newton steps. `gradient` is what make_round_loss left of this
/// batch.
void adapt_step(const AdaptationSettings& adaptation, double radius,
                const Trajectories& trajectories, const PolicyGradient& gradient, RoundLoss& loss);

}  // namespace lifeguard
