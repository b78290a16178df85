// The rollout kernel, vectorised across trajectories and compiled once per SIMD target; Highway
// picks the best one at run time. Every target gives the same bits (core/lane_math-inl.hpp).

#include "lifeguard/rollout/kernel.hpp"

// Targets that are no faster than a neighbour for this code would only cost compile time, and
// sizeless vectors (SVE, RVV) cannot be members of a struct.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/rollout/kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/philox-inl.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/tasks/dynamics-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

using LaneMask = hn::Mask<DoubleTag>;

constexpr int kNoiseSteps = 4;  // steps × actions noises are whole Philox blocks of four

/// Simulates one chunk. Structure of the time loop: four steps' noise for all vectors of the chunk
/// is drawn into a buffer, then those steps are taken. Consecutive vectors are independent, so the
/// processor overlaps their dependency chains.
template <class Dynamics, bool kStateFeatures>
class ChunkSimulator {
  static constexpr int kStates = Dynamics::kStates;
  static constexpr int kActions = Dynamics::kActions;
  static constexpr int kMaxFeatures =
      kStateFeatures ? kStates : kStates + 1 + kStates * (kStates + 1) / 2;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(DoubleTag()));
  static constexpr int kMaxVectors = kKernelChunk / kLanes;

 public:
  ChunkSimulator(const RolloutJob& job, const Dynamics& dynamics, int first)
      : job_(job), settings_(job.task->settings), dynamics_(dynamics), first_(first) {
    const int remaining = HWY_MIN(kKernelChunk, job.count - first);
    vectors_ = (remaining + kLanes - 1) / kLanes;
    for (int f = 0; f < job.feature_count * kActions; ++f) gains_[f] = job.gains[f];
    for (int i = 0; i < kStates; ++i) {
      bounds_[i] = HWY_MIN(settings_.failure_bounds(i), kDivergenceBound);
      goal_[i] = settings_.goal(i);
      state_weights_[i] = settings_.state_weights(i);
    }
    for (int a = 0; a < kActions; ++a) {
      action_weights_[a] = settings_.action_weights(a);
      action_low_[a] = settings_.action_low(a);
      action_high_[a] = settings_.action_high(a);
    }
  }

  void run() {
    for (int v = 0; v < vectors_; ++v) start(v);
    for (int block = 0; block < job_.steps; block += kNoiseSteps) {
      if (job_.sigma > 0) {
        for (int v = 0; v < vectors_; ++v) draw_noise(v, block / kNoiseSteps);
      }
      const int end = HWY_MIN(block + kNoiseSteps, job_.steps);
      for (int m = block; m < end; ++m) {
        for (int v = 0; v < vectors_; ++v) step(v, m, m - block);
      }
    }
    for (int v = 0; v < vectors_; ++v) finish(v);
  }

 private:
  WordVec trajectory_index(int v) const {
    const WordTag words;
    return hn::Iota(words, job_.first_index + static_cast<std::uint64_t>(first_ + v * kLanes));
  }

  void random_words(int v, RandomStream stream, std::uint32_t block, WordVec* w) const {
    const WordTag words;
    const WordVec index = trajectory_index(v);
    w[0] = hn::Set(words, block);
    w[1] = hn::Set(words, static_cast<std::uint64_t>(stream));
    w[2] = index;
    w[3] = hn::ShiftRight<32>(index);
    philox(job_.seed, w[0], w[1], w[2], w[3]);
  }

  void start(int v) {
    WordVec w[4];
    for (int i = 0; i < kStates; ++i) {
      if (i % 4 == 0) {
        random_words(v, RandomStream::start_state, static_cast<std::uint32_t>(i / 4), w);
      }
      const double low = settings_.start_low(i);
      const Lanes width(settings_.start_high(i) - low);
      state_[v][i] = Lanes(low) + width * uniform_from_words(w[i % 4]);
    }
    // Lanes beyond the batch are dead from the start and cost nothing, so padding stays zero.
    alignas(64) double inside[kLanes];
    for (int i = 0; i < kLanes; ++i) inside[i] = first_ + v * kLanes + i < job_.count ? 1.0 : 0.0;
    const Lanes in_batch = Lanes::load(inside);
    failure_cost_[v] = in_batch * Lanes(settings_.failure_cost);
    length_[v] = Lanes(0.0);
    total_cost_[v] = Lanes(0.0);
    diverged_[v] = Lanes(0.0);
    alive_[v] = hn::Gt(in_batch.v, hn::Zero(DoubleTag()));
    absorb_failures(v, state_[v]);
  }

  void draw_noise(int v, int block) {
    if (hn::AllFalse(DoubleTag(), alive_[v])) return;
    WordVec w[4];
    for (int b = 0; b < kActions; ++b) {
      random_words(v, RandomStream::exploration, static_cast<std::uint32_t>(block * kActions + b),
                   w);
      box_muller(uniform_from_words(w[0]), uniform_from_words(w[1]), noise_[4 * b][v],
                 noise_[4 * b + 1][v]);
      box_muller(uniform_from_words(w[2]), uniform_from_words(w[3]), noise_[4 * b + 2][v],
                 noise_[4 * b + 3][v]);
    }
  }

  /// Kills the lanes whose next state is out of bounds or not finite, and counts the latter.
  HWY_INLINE void absorb_failures(int v, const Lanes* next) {
    LaneMask inside = alive_[v];
    LaneMask finite = alive_[v];
    for (int i = 0; i < kStates; ++i) {
      const Lanes size = magnitude(next[i]);
      // Comparisons with NaN are false, so NaN counts as outside.
      inside = hn::And(inside, hn::Le(size.v, Lanes(bounds_[i]).v));
      finite = hn::And(finite, hn::Le(size.v, Lanes(kDivergenceBound).v));
    }
    mark_diverged(v, hn::AndNot(finite, alive_[v]));
    alive_[v] = inside;
    for (int i = 0; i < kStates; ++i) {
      state_[v][i] = Lanes(hn::IfThenElseZero(inside, next[i].v));
    }
  }

  HWY_INLINE void mark_diverged(int v, LaneMask lanes) {
    diverged_[v] = Lanes(hn::IfThenElse(lanes, Lanes(1.0).v, diverged_[v].v));
  }

  HWY_INLINE void compute_features(const Lanes* error, Lanes* phi) const {
    for (int i = 0; i < kStates; ++i) phi[i] = error[i];
    if constexpr (!kStateFeatures) {
      int next = kStates;
      if (job_.features.bias) phi[next++] = Lanes(1.0);
      if (job_.features.second_order) {
        for (int i = 0; i < kStates; ++i) {
          for (int j = i; j < kStates; ++j) phi[next++] = error[i] * error[j];
        }
      }
    }
  }

  HWY_INLINE void step(int v, int m, int noise_step) {
    const int columns = kStateFeatures ? kStates : job_.feature_count;
    const std::size_t column = static_cast<std::size_t>(first_ + v * kLanes);
    if (HWY_UNLIKELY(hn::AllFalse(DoubleTag(), alive_[v]))) {
      store_dead(v, m, columns, column);
      return;
    }
    Lanes error[kStates];
    for (int i = 0; i < kStates; ++i) error[i] = state_[v][i] - Lanes(goal_[i]);
    Lanes phi[kMaxFeatures];
    compute_features(error, phi);

    Lanes u[kActions];
    for (int a = 0; a < kActions; ++a) {
      const double* gains = gains_ + a * columns;
      u[a] = Lanes(gains[0]) * phi[0];
      for (int f = 1; f < columns; ++f) u[a] = u[a] + Lanes(gains[f]) * phi[f];
    }
    if (job_.sigma > 0) {
      const Lanes sigma(job_.sigma);
      for (int a = 0; a < kActions; ++a) {
        u[a] = u[a] + sigma * noise_[noise_step * kActions + a][v];
      }
    }
    // An action that is not finite (huge gains) ends the trajectory before it is taken.
    LaneMask finite = alive_[v];
    for (int a = 0; a < kActions; ++a) {
      finite = hn::And(finite, hn::Le(magnitude(u[a]).v, Lanes(1e100).v));
    }
    mark_diverged(v, hn::AndNot(finite, alive_[v]));
    const LaneMask live = finite;
    alive_[v] = live;

    Lanes applied[kActions];
    for (int a = 0; a < kActions; ++a) {
      applied[a] = limited(u[a], Lanes(action_low_[a]), Lanes(action_high_[a]));
    }
    Lanes cost = Lanes(state_weights_[0]) * (error[0] * error[0]);
    for (int i = 1; i < kStates; ++i) {
      cost = cost + Lanes(state_weights_[i]) * (error[i] * error[i]);
    }
    for (int a = 0; a < kActions; ++a) {
      cost = cost + Lanes(action_weights_[a]) * (applied[a] * applied[a]);
    }
    cost = Lanes(hn::IfThenElse(live, cost.v, failure_cost_[v].v));
    total_cost_[v] = total_cost_[v] + cost;
    length_[v] = length_[v] + Lanes(hn::IfThenElseZero(live, Lanes(1.0).v));

    if (job_.features_out != nullptr) {
      const std::size_t row = static_cast<std::size_t>(m);
      for (int f = 0; f < columns; ++f) {
        Lanes(hn::IfThenElseZero(live, phi[f].v))
            .store(job_.features_out + (row * columns + f) * job_.stride + column);
      }
      for (int a = 0; a < kActions; ++a) {
        Lanes(hn::IfThenElseZero(live, u[a].v))
            .store(job_.actions_out + (row * kActions + a) * job_.stride + column);
      }
      cost.store(job_.costs_out + row * job_.stride + column);
    }

    Lanes next[kStates];
    for (int i = 0; i < kStates; ++i) next[i] = state_[v][i];
    integrate(dynamics_, settings_.integrator, settings_.dt_seconds, applied, next);
    absorb_failures(v, next);
  }

  void store_dead(int v, int m, int columns, std::size_t column) {
    total_cost_[v] = total_cost_[v] + failure_cost_[v];
    if (job_.features_out == nullptr) return;
    const std::size_t row = static_cast<std::size_t>(m);
    const Lanes zero(0.0);
    for (int f = 0; f < columns; ++f) {
      zero.store(job_.features_out + (row * columns + f) * job_.stride + column);
    }
    for (int a = 0; a < kActions; ++a) {
      zero.store(job_.actions_out + (row * kActions + a) * job_.stride + column);
    }
    failure_cost_[v].store(job_.costs_out + row * job_.stride + column);
  }

  void finish(int v) {
    alignas(64) double lengths[kLanes];
    alignas(64) double costs[kLanes];
    alignas(64) double diverged[kLanes];
    length_[v].store(lengths);
    total_cost_[v].store(costs);
    diverged_[v].store(diverged);
    for (int i = 0; i < kLanes; ++i) {
      const int trajectory = first_ + v * kLanes + i;
      if (trajectory >= job_.count) break;
      if (job_.lengths_out) job_.lengths_out[trajectory] = static_cast<std::int32_t>(lengths[i]);
      if (job_.total_costs_out) job_.total_costs_out[trajectory] = costs[i];
      if (job_.diverged_out) job_.diverged_out[trajectory] = diverged[i] != 0 ? 1 : 0;
    }
  }

  const RolloutJob& job_;
  const TaskSettings& settings_;
  const Dynamics dynamics_;
  const int first_;
  int vectors_;
  double gains_[kMaxFeatures * kActions];
  double bounds_[kStates], goal_[kStates], state_weights_[kStates];
  double action_weights_[kActions], action_low_[kActions], action_high_[kActions];
  Lanes state_[kMaxVectors][kStates];
  Lanes noise_[kNoiseSteps * kActions][kMaxVectors];
  Lanes failure_cost_[kMaxVectors], total_cost_[kMaxVectors];
  Lanes length_[kMaxVectors], diverged_[kMaxVectors];
  LaneMask alive_[kMaxVectors];
};

template <class Dynamics>
void simulate_with(const RolloutJob& job, const Dynamics& dynamics, int first) {
  if (job.features.is_state_only()) {
    ChunkSimulator<Dynamics, true>(job, dynamics, first).run();
  } else {
    ChunkSimulator<Dynamics, false>(job, dynamics, first).run();
  }
}

void SimulateChunk(const RolloutJob& job, int first) {
  const System& system = job.task->system;
  if (const auto* mass = std::get_if<MassSpring>(&system)) {
    simulate_with(job, MassSpringDynamics(*mass), first);
  } else if (const auto* cart = std::get_if<CartPole>(&system)) {
    simulate_with(job, CartPoleDynamics(*cart), first);
  } else if (const auto* quad = std::get_if<Quadrotor>(&system)) {
    simulate_with(job, QuadrotorDynamics(*quad), first);
  }
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
