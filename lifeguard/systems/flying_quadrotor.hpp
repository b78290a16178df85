#ifndef LIFEGUARD_SYSTEMS_FLYING_QUADROTOR_HPP
#define LIFEGUARD_SYSTEMS_FLYING_QUADROTOR_HPP

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/quadrotor.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// The same quadrotor free in space: RigidQuadrotor's attitude, and a position that follows from
/// where the thrust T = b Σ Ω_i² points. The z axes of the world and of the body point down, as in
/// Quadrotor's equations (rotor 1 in front, 2 on the right, turns as seen from above):
///   m v̇ = m g e_z - T R e_z,   R = R_z(ψ) R_y(θ) R_x(φ).
/// No drag of the air. State (x, y, z in m, φ, θ, ψ in rad, velocity in m/s in the world's axes,
/// p, q, r in rad/s about the body's), actions and parameters as of Quadrotor.
struct FlyingQuadrotor : private Quadrotor {
  static constexpr std::string_view kName = "flying-quadrotor";
  static constexpr std::string_view kMeaning =
      "a quadrotor free in space: position and attitude of a rigid body with four rotors";
  static constexpr int kStates = 12;
  static constexpr int kActions = 4;
  static constexpr std::array<SignalName, kStates> kStateNames = {{{"position x", "m"},
                                                                   {"position y", "m"},
                                                                   {"position z", "m"},
                                                                   {"roll", "rad"},
                                                                   {"pitch", "rad"},
                                                                   {"yaw", "rad"},
                                                                   {"velocity x", "m/s"},
                                                                   {"velocity y", "m/s"},
                                                                   {"velocity z", "m/s"},
                                                                   {"body rate x", "rad/s"},
                                                                   {"body rate y", "rad/s"},
                                                                   {"body rate z", "rad/s"}}};
  static constexpr std::array<SignalName, kActions> kActionNames = Quadrotor::kActionNames;
  /// The attitude first: it is what the page draws.
  static constexpr std::array<int, 6> kPositions = {3, 4, 5, 0, 1, 2};
  static constexpr std::array<int, 6> kVelocities = {9, 10, 11, 6, 7, 8};
  static constexpr std::string_view kDrawing = "quadrotor";
  static constexpr double kStartShare = Quadrotor::kStartShare;

  using Quadrotor::arm_metres;
  using Quadrotor::drag_newton_metre_seconds2;
  using Quadrotor::gravity_metres_per_second2;
  using Quadrotor::inertia_x_kilogram_metres2;
  using Quadrotor::inertia_y_kilogram_metres2;
  using Quadrotor::inertia_z_kilogram_metres2;
  using Quadrotor::mass_kilograms;
  using Quadrotor::rotor_inertia_kilogram_metres2;
  using Quadrotor::thrust_newton_seconds2;

  /// Those of Quadrotor.
  static constexpr auto parameters() {
    constexpr auto kSame = Quadrotor::parameters();
    std::array<Parameter<FlyingQuadrotor>, kSame.size()> mine{};
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i] = {kSame[i].name, kSame[i].field, kSame[i].rule, kSame[i].unit, kSame[i].meaning};
    }
    return mine;
  }
  /// The settings of its tasks where a configuration says nothing else.
  static TaskSettings default_settings();
  /// The ranges of Quadrotor's.
  static std::vector<Family> families();

  /// The simple model of its attitude.
  const Quadrotor& body() const { return *this; }
  using Quadrotor::hover_speed_radians_per_second;
  /// Around hover at the goal's yaw. Throws InvalidInput if the goal is not level.
  LinearModel linearise(const Eigen::VectorXd& goal) const;
  /// It hovers.
  using Quadrotor::equilibrium_action;
  /// Its linearisations at the goal, for a linear statement. Throws InvalidInput for another: no
  /// inclusion is known here of a thrust that turns with the body.
  UncertainPlant inclusion(const TaskSettings& task, const InclusionSettings& settings) const;

  operator System() const;  // NOLINT(google-explicit-constructor)
  bool operator==(const FlyingQuadrotor&) const = default;
};

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_FLYING_QUADROTOR_HPP

#ifdef LIFEGUARD_COMPILE_DYNAMICS  // once for each SIMD target: see dynamics.hpp
HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

template <>
struct Dynamics<FlyingQuadrotor> {
  Dynamics<Quadrotor> body;
  double gravity;

  explicit Dynamics(const FlyingQuadrotor& s)
      : body(s.body()), gravity(s.gravity_metres_per_second2) {}

  /// The derivatives of p, q, r, then of the velocity.
  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    body.accelerations(x + 6, u, out);  // takes its rates from places 3, 4 and 5
    Real roll_sine, roll_cosine, pitch_sine, pitch_cosine, yaw_sine, yaw_cosine;
    sine_cosine(x[3], roll_sine, roll_cosine);
    sine_cosine(x[4], pitch_sine, pitch_cosine);
    sine_cosine(x[5], yaw_sine, yaw_cosine);
    // In hover the thrust carries the weight, whatever the mass: T / m = g/4 Σ (1 + u_i)².
    Real squares = Real(0.0);
    for (int i = 0; i < 4; ++i) squares = squares + u[i] * (Real(2.0) + u[i]);
    const Real lift = Real(gravity) * multiply_add(Real(0.25), squares, Real(1.0));
    const Real forward = pitch_sine * roll_cosine;
    out[3] = Real(0.0) - lift * (yaw_cosine * forward + yaw_sine * roll_sine);
    out[4] = lift * (yaw_cosine * roll_sine - yaw_sine * forward);
    out[5] = Real(gravity) - lift * (pitch_cosine * roll_cosine);
  }
  template <class Real>
  HWY_INLINE void rates(const Real* x, Real* out) const {
    euler_angle_rates(x + 3, x + 9, out);
    for (int i = 0; i < 3; ++i) out[3 + i] = x[6 + i];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();
#endif
