// The equations of motion of the built-in systems and the integrators, written once for a double
// and for a vector of doubles (core/lane_math-inl.hpp). Compiled once per target.

#if defined(LIFEGUARD_TASKS_DYNAMICS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_TASKS_DYNAMICS_INL_HPP
#undef LIFEGUARD_TASKS_DYNAMICS_INL_HPP
#else
#define LIFEGUARD_TASKS_DYNAMICS_INL_HPP
#endif

#include "lifeguard/core/lane_math.hpp"
#include "lifeguard/systems/task.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

/// Each Dynamics turns its system's parameters into the constants of the equations, and says where
/// in the state the positions and their velocities stand.
struct MassSpringDynamics {
  static constexpr int kStates = MassSpring::kStates;
  static constexpr int kActions = MassSpring::kActions;
  static constexpr int kPositions = 1;
  static constexpr int position(int /*i*/) { return 0; }
  static constexpr int velocity(int /*i*/) { return 1; }

  double force, spring, damping;  // per kilogram

  explicit MassSpringDynamics(const MassSpring& s)
      : force(s.actuator_gain / s.mass_kilograms),
        spring(s.spring_newtons_per_metre / s.mass_kilograms),
        damping(s.damping_newton_seconds_per_metre / s.mass_kilograms) {}

  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    out[0] = Real(force) * u[0] - Real(spring) * x[0] - Real(damping) * x[1];
  }
};

struct CartPoleDynamics {
  static constexpr int kStates = CartPole::kStates;
  static constexpr int kActions = CartPole::kActions;
  static constexpr int kPositions = 2;
  static constexpr int position(int i) { return 2 * i; }
  static constexpr int velocity(int i) { return 2 * i + 1; }

  double gain, damping;  // per kilogram of the whole
  double pole_moment;    // m_p h / (m_c + m_p)
  double pole_inertia;   // 4/3 h
  double gravity;

  explicit CartPoleDynamics(const CartPole& s)
      : gain(s.actuator_gain / (s.cart_mass_kilograms + s.pole_mass_kilograms)),
        damping(s.damping_newton_seconds_per_metre /
                (s.cart_mass_kilograms + s.pole_mass_kilograms)),
        pole_moment(s.pole_mass_kilograms * 0.5 * s.pole_length_metres /
                    (s.cart_mass_kilograms + s.pole_mass_kilograms)),
        pole_inertia(4.0 / 3.0 * 0.5 * s.pole_length_metres),
        gravity(s.gravity_metres_per_second2) {}

  /// Solves the two equations of motion for ẍ and θ̈.
  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    Real sine, cosine;
    sine_cosine(x[2], sine, cosine);
    // ẍ if θ̈ were zero.
    const Real push =
        Real(gain) * u[0] - Real(damping) * x[1] + Real(pole_moment) * (x[3] * x[3]) * sine;
    const Real angular = (Real(gravity) * sine - cosine * push) /
                         (Real(pole_inertia) - Real(pole_moment) * (cosine * cosine));
    out[0] = push - Real(pole_moment) * (angular * cosine);
    out[1] = angular;
  }
};

struct QuadrotorDynamics {
  static constexpr int kStates = Quadrotor::kStates;
  static constexpr int kActions = Quadrotor::kActions;
  static constexpr int kPositions = 3;
  static constexpr int position(int i) { return i; }
  static constexpr int velocity(int i) { return 3 + i; }

  double coupling[3];    // e.g. (Iyy - Izz) / Ixx
  double gyroscopic[2];  // J_r Ω_hover / Ixx and / Iyy
  double torque[3];      // l b Ω_hover² / Ixx, / Iyy, and drag Ω_hover² / Izz

  explicit QuadrotorDynamics(const Quadrotor& s) {
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
    out[0] = Real(coupling[0]) * (pitch * yaw) - Real(gyroscopic[0]) * (pitch * residual) +
             Real(torque[0]) * (s4 - s2);
    out[1] = Real(coupling[1]) * (roll * yaw) + Real(gyroscopic[1]) * (roll * residual) +
             Real(torque[1]) * (s1 - s3);
    out[2] = Real(coupling[2]) * (roll * pitch) + Real(torque[2]) * ((s2 + s4) - (s1 + s3));
  }
};

/// dx/dt.
template <class Dynamics, class Real>
HWY_INLINE void derivative(const Dynamics& dynamics, const Real* x, const Real* u, Real* out) {
  Real acceleration[Dynamics::kPositions];
  dynamics.accelerations(x, u, acceleration);
  for (int i = 0; i < Dynamics::kPositions; ++i) {
    out[Dynamics::position(i)] = x[Dynamics::velocity(i)];
    out[Dynamics::velocity(i)] = acceleration[i];
  }
}

/// x ← the state after dt with the action held.
template <class Dynamics, class Real>
HWY_INLINE void integrate(const Dynamics& dynamics, Integrator integrator, double dt, const Real* u,
                          Real* x) {
  constexpr int kStates = Dynamics::kStates;
  if (integrator == Integrator::runge_kutta_4) {
    constexpr double kNode[4] = {0.0, 0.5, 0.5, 1.0};
    constexpr double kWeight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    Real slope[kStates], sum[kStates], stage[kStates];
    for (int i = 0; i < kStates; ++i) slope[i] = sum[i] = Real(0.0);
    for (int n = 0; n < 4; ++n) {
      for (int i = 0; i < kStates; ++i)
        stage[i] = multiply_add(Real(dt * kNode[n]), slope[i], x[i]);
      derivative(dynamics, stage, u, slope);
      for (int i = 0; i < kStates; ++i) sum[i] = multiply_add(Real(kWeight[n]), slope[i], sum[i]);
    }
    for (int i = 0; i < kStates; ++i) x[i] = multiply_add(Real(dt), sum[i], x[i]);
    return;
  }
  Real acceleration[Dynamics::kPositions];
  dynamics.accelerations(x, u, acceleration);
  // Two loops and not one with a choice in it: the choice would force the state into memory.
  if (integrator == Integrator::explicit_euler) {
    for (int i = 0; i < Dynamics::kPositions; ++i) {
      Real& position = x[Dynamics::position(i)];
      Real& velocity = x[Dynamics::velocity(i)];
      position = multiply_add(Real(dt), velocity, position);
      velocity = multiply_add(Real(dt), acceleration[i], velocity);
    }
  } else {
    for (int i = 0; i < Dynamics::kPositions; ++i) {
      Real& position = x[Dynamics::position(i)];
      Real& velocity = x[Dynamics::velocity(i)];
      velocity = multiply_add(Real(dt), acceleration[i], velocity);
      position = multiply_add(Real(dt), velocity, position);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
