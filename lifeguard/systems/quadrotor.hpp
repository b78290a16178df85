#ifndef LIFEGUARD_SYSTEMS_QUADROTOR_HPP
#define LIFEGUARD_SYSTEMS_QUADROTOR_HPP

#include <Eigen/Core>
#include <array>
#include <string_view>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

struct Family;
struct InclusionSettings;

/// Attitude of a quadrotor, after S. Bouabdallah, "Design and control of quadrotors with
/// application to autonomous flying" (EPFL thesis 3727, 2007). With rotor speeds Ω_i:
///   Ixx φ̈ = θ̇ ψ̇ (Iyy - Izz) + J_r θ̇ Ω_r + l b (Ω4² - Ω2²)
///   Iyy θ̈ = φ̇ ψ̇ (Izz - Ixx) - J_r φ̇ Ω_r + l b (Ω1² - Ω3²)
///   Izz ψ̈ = φ̇ θ̇ (Ixx - Iyy) + drag (Ω2² + Ω4² - Ω1² - Ω3²)
///   Ω_r = Ω2 + Ω4 - Ω1 - Ω3.
/// Drag turns the body against the spin of a rotor, so rotors 2 and 4 spin about -z and all rotors
/// together have the momentum -J_r Ω_r about z; its gyroscopic torque is -ω × (0, 0, -J_r Ω_r).
/// State (φ, θ, ψ in rad, φ̇, θ̇, ψ̇ in rad/s). Action u_i is the relative deviation of rotor i from
/// hover: Ω_i = Ω_hover (1 + u_i) with Ω_hover = √(m g / 4b).
struct Quadrotor {
  static constexpr std::string_view kName = "quadrotor";
  static constexpr std::string_view kMeaning = "the attitude of a quadrotor, turned by four rotors";
  static constexpr int kStates = 6;
  static constexpr int kActions = 4;
  static constexpr std::array<SignalName, kStates> kStateNames = {{{"roll", "rad"},
                                                                   {"pitch", "rad"},
                                                                   {"yaw", "rad"},
                                                                   {"roll rate", "rad/s"},
                                                                   {"pitch rate", "rad/s"},
                                                                   {"yaw rate", "rad/s"}}};
  /// Relative to the speed in hover.
  static constexpr std::array<SignalName, kActions> kActionNames = {
      {{"rotor 1", "1"}, {"rotor 2", "1"}, {"rotor 3", "1"}, {"rotor 4", "1"}}};
  static constexpr std::array<int, 3> kPositions = {0, 1, 2};
  static constexpr std::array<int, 3> kVelocities = {3, 4, 5};
  static constexpr std::string_view kDrawing = "quadrotor";
  /// Without any feedback a quadrotor that explores drifts and tumbles before it has learnt
  /// anything.
  static constexpr double kStartShare = 0.15;
  static constexpr std::string_view kFleetExample =
      R"([fleet.tolerance] # shares of the values, or [low, high]
inertia_x_kilogram_metres2 = 0.2
inertia_y_kilogram_metres2 = 0.2
inertia_z_kilogram_metres2 = 0.2
arm_metres = 0.2

[fleet.settings]
# Gains that do not saturate the rotors: they are dear, and starts are near to hover.
state_weights = [1, 1, 1, 0.1, 0.1, 0.1]
action_weights = 1
start_low = [-0.3, -0.3, -0.15, -0.15, -0.15, -0.15]
start_high = [0.3, 0.3, 0.15, 0.15, 0.15, 0.15]
sigma = 0.003       # of the speed in hover, standard deviation of the exploration noise
noise_limit = 0.006 # at which it is clipped

[safe_set.closed_loop] # every policy keeps the machine inside, whatever it is within its tolerance
decay = 0.992     # by which the distance from the goal shrinks at least in each step
start_share = 0.4 # the part of the start box that must be guaranteed at least
room = "nominal"  # for the LQR controller of the machine as it is known
state_limits = [1.2, 1.2, 1.2, 6, 6, 1.5]
combined_limit = [
  { name = "rotors 4 - 2", limit = 1.2 },
  { name = "rotors 1 - 3", limit = 1.2 },
  { name = "rotors 2 + 4", limit = 0.5 },
  { name = "rotors 1 + 3", limit = 0.5 },
]
)";

  double inertia_x_kilogram_metres2 = 5.5e-3;
  double inertia_y_kilogram_metres2 = 4.7e-3;
  double inertia_z_kilogram_metres2 = 1.8e-2;
  double arm_metres = 0.285;
  double mass_kilograms = 0.65;
  double thrust_newton_seconds2 = 3.13e-5;
  double drag_newton_metre_seconds2 = 7.5e-7;
  double rotor_inertia_kilogram_metres2 = 6e-5;
  double gravity_metres_per_second2 = 9.81;

  /// Every field above, with rule, unit and meaning.
  static constexpr auto parameters() {
    using S = Quadrotor;
    using Rule = ParameterRule;
    return std::to_array<Parameter<S>>(
        {{"inertia_x_kilogram_metres2", &S::inertia_x_kilogram_metres2, Rule::positive(), "kg m²",
          "moment of inertia Ixx, about the roll axis"},
         {"inertia_y_kilogram_metres2", &S::inertia_y_kilogram_metres2, Rule::positive(), "kg m²",
          "moment of inertia Iyy, about the pitch axis"},
         {"inertia_z_kilogram_metres2", &S::inertia_z_kilogram_metres2, Rule::positive(), "kg m²",
          "moment of inertia Izz, about the yaw axis"},
         {"arm_metres", &S::arm_metres, Rule::positive(), "m",
          "distance l of a rotor from the centre"},
         {"mass_kilograms", &S::mass_kilograms, Rule::positive(), "kg", "mass m"},
         {"thrust_newton_seconds2", &S::thrust_newton_seconds2, Rule::positive(), "N s²",
          "thrust b of a rotor for each square of its speed"},
         {"drag_newton_metre_seconds2", &S::drag_newton_metre_seconds2, Rule::positive(), "N m s²",
          "drag of a rotor for each square of its speed"},
         {"rotor_inertia_kilogram_metres2", &S::rotor_inertia_kilogram_metres2,
          Rule::not_negative(), "kg m²", "moment of inertia J_r of a rotor"},
         {"gravity_metres_per_second2", &S::gravity_metres_per_second2, Rule::positive(), "m/s²",
          "gravity g"}});
  }
  /// The settings of its tasks where a configuration says nothing else.
  static TaskSettings default_settings();
  /// The paper's alone.
  static std::vector<Family> families();

  /// Ω_hover.
  double hover_speed_radians_per_second() const;
  /// Around hover, level and at rest.
  LinearModel linearise() const;
  /// It hovers at any angle.
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const;
  /// One step as a linear inclusion: see inclusion() in plant_inclusion.hpp, which checks the
  /// settings. Needs finite limits on the three rates and on the rotors.
  UncertainPlant inclusion(const TaskSettings& task, const InclusionSettings& settings) const;

  operator System() const;  // NOLINT(google-explicit-constructor)
  bool operator==(const Quadrotor&) const = default;
};

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_QUADROTOR_HPP

#ifdef LIFEGUARD_COMPILE_DYNAMICS  // once for each SIMD target: see dynamics.hpp
HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

template <>
struct Dynamics<Quadrotor> {
  double coupling[3];    // e.g. (Iyy - Izz) / Ixx
  double gyroscopic[2];  // J_r Ω_hover / Ixx and / Iyy
  double torque[3];      // l b Ω_hover² / Ixx, / Iyy, and drag Ω_hover² / Izz

  explicit Dynamics(const Quadrotor& s) {
    const double ixx = s.inertia_x_kilogram_metres2;
    const double iyy = s.inertia_y_kilogram_metres2;
    const double izz = s.inertia_z_kilogram_metres2;
    const double hover = s.hover_speed_radians_per_second();
    coupling[0] = (iyy - izz) / ixx;
    coupling[1] = (izz - ixx) / iyy;
    coupling[2] = (ixx - iyy) / izz;
    gyroscopic[0] = s.rotor_inertia_kilogram_metres2 * hover / ixx;
    gyroscopic[1] = s.rotor_inertia_kilogram_metres2 * hover / iyy;
    torque[0] = s.arm_metres * s.thrust_newton_seconds2 * hover * hover / ixx;
    torque[1] = s.arm_metres * s.thrust_newton_seconds2 * hover * hover / iyy;
    torque[2] = s.drag_newton_metre_seconds2 * hover * hover / izz;
  }

  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    // Speeds and their squares as deviations from hover: (1 + u)² - 1 = u (2 + u).
    const Real s1 = u[0] * (Real(2.0) + u[0]);
    const Real s2 = u[1] * (Real(2.0) + u[1]);
    const Real s3 = u[2] * (Real(2.0) + u[2]);
    const Real s4 = u[3] * (Real(2.0) + u[3]);
    const Real residual = (u[1] + u[3]) - (u[0] + u[2]);  // Ω_r / Ω_hover
    const Real roll = x[3], pitch = x[4], yaw = x[5];
    out[0] = Real(coupling[0]) * (pitch * yaw) + Real(gyroscopic[0]) * (pitch * residual) +
             Real(torque[0]) * (s4 - s2);
    out[1] = Real(coupling[1]) * (roll * yaw) - Real(gyroscopic[1]) * (roll * residual) +
             Real(torque[1]) * (s1 - s3);
    out[2] = Real(coupling[2]) * (roll * pitch) + Real(torque[2]) * ((s2 + s4) - (s1 + s3));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();
#endif
