#pragma once

#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// The settings with the discount and the trust region that suit this batch.
BaseLearnerSettings adapted(const BaseLearnerSettings& base_learner,
                            const AdaptationSettings& adaptation, const Trajectories& trajectories);

/// σ² Q_uu of the batch's advantages: by Stein's identity E[A (|ε|²/σ² - a)] / a for a actions with
/// noise ε = u - KΦ. The second derivative of the cost in α is about this times the Fisher
/// information, so F⁻¹ĝ divided by it is the Newton step. Never less than twice its own standard
/// error for advantages of variance 1.
double action_curvature(const Trajectories& trajectories, const PolicyGradient& gradient);

/// How many times as long as its trust region allows a step may be, in KL divergence, whose noise
/// is this share of it: sure_noise_share / noise_share, at least once and never more than a batch
/// can vouch for. However sure its direction, the landscape is known only where the batch has been.
double sure_growth(double sure_noise_share, double noise_share);

/// Scales the step of an eNAC loss with trust region `radius`: to a larger one where the direction
/// is sure, and down to the limit of Newton steps. `gradient` is what make_round_loss left of this
/// batch.
void adapt_step(const AdaptationSettings& adaptation, double radius,
                const Trajectories& trajectories, const PolicyGradient& gradient, RoundLoss& loss);

}  // namespace lifeguard
