// A user's own equations as the rollout kernel asks for them. Compiled once per SIMD target, from
// compile_system.hpp.

#if defined(LIFEGUARD_TRAJECTORIES_EQUATIONS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_TRAJECTORIES_EQUATIONS_HPP
#undef LIFEGUARD_TRAJECTORIES_EQUATIONS_HPP
#else
#define LIFEGUARD_TRAJECTORIES_EQUATIONS_HPP
#endif

#include <cstdint>

#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/chunk_simulator.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

/// The equations of motion of S for any number type; the user specialises it.
template <class S>
struct Equations;

template <class S>
constexpr int own_features() {
  if constexpr (requires { S::kFeatures; }) {
    return S::kFeatures;
  } else {
    return 0;
  }
}
template <class S>
constexpr bool kHasFailure = requires(const Equations<S> equations, const double* x) {
  equations.failed(x);
};

/// A user's system as ChunkSimulator asks for it.
template <class S>
class OwnMachine {
 public:
  static constexpr int kStates = S::kStates;
  static constexpr int kActions = S::kActions;
  static constexpr int kOwnFeatures = own_features<S>();
  static constexpr bool kTrusted = false;
  static constexpr bool kMayFail = kHasFailure<S>;

  explicit OwnMachine(const S& system) : system_(system), equations_(system) {}

  void start(const StartDraws& draws, StoredLanes* x) const {
    for (std::uint64_t lane = 0; lane < hn::MaxLanes(DoubleTag()); ++lane) {
      const auto state =
          system_.start(CounterRandom(draws.seed, RandomStream::start_state, draws.first + lane));
      for (int i = 0; i < kStates; ++i) x[i].values[lane] = state[i];
    }
  }
  HWY_INLINE void step(const Lanes* applied, Lanes* x) const {
    Lanes next[kStates];
    equations_.step(x, applied, next);
    for (int i = 0; i < kStates; ++i) x[i] = next[i];
  }
  HWY_INLINE Lanes cost(const Lanes* x, const Lanes* /*error*/, const Lanes* applied) const {
    return equations_.cost(x, applied);
  }
  HWY_INLINE void features(const Lanes* x, Lanes* out) const { equations_.features(x, out); }
  HWY_INLINE LaneCondition failed(const Lanes* x) const { return equations_.failed(x); }

 private:
  const S& system_;
  const Equations<S> equations_;
};

/// The same equations for one state of doubles.
template <class S>
CompiledEquations equations_of(void (*simulate_chunk)(const void*, const RolloutJob&, int)) {
  CompiledEquations compiled{};
  compiled.step = [](const void* system, const double* x, const double* u, double* next) {
    Equations<S>(*static_cast<const S*>(system)).step(x, u, next);
  };
  compiled.cost = [](const void* system, const double* x, const double* u) -> double {
    return Equations<S>(*static_cast<const S*>(system)).cost(x, u);
  };
  compiled.failed = []([[maybe_unused]] const void* system,
                       [[maybe_unused]] const double* x) -> bool {
    if constexpr (kHasFailure<S>) {
      return Equations<S>(*static_cast<const S*>(system)).failed(x);
    }
    return false;
  };
  compiled.features = []([[maybe_unused]] const void* system, [[maybe_unused]] const double* x,
                         [[maybe_unused]] double* out) {
    if constexpr (own_features<S>() > 0) {
      Equations<S>(*static_cast<const S*>(system)).features(x, out);
    }
  };
  compiled.simulate_chunk = simulate_chunk;
  return compiled;
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
