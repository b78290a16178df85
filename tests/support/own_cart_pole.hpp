// The built-in cart-pole as a user's own system, with the arithmetic of the built-in one: its
// rollouts must have the same bits.

#ifndef TESTS_SUPPORT_OWN_CART_POLE_HPP
#define TESTS_SUPPORT_OWN_CART_POLE_HPP

#include <array>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"

namespace lifeguard::test_support {

struct OwnCartPole {
  static constexpr int kStates = 4;
  static constexpr int kActions = 1;
  CartPole cart;
  Integrator integrator = Integrator::semi_implicit_euler;
  double dt_seconds = 0.02;
  std::array<double, 4> start_high = {0.2, 0.2, 0.14, 0.2};
  std::array<double, 4> goal = {}, state_weights = {0.1, 0, 4, 0};
  double action_weight = 0.001;
  // A failure of its own.
  double position_limit = kInfinity, angle_limit = kInfinity;

  std::array<double, 4> start(const CounterRandom& random) const {
    std::array<double, 4> x{};
    for (unsigned i = 0; i < 4; ++i) x[i] = random.uniform(i, -start_high[i], start_high[i]);
    return x;
  }
  static CompiledEquations equations();
};

}  // namespace lifeguard::test_support

#endif  // TESTS_SUPPORT_OWN_CART_POLE_HPP

#ifdef LIFEGUARD_EQUATIONS_BEGIN
#include "lifeguard/systems/dynamics.hpp"
LIFEGUARD_EQUATIONS_BEGIN

template <>
struct Equations<test_support::OwnCartPole> {
  Dynamics<CartPole> dynamics;
  test_support::OwnCartPole own;

  explicit Equations(const test_support::OwnCartPole& s) : dynamics(s.cart), own(s) {}

  template <class Real>
  HWY_INLINE void step(const Real* x, const Real* u, Real* next) const {
    for (int i = 0; i < 4; ++i) next[i] = x[i];
    integrate(dynamics, own.integrator, own.dt_seconds, u, next);
  }
  template <class Real>
  HWY_INLINE Real cost(const Real* x, const Real* u) const {
    Real sum(0.0);
    for (unsigned i = 0; i < 4; ++i) {
      const Real error = x[i] - Real(own.goal[i]);
      sum = multiply_add(Real(own.state_weights[i]), error * error, sum);
    }
    return multiply_add(Real(own.action_weight), u[0] * u[0], sum);
  }
  template <class Real>
  HWY_INLINE auto failed(const Real* x) const {
    const auto off_track = magnitude(x[0]) > Real(own.position_limit);
    const auto fallen = magnitude(x[2]) > Real(own.angle_limit);
    return off_track | fallen;
  }
};

LIFEGUARD_EQUATIONS_END
#endif
