#pragma once

#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

struct LineSearchResult {
  /// no_signal if the batch has no direction to search along; then the numbers stay NaN.
  RoundLossStatus status = RoundLossStatus::not_run;
  /// The radius with the lowest importance-weighted cost, in nats over a whole trajectory.
  double trust_region = kNaN;
  /// The step along the direction of the base learner that this is.
  double step = kNaN;
};

/// The line search for the step, as the paper does it: once, after a few trajectories
/// (StepSettings::line_search_trajectories) of the first policy and without further samples. Among
/// the radii δ · 2^{-k}, δ = settings.step.trust_region, it returns the one of lowest
/// importance-weighted cost, which StepRule::trust_region can use from then on.
/// StepRule::line_search repeats it every round. For eREINFORCE and eNAC; other methods take no
/// such step and throw InvalidInput, as does what make_round_loss throws for.
LineSearchResult search_trust_region(const Trajectories& trajectories, const GaussianPolicy& played,
                                     const BaseLearnerSettings& settings,
                                     BaseLearnerWorkspace& workspace);

}  // namespace lifeguard
