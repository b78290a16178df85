// The rollout kernel, vectorised across trajectories and compiled once per SIMD target; Highway
// picks the best one at run time. Every target gives the same bits (core/lane_math.hpp).

#include "lifeguard/trajectories/kernel.hpp"

#include <variant>

// The targets with fused multiply-add, and the scalar one for processors without it. Targets that
// are no faster than a neighbour for this code would only cost compile time, and sizeless vectors
// (SVE, RVV) cannot be members of a struct.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/trajectories/kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/philox.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/dynamics.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

using LaneMask = hn::Mask<DoubleTag>;

constexpr int kNoiseSteps = 4;  // steps × actions noises are whole Philox blocks of four

/// Simulates one chunk. Structure of the time loop: four steps' noise for all vectors of the chunk
/// is drawn into a buffer, then those steps are taken. Consecutive vectors are independent, so the
/// processor overlaps their dependency chains.
template <class S, bool kStateFeatures>
class ChunkSimulator {
  static constexpr int kStates = S::kStates;
  static constexpr int kActions = S::kActions;
  static constexpr int kMaxFeatures =
      kStateFeatures ? kStates : kStates + 1 + kStates * (kStates + 1) / 2;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(DoubleTag()));
  static constexpr int kMaxVectors = kKernelChunk / kLanes;

 public:
  ChunkSimulator(const RolloutJob& job, const S& system, int first)
      : job_(job),
        settings_(job.task->settings),
        dynamics_(system),
        keys_(job.seed),
        first_(first) {
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
        for (int v = 0; v < vectors_; v += 2) draw_noise(v, block / kNoiseSteps);
      }
      const int end = HWY_MIN(block + kNoiseSteps, job_.steps);
      for (int m = block; m < end; ++m) {
        for (int v = 0; v < vectors_; ++v) step(v, m, m - block);
      }
    }
    for (int v = 0; v < vectors_; ++v) finish(v);
    clear_padding();
  }

 private:
  HWY_INLINE PhiloxWords counter(int v, RandomStream stream, int block) const {
    const WordTag words;
    return {hn::Set(words, static_cast<std::uint64_t>(block)),
            hn::Set(words, static_cast<std::uint64_t>(stream)), index_low_[v], index_high_[v]};
  }

  void start(int v) {
    const std::uint64_t index = job_.first_index + static_cast<std::uint64_t>(first_ + v * kLanes);
    index_low_[v] = hn::Iota(WordTag(), index);
    index_high_[v] = hn::ShiftRight<32>(index_low_[v]);
    for (int block = 0; 4 * block < kStates; ++block) {
      PhiloxWords words = counter(v, RandomStream::start_state, block);
      for (int round = 0; round < 10; ++round) {
        words.apply_round(keys_.first[round], keys_.second[round]);
      }
      const WordVec drawn[4] = {words.w0, words.w1, words.w2, words.w3};
      for (int i = 4 * block; i < HWY_MIN(4 * block + 4, kStates); ++i) {
        const double low = settings_.start_low(i);
        const Lanes width(settings_.start_high(i) - low);
        state_[v][i] = Lanes(low) + width * uniform_from_words<32>(drawn[i % 4]);
      }
    }
    length_[v] = Lanes(0.0);
    total_cost_[v] = Lanes(0.0);
    diverged_[v] = Lanes(0.0);
    alive_[v] = hn::FirstN(DoubleTag(), kLanes);
    Lanes x[kStates];
    for (int i = 0; i < kStates; ++i) x[i] = state_[v][i];
    absorb(v, inside_bounds(x));
  }

  /// Noise of one block of steps for vectors v and v + 1; the second may be beyond the last.
  void draw_noise(int v, int block) {
    const int other = HWY_MIN(v + 1, vectors_ - 1);
    if (hn::AllFalse(DoubleTag(), hn::Or(alive_[v], alive_[other]))) return;
    for (int b = 0; b < kActions; ++b) {
      const int number = block * kActions + b;
      LanePair normals[4];
      philox_normals(keys_, counter(v, RandomStream::exploration, number),
                     counter(other, RandomStream::exploration, number), normals);
      for (int i = 0; i < 4; ++i) {
        noise_[4 * b + i][other] = normals[i].b;
        noise_[4 * b + i][v] = normals[i].a;
      }
    }
  }

  /// The lanes whose state is within bounds; comparisons with NaN are false, so NaN is outside.
  HWY_INLINE LaneMask inside_bounds(const Lanes* x) const {
    LaneMask inside = hn::Le(magnitude(x[0]).v, Lanes(bounds_[0]).v);
    for (int i = 1; i < kStates; ++i) {
      inside = hn::And(inside, hn::Le(magnitude(x[i]).v, Lanes(bounds_[i]).v));
    }
    return inside;
  }

  /// Ends the trajectories of the lanes that are alive but outside, and notes which of them
  /// diverged.
  void absorb(int v, LaneMask inside) {
    LaneMask finite = alive_[v];
    for (int i = 0; i < kStates; ++i) {
      finite = hn::And(finite, hn::Le(magnitude(state_[v][i]).v, Lanes(kDivergenceBound).v));
    }
    mark_diverged(v, hn::AndNot(finite, alive_[v]));
    alive_[v] = hn::And(alive_[v], inside);
    full_[v] = hn::AllTrue(DoubleTag(), alive_[v]);
    for (int i = 0; i < kStates; ++i) {
      state_[v][i] = Lanes(hn::IfThenElseZero(alive_[v], Lanes(state_[v][i]).v));
    }
  }

  void mark_diverged(int v, LaneMask lanes) {
    diverged_[v] = Lanes(hn::IfThenElse(lanes, Lanes(1.0).v, Lanes(diverged_[v]).v));
  }

  /// x where alive, else zero; nothing to do while every lane is alive.
  template <bool kFull>
  HWY_INLINE Lanes masked(int v, Lanes x) const {
    if constexpr (kFull) return x;
    return Lanes(hn::IfThenElseZero(alive_[v], x.v));
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
    if (HWY_LIKELY(full_[v])) {
      step_live<true>(v, m, noise_step);
    } else {
      step_partial(v, m, noise_step);
    }
  }

  /// Out of line, so that the usual case stays short.
  HWY_NOINLINE void step_partial(int v, int m, int noise_step) {
    if (hn::AllFalse(DoubleTag(), alive_[v])) {
      step_dead(v, m);
    } else {
      step_live<false>(v, m, noise_step);
    }
  }

  /// One step of a vector in which some lane is alive (kFull: every lane).
  template <bool kFull>
  HWY_INLINE void step_live(int v, int m, int noise_step) {
    const int columns = feature_columns();
    Lanes x[kStates], error[kStates];
    for (int i = 0; i < kStates; ++i) {
      x[i] = state_[v][i];
      error[i] = x[i] - Lanes(goal_[i]);
    }
    Lanes phi[kMaxFeatures];
    compute_features(error, phi);

    Lanes u[kActions];
    for (int a = 0; a < kActions; ++a) {
      const double* gains = gains_ + a * columns;
      u[a] = Lanes(gains[0]) * phi[0];
      for (int f = 1; f < columns; ++f) u[a] = multiply_add(Lanes(gains[f]), phi[f], u[a]);
    }
    if (job_.sigma > 0) {
      const Lanes sigma(job_.sigma);
      if (job_.noise_limit < kDivergenceBound) {
        const Lanes limit(job_.noise_limit);
        for (int a = 0; a < kActions; ++a) {
          const Lanes noise = sigma * Lanes(noise_[noise_step * kActions + a][v]);
          u[a] = u[a] + limited(noise, Lanes(0.0) - limit, limit);
        }
      } else {
        for (int a = 0; a < kActions; ++a) {
          u[a] = multiply_add(sigma, noise_[noise_step * kActions + a][v], u[a]);
        }
      }
    }
    // An action that is not finite (huge gains) ends the trajectory before it is taken. The sum is
    // infinite or NaN if one action is.
    Lanes size = magnitude(u[0]);
    for (int a = 1; a < kActions; ++a) size = size + magnitude(u[a]);
    const LaneMask finite = hn::Le(size.v, Lanes(1e100).v);
    if (HWY_UNLIKELY(!hn::AllTrue(DoubleTag(), finite))) {
      const LaneMask ended = hn::AndNot(finite, alive_[v]);
      if (!hn::AllFalse(DoubleTag(), ended)) {
        mark_diverged(v, ended);
        alive_[v] = hn::And(alive_[v], finite);
        full_[v] = false;
        for (int i = 0; i < kStates; ++i) {
          state_[v][i] = Lanes(hn::IfThenElseZero(alive_[v], Lanes(state_[v][i]).v));
        }
        step_partial(v, m, noise_step);
        return;
      }
    }

    Lanes applied[kActions];
    for (int a = 0; a < kActions; ++a) {
      applied[a] = limited(u[a], Lanes(action_low_[a]), Lanes(action_high_[a]));
    }
    Lanes cost = Lanes(state_weights_[0]) * (error[0] * error[0]);
    for (int i = 1; i < kStates; ++i) {
      cost = multiply_add(Lanes(state_weights_[i]), error[i] * error[i], cost);
    }
    for (int a = 0; a < kActions; ++a) {
      cost = multiply_add(Lanes(action_weights_[a]), applied[a] * applied[a], cost);
    }
    if constexpr (!kFull) {
      cost = Lanes(hn::IfThenElse(alive_[v], cost.v, Lanes(settings_.failure_cost).v));
    }
    total_cost_[v] = Lanes(total_cost_[v]) + cost;
    length_[v] = Lanes(length_[v]) + masked<kFull>(v, Lanes(1.0));

    if (job_.features_out != nullptr) {
      double* features = job_.features_out + output_offset(v, m, columns);
      for (int f = 0; f < columns; ++f) masked<kFull>(v, phi[f]).store(features + f * job_.stride);
      double* actions = job_.actions_out + output_offset(v, m, kActions);
      for (int a = 0; a < kActions; ++a) masked<kFull>(v, u[a]).store(actions + a * job_.stride);
      cost.store(job_.costs_out + output_offset(v, m, 1));
    }

    integrate(dynamics_, settings_.integrator, settings_.dt_seconds, applied, x);
    for (int i = 0; i < kStates; ++i) state_[v][i] = x[i];
    const LaneMask inside = inside_bounds(x);
    if (HWY_UNLIKELY(!kFull || !hn::AllTrue(DoubleTag(), inside))) absorb(v, inside);
  }

  int feature_columns() const { return kStateFeatures ? kStates : job_.feature_count; }

  /// Where column 0 of a row of `columns` quantities at step m starts for vector v.
  HWY_INLINE std::size_t output_offset(int v, int m, int columns) const {
    return static_cast<std::size_t>(m) * columns * job_.stride +
           static_cast<std::size_t>(first_ + v * kLanes);
  }

  /// One step of a vector whose trajectories have all ended.
  void step_dead(int v, int m) {
    total_cost_[v] = Lanes(total_cost_[v]) + Lanes(settings_.failure_cost);
    if (job_.features_out == nullptr) return;
    const int columns = feature_columns();
    const Lanes zero(0.0);
    double* features = job_.features_out + output_offset(v, m, columns);
    for (int f = 0; f < columns; ++f) zero.store(features + f * job_.stride);
    double* actions = job_.actions_out + output_offset(v, m, kActions);
    for (int a = 0; a < kActions; ++a) zero.store(actions + a * job_.stride);
    Lanes(settings_.failure_cost).store(job_.costs_out + output_offset(v, m, 1));
  }

  void finish(int v) {
    for (int i = 0; i < kLanes; ++i) {
      const int trajectory = first_ + v * kLanes + i;
      if (trajectory >= job_.count) break;
      if (job_.lengths_out)
        job_.lengths_out[trajectory] = static_cast<std::int32_t>(length_[v].values[i]);
      if (job_.total_costs_out) job_.total_costs_out[trajectory] = total_cost_[v].values[i];
      if (job_.diverged_out) job_.diverged_out[trajectory] = diverged_[v].values[i] != 0 ? 1 : 0;
    }
  }

  /// The last vector may reach beyond the batch; what it wrote there becomes zero again.
  void clear_padding() {
    const int end = first_ + vectors_ * kLanes;
    if (end <= job_.count || job_.features_out == nullptr) return;
    const auto clear = [&](double* out, int columns) {
      for (int row = 0; row < job_.steps * columns; ++row) {
        for (int i = job_.count; i < end; ++i) {
          out[static_cast<std::size_t>(row) * job_.stride + i] = 0.0;
        }
      }
    };
    clear(job_.features_out, feature_columns());
    clear(job_.actions_out, kActions);
    clear(job_.costs_out, 1);
  }

  const RolloutJob& job_;
  const TaskSettings& settings_;
  const Dynamics<S> dynamics_;
  const PhiloxKeys keys_;
  const int first_;
  int vectors_;
  double gains_[kMaxFeatures * kActions];
  double bounds_[kStates], goal_[kStates], state_weights_[kStates];
  double action_weights_[kActions], action_low_[kActions], action_high_[kActions];
  WordVec index_low_[kMaxVectors], index_high_[kMaxVectors];  // of each trajectory
  StoredLanes state_[kMaxVectors][kStates];
  StoredLanes noise_[kNoiseSteps * kActions][kMaxVectors];
  StoredLanes total_cost_[kMaxVectors], length_[kMaxVectors], diverged_[kMaxVectors];
  LaneMask alive_[kMaxVectors];
  bool full_[kMaxVectors];  // every lane alive
};

/// Takes every system there is: a built-in one to its vectorised simulator, a custom one to its
/// own.
struct ChunkOf {
  const RolloutJob& job;
  int first;

  template <BuiltInSystem S>
  void operator()(const S& system) const {
    if (job.features.is_state_only()) {
      ChunkSimulator<S, true>(job, system, first).run();
    } else {
      ChunkSimulator<S, false>(job, system, first).run();
    }
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
