#pragma once

#include "lifeguard/systems/linear_model.hpp"

namespace lifeguard {

/// A uniform rod of length l hinged on a cart that is pushed by one force. θ = 0 is upright, the
/// hinge is frictionless, the cart is damped by d ẋ:
///   (m_c + m_p) ẍ + m_p h (θ̈ cos θ - θ̇² sin θ) = gain u - d ẋ,   h = l/2,
///   (4/3) h θ̈ + ẍ cos θ = g sin θ.
/// State (x in m, ẋ in m/s, θ in rad, θ̇ in rad/s), action u in N.
struct CartPole {
  static constexpr int kStates = 4;
  static constexpr int kActions = 1;

  double cart_mass_kilograms = 1.0;
  double pole_mass_kilograms = 0.15;
  /// The whole length of the rod; its centre of mass is at half of it.
  double pole_length_metres = 0.5;
  double damping_newton_seconds_per_metre = 0.05;
  double actuator_gain = 1.0;
  double gravity_metres_per_second2 = 9.81;

  void validate() const;
  /// Around the upright pole at rest.
  LinearModel linearise() const;

  bool operator==(const CartPole&) const = default;
};

}  // namespace lifeguard
