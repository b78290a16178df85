#pragma once

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// w = exp(-(A - min A) / τ), divided by its mean over all live steps: at least 0, mean 1, and the
/// larger the less a step cost. Zero where a trajectory is no longer live. The shift by the
/// smallest advantage keeps every exponential at most 1.
void likelihood_weights(const Trajectories& trajectories, const double* advantages,
                        double temperature, AlignedVector<double>& weights);

/// w = 1 on live steps.
void unit_weights(const Trajectories& trajectories, AlignedVector<double>& weights);

/// (1/(2nσ²)) Σ w ‖u - KΦ‖²: the weighted negative log-likelihood of the batch at the policy,
/// without the normaliser of the Gaussian, which does not depend on K.
double weighted_negative_log_likelihood(const Trajectories& trajectories,
                                        const GaussianPolicy& policy, const double* weights);

}  // namespace lifeguard
