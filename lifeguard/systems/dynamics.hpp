// The equations of motion of the built-in systems and the integrators, written once for a double
// and for a vector of doubles (core/lane_math.hpp). Compiled once per target. Private: not
// installed.

#if defined(LIFEGUARD_SYSTEMS_DYNAMICS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_SYSTEMS_DYNAMICS_HPP
#undef LIFEGUARD_SYSTEMS_DYNAMICS_HPP
#else
#define LIFEGUARD_SYSTEMS_DYNAMICS_HPP
#endif

#include "lifeguard/core/lane_math.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/task_settings.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

/// Dynamics<S> is made from the parameters of the system S and holds the constants of its equations
/// of motion; accelerations(x, u, out) are the derivatives of the velocities S::kVelocities. Those
/// of the positions S::kPositions are the velocities themselves, or rates(x, out) if the
/// specialisation has it: Euler's angles do not change at the rates about the body's axes. Each
/// system's file ends with its specialisation.
template <class S>
struct Dynamics;

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#define LIFEGUARD_COMPILE_DYNAMICS
#include "lifeguard/systems/built_in_systems.hpp"
#undef LIFEGUARD_COMPILE_DYNAMICS

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

template <class S>
constexpr int kPositionCount = static_cast<int>(S::kPositions.size());

/// Whether positions change at other rates than the velocities.
template <class S, class Real>
constexpr bool kHasRates = requires(const Dynamics<S>& dynamics, const Real* x, Real* out) {
  dynamics.rates(x, out);
};

/// dx/dt.
template <class S, class Real>
HWY_INLINE void derivative(const Dynamics<S>& dynamics, const Real* x, const Real* u, Real* out) {
  Real acceleration[kPositionCount<S>];
  dynamics.accelerations(x, u, acceleration);
  if constexpr (kHasRates<S, Real>) {
    Real rate[kPositionCount<S>];
    dynamics.rates(x, rate);
    for (int i = 0; i < kPositionCount<S>; ++i) {
      out[S::kPositions[i]] = rate[i];
      out[S::kVelocities[i]] = acceleration[i];
    }
    return;
  }
  for (int i = 0; i < kPositionCount<S>; ++i) {
    out[S::kPositions[i]] = x[S::kVelocities[i]];
    out[S::kVelocities[i]] = acceleration[i];
  }
}

/// One step of Euler's methods where positions have rates of their own. The semi-implicit form
/// takes these at the old positions and the new velocities.
template <class S, class Real>
HWY_INLINE void euler_step_with_rates(const Dynamics<S>& dynamics, Integrator integrator, double dt,
                                      const Real* u, Real* x) {
  Real acceleration[kPositionCount<S>], rate[kPositionCount<S>];
  dynamics.accelerations(x, u, acceleration);
  const bool explicit_euler = integrator == Integrator::explicit_euler;
  if (explicit_euler) dynamics.rates(x, rate);
  for (int i = 0; i < kPositionCount<S>; ++i) {
    Real& velocity = x[S::kVelocities[i]];
    velocity = multiply_add(Real(dt), acceleration[i], velocity);
  }
  if (!explicit_euler) dynamics.rates(x, rate);
  for (int i = 0; i < kPositionCount<S>; ++i) {
    Real& position = x[S::kPositions[i]];
    position = multiply_add(Real(dt), rate[i], position);
  }
}

/// x ← the state after dt with the action held.
template <class S, class Real>
HWY_INLINE void integrate(const Dynamics<S>& dynamics, Integrator integrator, double dt,
                          const Real* u, Real* x) {
  constexpr int kStates = S::kStates;
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
  if constexpr (kHasRates<S, Real>) {
    euler_step_with_rates(dynamics, integrator, dt, u, x);
    return;
  }
  Real acceleration[kPositionCount<S>];
  dynamics.accelerations(x, u, acceleration);
  // Two loops and not one with a choice in it: the choice would force the state into memory.
  if (integrator == Integrator::explicit_euler) {
    for (int i = 0; i < kPositionCount<S>; ++i) {
      Real& position = x[S::kPositions[i]];
      Real& velocity = x[S::kVelocities[i]];
      position = multiply_add(Real(dt), velocity, position);
      velocity = multiply_add(Real(dt), acceleration[i], velocity);
    }
  } else {
    for (int i = 0; i < kPositionCount<S>; ++i) {
      Real& position = x[S::kPositions[i]];
      Real& velocity = x[S::kVelocities[i]];
      velocity = multiply_add(Real(dt), acceleration[i], velocity);
      position = multiply_add(Real(dt), velocity, position);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
