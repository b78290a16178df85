#ifndef LIFEGUARD_SYSTEMS_RIGID_QUADROTOR_HPP
#define LIFEGUARD_SYSTEMS_RIGID_QUADROTOR_HPP

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/quadrotor.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// The attitude of the same quadrotor as a rigid body. Quadrotor lets the rates of the angles stand
/// for the rates p, q, r about the body's axes; here both are told apart. The body rates obey
/// Quadrotor's equations, the angles (roll φ, pitch θ, yaw ψ, R = R_z(ψ) R_y(θ) R_x(φ)) follow:
///   φ̇ = p + (q sin φ + r cos φ) tan θ,   θ̇ = q cos φ - r sin φ,   ψ̇ = (q sin φ + r cos φ) / cos θ.
/// State (φ, θ, ψ in rad, p, q, r in rad/s), actions and parameters as of Quadrotor. The angles end
/// at θ = ±π/2, where yaw and roll are one.
struct RigidQuadrotor : private Quadrotor {
  static constexpr std::string_view kName = "rigid-quadrotor";
  static constexpr std::string_view kMeaning =
      "the attitude of a quadrotor as a rigid body, turned by four rotors";
  static constexpr int kStates = 6;
  static constexpr int kActions = 4;
  static constexpr std::array<SignalName, kStates> kStateNames = {{{"roll", "rad"},
                                                                   {"pitch", "rad"},
                                                                   {"yaw", "rad"},
                                                                   {"body rate x", "rad/s"},
                                                                   {"body rate y", "rad/s"},
                                                                   {"body rate z", "rad/s"}}};
  static constexpr std::array<SignalName, kActions> kActionNames = Quadrotor::kActionNames;
  static constexpr std::array<int, 3> kPositions = {0, 1, 2};
  static constexpr std::array<int, 3> kVelocities = {3, 4, 5};
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
    std::array<Parameter<RigidQuadrotor>, kSame.size()> mine{};
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i] = {kSame[i].name, kSame[i].field, kSame[i].rule, kSame[i].unit, kSame[i].meaning};
    }
    return mine;
  }
  /// As of Quadrotor, but that angles beyond 1.2 rad are a failure.
  static TaskSettings default_settings();
  /// The ranges of Quadrotor's.
  static std::vector<Family> families();

  /// The simple model of it.
  const Quadrotor& body() const { return *this; }
  using Quadrotor::hover_speed_radians_per_second;
  /// Around any attitude at rest.
  LinearModel linearise(const Eigen::VectorXd& goal) const;
  /// It hovers at any angle.
  using Quadrotor::equilibrium_action;
  /// One step as a linear inclusion: that of Quadrotor for the body rates, and for the angles what
  /// the limits on roll and pitch leave of the kinematics. The goal must be level.
  UncertainPlant inclusion(const TaskSettings& task, const InclusionSettings& settings) const;

  operator System() const;  // NOLINT(google-explicit-constructor)
  bool operator==(const RigidQuadrotor&) const = default;
};

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_RIGID_QUADROTOR_HPP

#ifdef LIFEGUARD_COMPILE_DYNAMICS  // once for each SIMD target: see dynamics.hpp
HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

/// The rates of roll, pitch and yaw of a body that turns at p, q, r about its axes.
template <class Real>
HWY_INLINE void euler_angle_rates(const Real* angles, const Real* body, Real* out) {
  Real roll_sine, roll_cosine, pitch_sine, pitch_cosine;
  sine_cosine(angles[0], roll_sine, roll_cosine);
  sine_cosine(angles[1], pitch_sine, pitch_cosine);
  const Real turn = (body[1] * roll_sine + body[2] * roll_cosine) / pitch_cosine;
  out[0] = body[0] + turn * pitch_sine;
  out[1] = body[1] * roll_cosine - body[2] * roll_sine;
  out[2] = turn;
}

template <>
struct Dynamics<RigidQuadrotor> {
  Dynamics<Quadrotor> body;

  explicit Dynamics(const RigidQuadrotor& s) : body(s.body()) {}

  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    body.accelerations(x, u, out);
  }
  template <class Real>
  HWY_INLINE void rates(const Real* x, Real* out) const {
    euler_angle_rates(x, x + 3, out);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();
#endif
