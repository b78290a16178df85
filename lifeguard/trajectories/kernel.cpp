// The rollout kernel of the built-in systems, compiled once per SIMD target; Highway picks the best
// one at run time.

#include "lifeguard/trajectories/kernel.hpp"

#include <variant>

#include "lifeguard/core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/trajectories/kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/systems/dynamics.hpp"
#include "lifeguard/trajectories/chunk_simulator.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

/// A built-in system as ChunkSimulator asks for it.
template <class S>
class BuiltInMachine {
 public:
  static constexpr int kStates = S::kStates;
  static constexpr int kActions = S::kActions;
  static constexpr int kOwnFeatures = 0;
  static constexpr bool kTrusted = true;
  static constexpr bool kMayFail = false;

  BuiltInMachine(const S& system, const TaskSettings& settings)
      : dynamics_(system), settings_(settings) {
    for (int i = 0; i < kStates; ++i) state_weights_[i] = settings.state_weights(i);
    for (int a = 0; a < kActions; ++a) action_weights_[a] = settings.action_weights(a);
  }

  /// Uniform in the box of start states.
  void start(const StartDraws& draws, StoredLanes* x) const {
    for (int block = 0; 4 * block < kStates; ++block) {
      WordVec drawn[4];
      draws.words(block, drawn);
      for (int i = 4 * block; i < HWY_MIN(4 * block + 4, kStates); ++i) {
        const double low = settings_.start_low(i);
        const Lanes width(settings_.start_high(i) - low);
        x[i] = Lanes(low) + width * uniform_from_words<32>(drawn[i % 4]);
      }
    }
  }
  HWY_INLINE Lanes cost(const Lanes* /*x*/, const Lanes* error, const Lanes* applied) const {
    Lanes cost = Lanes(state_weights_[0]) * (error[0] * error[0]);
    for (int i = 1; i < kStates; ++i) {
      cost = multiply_add(Lanes(state_weights_[i]), error[i] * error[i], cost);
    }
    for (int a = 0; a < kActions; ++a) {
      cost = multiply_add(Lanes(action_weights_[a]), applied[a] * applied[a], cost);
    }
    return cost;
  }
  HWY_INLINE void step(const Lanes* applied, Lanes* x) const {
    integrate(dynamics_, settings_.integrator, settings_.dt_seconds, applied, x);
  }

 private:
  const Dynamics<S> dynamics_;
  const TaskSettings& settings_;
  double state_weights_[kStates], action_weights_[kActions];
};

/// Takes every system there is: a built-in one to its vectorised simulator, a custom one to its
/// own.
struct ChunkOf {
  const RolloutJob& job;
  int first;

  template <BuiltInSystem S>
  void operator()(const S& system) const {
    simulate_machine(job, BuiltInMachine<S>(system, job.task->settings), first);
  }
  void operator()(const CustomSystemPointer& system) const {
    simulate_custom_chunk(job, *system, first);
  }
};

void SimulateChunk(const RolloutJob& job, int first) {
  std::visit(ChunkOf{job, first}, job.task->system.model().machine);
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(SimulateChunk);

void simulate_chunk(const RolloutJob& job, int first) {
  HWY_DYNAMIC_DISPATCH(SimulateChunk)(job, first);
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  const std::int64_t compiled = HWY_TARGETS;
  for (std::int64_t bits = compiled & hwy::SupportedTargets(); bits != 0; bits &= bits - 1) {
    names.emplace_back(hwy::TargetName(bits & -bits));
  }
  return names;
}

void select_simd_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t chosen = 0;
  const std::int64_t compiled = HWY_TARGETS;
  for (std::int64_t bits = compiled & hwy::SupportedTargets(); bits != 0; bits &= bits - 1) {
    if (name == hwy::TargetName(bits & -bits)) chosen = bits & -bits;
  }
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().DeInit();
}

std::string current_simd_target() {
  const std::int64_t usable = HWY_TARGETS & hwy::SupportedTargets();
  return hwy::TargetName(usable & -usable);
}

}  // namespace lifeguard
#endif
