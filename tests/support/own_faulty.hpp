// A user's system that goes wrong at its third step in a way to choose.

#ifndef TESTS_SUPPORT_OWN_FAULTY_HPP
#define TESTS_SUPPORT_OWN_FAULTY_HPP

#include <array>

#include "lifeguard/systems/custom_system.hpp"

namespace lifeguard::test_support {

struct OwnFaulty {
  static constexpr int kStates = 2;
  static constexpr int kActions = 2;
  static constexpr int kFeatures = 2;
  double state = 0, cost_value = 0, feature = 0;
  /// The second state tells trajectories apart: those that it is negative for stay well.
  std::array<double, 2> start(const CounterRandom& random) const {
    return {0, random.uniform(0, -1, 1)};
  }
  static CompiledEquations equations();
};

}  // namespace lifeguard::test_support

#endif  // TESTS_SUPPORT_OWN_FAULTY_HPP

#ifdef LIFEGUARD_EQUATIONS_BEGIN
LIFEGUARD_EQUATIONS_BEGIN

template <>
struct Equations<test_support::OwnFaulty> {
  test_support::OwnFaulty own;

  explicit Equations(const test_support::OwnFaulty& s) : own(s) {}

  template <class Real>
  HWY_INLINE auto wrong(const Real* x) const {
    return (x[0] >= Real(2.0)) & (x[1] >= Real(0.0));
  }
  template <class Real>
  HWY_INLINE void step(const Real* x, const Real* u, Real* next) const {
    next[0] = x[0] + 1.0;
    next[1] = select(wrong(x), x[1] + Real(own.state), x[1]) + 1e-3 * (u[0] - u[1]);
  }
  template <class Real>
  HWY_INLINE Real cost(const Real* x, const Real* u) const {
    return select(wrong(x), Real(own.cost_value), u[0] * u[0] / (x[0] + 1.0));
  }
  template <class Real>
  HWY_INLINE void features(const Real* x, Real* out) const {
    out[0] = select(wrong(x), Real(own.feature), x[0]);
    out[1] = -x[1];
  }
};

LIFEGUARD_EQUATIONS_END
#endif
