#pragma once

#include "lifeguard/systems/linear_model.hpp"

namespace lifeguard {

/// Attitude of a quadrotor, after S. Bouabdallah, "Design and control of quadrotors with
/// application to autonomous flying" (EPFL thesis 3727, 2007). With rotor speeds Ω_i:
///   Ixx φ̈ = θ̇ ψ̇ (Iyy - Izz) - J_r θ̇ Ω_r + l b (Ω4² - Ω2²)
///   Iyy θ̈ = φ̇ ψ̇ (Izz - Ixx) + J_r φ̇ Ω_r + l b (Ω1² - Ω3²)
///   Izz ψ̈ = φ̇ θ̇ (Ixx - Iyy) + drag (Ω2² + Ω4² - Ω1² - Ω3²)
///   Ω_r = Ω2 + Ω4 - Ω1 - Ω3.
/// State (φ, θ, ψ in rad, φ̇, θ̇, ψ̇ in rad/s). Action u_i is the relative deviation of rotor i from
/// hover: Ω_i = Ω_hover (1 + u_i) with Ω_hover = √(m g / 4b).
struct Quadrotor {
  static constexpr int kStates = 6;
  static constexpr int kActions = 4;

  double inertia_x_kilogram_metres2 = 5.5e-3;
  double inertia_y_kilogram_metres2 = 4.7e-3;
  double inertia_z_kilogram_metres2 = 1.8e-2;
  double arm_metres = 0.285;
  double mass_kilograms = 0.65;
  double thrust_newton_seconds2 = 3.13e-5;
  double drag_newton_metre_seconds2 = 7.5e-7;
  double rotor_inertia_kilogram_metres2 = 6e-5;
  double gravity_metres_per_second2 = 9.81;

  void validate() const;
  double hover_speed_radians_per_second() const;
  /// Around hover, level and at rest.
  LinearModel linearise() const;

  bool operator==(const Quadrotor&) const = default;
};

}  // namespace lifeguard
