#pragma once

#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard::python {

/// The exploration noise of a policy as Python gives and gets it.
using Sigma = double;

inline Sigma sigma_of(const GaussianPolicy& policy) { return policy.sigma(); }

/// The deviation before clipping of noise that deviates by sigma as it is played.
inline Sigma clipped_scale(const Sigma& sigma, double limit) {
  return clipped_noise_scale(sigma, limit);
}

}  // namespace lifeguard::python
