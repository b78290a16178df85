#pragma once

#include <type_traits>
#include <utility>

#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard::python {

/// The exploration noise of a policy as the library holds it, and as Python gives and gets it.
using Sigma = std::remove_cvref_t<decltype(std::declval<const GaussianPolicy&>().sigma())>;

/// The deviation before clipping of noise that deviates by sigma as it is played.
inline double clipped_scale(double sigma, double limit) {
  return clipped_noise_scale(sigma, limit);
}

}  // namespace lifeguard::python
