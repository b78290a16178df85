// Compiles the equations of a user's own system for every SIMD target; Highway picks the best one
// at run time, and rollouts run as fast as those of the built-in systems. One .cpp of the program
// has, before any other include,
//
//   #define LIFEGUARD_SYSTEM Pendulum
//   #define LIFEGUARD_SYSTEM_FILE "pendulum.hpp"
//   #include <lifeguard/trajectories/compile_system.hpp>
//
// with the file as it is found from the include folders. One .cpp is for one system, and not part
// of a unity build. pendulum.hpp (examples/fast_pendulum.hpp is a whole one) has the type, once,
//
//   #ifndef PENDULUM_HPP
//   #define PENDULUM_HPP
//   struct Pendulum {
//     …                                                    // as in systems/custom_system.hpp
//     static lifeguard::CompiledEquations equations();     // instead of step, cost, …
//   };
//   #endif
//
// and then its equations, which are read again for every target:
//
//   #ifdef LIFEGUARD_EQUATIONS_BEGIN
//   LIFEGUARD_EQUATIONS_BEGIN
//   template <>
//   struct Equations<Pendulum> {
//     explicit Equations(const Pendulum& pendulum);  // keeps the constants that steps need
//     template <class Real> HWY_INLINE void step(const Real* x, const Real* u, Real* next) const;
//     template <class Real> HWY_INLINE Real cost(const Real* x, const Real* u) const;
//     // If the type has kFeatures, and if it has a failure of its own:
//     template <class Real> HWY_INLINE void features(const Real* x, Real* out) const;
//     template <class Real> HWY_INLINE auto failed(const Real* x) const { return x[0] < 0.0; }
//   };
//   LIFEGUARD_EQUATIONS_END
//   #endif
//
// Real is a double or a vector with one trajectory in each lane. It has + - * / and comparisons,
// and core/lane_math.hpp has multiply_add, square_root, magnitude, limited, select, nearest,
// rounded_down, sine, cosine, sine_cosine and natural_log; there are no branches, only select().
// All of these round in the same way on every target, so every processor computes the same bits,
// and Real = double too, as long as the compiler contracts nothing (-ffp-contract=off) and keeps to
// IEEE arithmetic: link lifeguard::own_systems, which sees to that and brings Highway.
//
// Equations are also asked about trajectories that have ended; they see the state 0 there, and what
// they say of it does not count.

#ifdef __FAST_MATH__
#error "lifeguard's equations must be compiled without -ffast-math: bits would differ"
#endif

#include "lifeguard/core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/trajectories/compile_system.hpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/chunk_simulator.hpp"
#include "lifeguard/trajectories/equations.hpp"

#define LIFEGUARD_EQUATIONS_BEGIN \
  HWY_BEFORE_NAMESPACE();         \
  namespace lifeguard {           \
  namespace HWY_NAMESPACE {
#define LIFEGUARD_EQUATIONS_END \
  }                             \
  }                             \
  HWY_AFTER_NAMESPACE();

#include LIFEGUARD_SYSTEM_FILE
#undef LIFEGUARD_EQUATIONS_BEGIN
#undef LIFEGUARD_EQUATIONS_END

// NOLINTBEGIN(misc-definitions-in-headers): this file is the body of one .cpp.
HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {
namespace {

void SimulateOwnChunk(const void* system, const RolloutJob& job, int first) {
  using S = LIFEGUARD_SYSTEM;
  simulate_machine(job, OwnMachine<S>(*static_cast<const S*>(system)), first);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {
namespace {

HWY_EXPORT(SimulateOwnChunk);

void simulate_own_chunk(const void* system, const RolloutJob& job, int first) {
  HWY_DYNAMIC_DISPATCH(SimulateOwnChunk)(system, job, first);
}

}  // namespace
}  // namespace lifeguard

lifeguard::CompiledEquations LIFEGUARD_SYSTEM::equations() {
  return lifeguard::HWY_NAMESPACE::equations_of<LIFEGUARD_SYSTEM>(&lifeguard::simulate_own_chunk);
}
#endif
// NOLINTEND(misc-definitions-in-headers)
