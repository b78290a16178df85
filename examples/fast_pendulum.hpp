// The pendulum of examples/pendulum.hpp with its equations written for any number type: compiled
// for vectors, its rollouts run at the speed of the built-in systems (lifeguard/trajectories/
// compile_system.hpp, which reads the second half of this file once for each SIMD target).

#ifndef EXAMPLES_FAST_PENDULUM_HPP
#define EXAMPLES_FAST_PENDULUM_HPP

#include <array>
#include <numbers>
#include <string_view>

#include "lifeguard/systems/custom_system.hpp"

struct FastPendulum {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr int kFeatures = 3;  // what the policy sees

  double gravity = 10.0, mass = 1.0, length = 1.0, max_torque = 2.0;
  static constexpr double kTimeStep = 0.05, kMaxSpeed = 8.0;

  std::array<double, kStates> start(const lifeguard::CounterRandom& random) const {
    return {random.uniform(0, -std::numbers::pi, std::numbers::pi), random.uniform(1, -1.0, 1.0)};
  }
  /// Compiled from the equations below.
  static lifeguard::CompiledEquations equations();

  // All that follows is for configurations, run files and reports.
  static constexpr std::string_view kName = "pendulum";
  static constexpr std::string_view kMeaning = "a rod that a weak motor has to swing up";
  static constexpr std::array<lifeguard::SignalName, kStates> kStateNames = {
      {{"angle from upright", "rad"}, {"angular velocity", "rad/s"}}};
  static constexpr std::array<lifeguard::SignalName, kActions> kActionNames = {{{"torque", "N m"}}};
  static constexpr std::array<lifeguard::SignalName, kFeatures> kFeatureNames = {
      {{"cos angle", "1"}, {"sin angle", "1"}, {"angular velocity", "rad/s"}}};

  static constexpr auto parameters() {
    using Rule = lifeguard::ParameterRule;
    return std::to_array<lifeguard::Parameter<FastPendulum>>(
        {{"gravity", &FastPendulum::gravity, Rule::not_negative(), "m/s²", "gravity"},
         {"mass", &FastPendulum::mass, Rule::positive(), "kg", "mass of the rod"},
         {"length", &FastPendulum::length, Rule::positive(), "m", "length of the rod"},
         {"max_torque", &FastPendulum::max_torque, Rule::positive(), "N m", "limit of the motor"}});
  }
  static lifeguard::TaskSettings default_settings() {
    auto settings = lifeguard::TaskSettings::unlimited(kStates, kActions);
    settings.dt_seconds = kTimeStep;
    settings.state_weights << 1, 0.1;  // of LQR: those of the cost
    settings.action_weights << 0.001;
    settings.sigma = 0.3;
    return settings;
  }

  bool operator==(const FastPendulum&) const = default;
};

#endif  // EXAMPLES_FAST_PENDULUM_HPP

#ifdef LIFEGUARD_EQUATIONS_BEGIN  // once for each SIMD target
LIFEGUARD_EQUATIONS_BEGIN

template <>
struct Equations<FastPendulum> {
  static constexpr double kPi = std::numbers::pi;
  double pull, push, max_torque;  // accelerations by gravity and by torque

  explicit Equations(const FastPendulum& p)
      : pull(3 * p.gravity / (2 * p.length)),
        push(3.0 / (p.mass * p.length * p.length)),
        max_torque(p.max_torque) {}

  template <class Real>
  HWY_INLINE void step(const Real* x, const Real* u, Real* next) const {
    const Real torque = limited(u[0], -max_torque, max_torque);
    const Real acceleration = pull * sine(x[0]) + push * torque;
    next[1] = limited(x[1] + acceleration * FastPendulum::kTimeStep, -FastPendulum::kMaxSpeed,
                      FastPendulum::kMaxSpeed);
    next[0] = x[0] + next[1] * FastPendulum::kTimeStep;
  }

  template <class Real>
  HWY_INLINE Real cost(const Real* x, const Real* u) const {
    const Real angle = x[0] - 2 * kPi * rounded_down((x[0] + kPi) * (1 / (2 * kPi)));
    const Real torque = limited(u[0], -max_torque, max_torque);
    return angle * angle + 0.1 * x[1] * x[1] + 0.001 * torque * torque;
  }

  template <class Real>
  HWY_INLINE void features(const Real* x, Real* out) const {
    sine_cosine(x[0], out[1], out[0]);
    out[2] = x[1];
  }
};

LIFEGUARD_EQUATIONS_END
#endif
