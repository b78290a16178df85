#pragma once

#include "lifeguard/systems/linear_model.hpp"

namespace lifeguard {

/// A mass on a spring with a damper, pushed by one force:
///   m ẍ = gain u - k x - d ẋ.
/// State (x in m, ẋ in m/s), action u in N.
struct MassSpring {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;

  double spring_newtons_per_metre = 5.5;
  double damping_newton_seconds_per_metre = 0.105;
  double mass_kilograms = 2.75;
  /// Newtons of force for each newton commanded.
  double actuator_gain = 1.0;

  void validate() const;
  /// d(x, ẋ)/dt = A (x, ẋ) + B u; exact everywhere, since the system is linear.
  LinearModel linearise() const;

  bool operator==(const MassSpring&) const = default;
};

}  // namespace lifeguard
