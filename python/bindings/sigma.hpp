#pragma once

#include <Eigen/Core>

#include "bindings/common.hpp"
#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/core/per_action.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard::python {

/// The exploration noise of a policy as Python gives and gets it: a number, or one for each action.
using Sigma = PerAction;

inline Sigma sigma_of(const GaussianPolicy& policy) { return policy.noise(); }

/// The deviation before clipping of noise that deviates by sigma as it is played.
inline Sigma clipped_scale(const Sigma& sigma, double limit) {
  if (sigma.each().size() == 0) return clipped_noise_scale(sigma.of(0), limit);
  Eigen::VectorXd scales = sigma.each();
  for (double& scale : scales) scale = clipped_noise_scale(scale, limit);
  return PerAction(scales);
}

}  // namespace lifeguard::python

namespace nanobind::detail {

template <>
struct type_caster<lifeguard::PerAction> {
  NB_TYPE_CASTER(lifeguard::PerAction, const_name("float | numpy.ndarray"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<double> number;
    if (number.from_python(source, flags, cleanup)) {
      value = lifeguard::PerAction(number.value);
      return true;
    }
    make_caster<Eigen::VectorXd> list;
    if (!list.from_python(source, flags, cleanup) || list.value.size() == 0) return false;
    value = lifeguard::PerAction(std::move(list.value));
    return true;
  }
  static handle from_cpp(const lifeguard::PerAction& from, rv_policy policy,
                         cleanup_list* cleanup) noexcept {
    if (from.each().size() == 0) return make_caster<double>::from_cpp(from.of(0), policy, cleanup);
    return make_caster<Eigen::VectorXd>::from_cpp(from.each(), policy, cleanup);
  }
};

}  // namespace nanobind::detail
