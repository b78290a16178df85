// A tank that a pump fills and a hole empties; it fails when it runs over.

#ifndef TANK_HPP
#define TANK_HPP

#include <array>
#include <lifeguard/lifeguard.hpp>

struct Tank {
  static constexpr int kStates = 1;
  static constexpr int kActions = 1;
  double hole = 0.1;

  std::array<double, 1> start(const lifeguard::CounterRandom& random) const {
    return {random.uniform(0, 0.5, 1.5)};
  }
  static lifeguard::CompiledEquations equations();
};

#endif

#ifdef LIFEGUARD_EQUATIONS_BEGIN
LIFEGUARD_EQUATIONS_BEGIN

template <>
struct Equations<Tank> {
  double hole;
  explicit Equations(const Tank& tank) : hole(tank.hole) {}

  template <class Real>
  HWY_INLINE void step(const Real* x, const Real* u, Real* next) const {
    const Real level = limited(x[0], 0.0, 10.0);
    next[0] = level + 0.1 * u[0] - hole * square_root(level);
  }
  template <class Real>
  HWY_INLINE Real cost(const Real* x, const Real* u) const {
    const Real error = x[0] - 1.0;
    return select(error > 0.5, 2.0 * error, error * error) + 0.01 * u[0] * u[0];
  }
  template <class Real>
  HWY_INLINE auto failed(const Real* x) const {
    return x[0] > 2.0;
  }
};

LIFEGUARD_EQUATIONS_END
#endif
