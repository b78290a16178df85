// The rollout kernel: many trajectories side by side, one in each lane of a vector, of a machine
// whose equations are a template parameter. Compiled once per SIMD target (kernel.cpp for the
// built-in systems, compile_system.hpp for a user's own). Every target gives the same bits
// (core/lane_math.hpp).

#if defined(LIFEGUARD_TRAJECTORIES_CHUNK_SIMULATOR_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LIFEGUARD_TRAJECTORIES_CHUNK_SIMULATOR_HPP
#undef LIFEGUARD_TRAJECTORIES_CHUNK_SIMULATOR_HPP
#else
#define LIFEGUARD_TRAJECTORIES_CHUNK_SIMULATOR_HPP
#endif

#include <hwy/cache_control.h>

#include <cstddef>
#include <cstdint>

#include "lifeguard/core/lane_math.hpp"
#include "lifeguard/core/philox.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/trajectories/rollout_job.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

using LaneMask = hn::Mask<DoubleTag>;

constexpr int kNoiseSteps = 4;  // steps × actions noises are whole Philox blocks of four

/// The indices of one vector of trajectories, as Philox counts them.
struct TrajectoryIndices {
  WordVec low, high;

  HWY_INLINE TrajectoryIndices() {}  // written out, so that it is compiled for the target
  HWY_INLINE explicit TrajectoryIndices(std::uint64_t first)
      : low(hn::Iota(WordTag(), first)), high(hn::ShiftRight<32>(low)) {}

  HWY_INLINE PhiloxWords counter(RandomStream stream, int block) const {
    const WordTag words;
    return {hn::Set(words, static_cast<std::uint64_t>(block)),
            hn::Set(words, static_cast<std::uint64_t>(stream)), low, high};
  }
};

/// What one vector of start states is drawn from: `first` is the index of its first trajectory.
struct StartDraws {
  const PhiloxKeys& keys;
  const TrajectoryIndices& indices;
  std::uint64_t seed;
  std::uint64_t first;

  /// The four random words of a block.
  HWY_INLINE void words(int block, WordVec* out) const {
    PhiloxWords w = indices.counter(RandomStream::start_state, block);
    for (int round = 0; round < 10; ++round) w.apply_round(keys.first[round], keys.second[round]);
    out[0] = w.w0;
    out[1] = w.w1;
    out[2] = w.w2;
    out[3] = w.w3;
  }
};

/// Memory is written in lines of 64 bytes. Past the caches only whole ones are worth it: halves
/// wait for each other in the few buffers that there are.
constexpr bool kWholeLines = hn::MaxLanes(DoubleTag()) * sizeof(double) == 64;

template <bool kPastCaches>
HWY_INLINE void write(Lanes x, double* p) {
  if constexpr (kPastCaches) {
    hn::Stream(x.v, DoubleTag(), p);
  } else {
    x.store(p);
  }
}

/// Asks for the lines of so many rows that will be written soon, where they go into the caches:
/// from rows that lie apart no processor guesses the next ones by itself.
HWY_INLINE void fetch_rows(const double* first, int rows, std::size_t stride, int width) {
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < width; i += 8) {
      hwy::Prefetch(first + static_cast<std::size_t>(row) * stride + i);
    }
  }
}

/// What a policy sees.
enum class Seen { state, features_of_state, own_features };

/// u + σ z of an action, with the noise clipped if it is to be.
HWY_INLINE Lanes with_noise(const RolloutJob& job, int action, Lanes u, Lanes normal) {
  const Lanes sigma(job.sigma[static_cast<std::size_t>(action)]);
  const double noise_limit = job.noise_limit[static_cast<std::size_t>(action)];
  if (noise_limit < kDivergenceBound) {
    const Lanes limit(noise_limit);
    return u + limited(sigma * normal, Lanes(0.0) - limit, limit);
  }
  return multiply_add(sigma, normal, u);
}

/// Numbers beyond this are as bad as infinite ones: their sums and products would be.
constexpr double kLargestNumber = 1e100;

/// Simulates one chunk of a Machine, which has
///   kStates, kActions, kOwnFeatures (0: the policy sees features of the state)
///   kTrusted: its costs and features are finite for every state within ±kDivergenceBound
///   kMayFail: it has a failure of its own beside the task's bounds
///   start(draws, x), step(applied, x), cost(x, error, applied), features(x, out), failed(x).
/// Structure of the time loop: four steps' noise for all vectors of the chunk is drawn into a
/// buffer, then those steps are taken. Consecutive vectors are independent, so the processor
/// overlaps their dependency chains.
template <class Machine, Seen kSeen>
class ChunkSimulator {
  static constexpr int kStates = Machine::kStates;
  static constexpr int kActions = Machine::kActions;
  static constexpr int kMaxFeatures = kSeen == Seen::state ? kStates
                                      : kSeen == Seen::own_features
                                          ? Machine::kOwnFeatures
                                          : kStates + 1 + kStates * (kStates + 1) / 2;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(DoubleTag()));
  static constexpr int kMaxVectors = kLargeKernelChunk / kLanes;
  static constexpr int kLineVectors = 8 / kLanes;  // vectors in a line of the cache

 public:
  ChunkSimulator(const RolloutJob& job, const Machine& machine, int first)
      : job_(job),
        settings_(job.task->settings),
        machine_(machine),
        keys_(job.seed),
        first_(first) {
    const int remaining = HWY_MIN(job.chunk, job.count - first);
    vectors_ = (remaining + kLanes - 1) / kLanes;
    for (int f = 0; f < job.feature_count * kActions; ++f) gains_[f] = job.gains[f];
    for (int i = 0; i < kStates; ++i) {
      bounds_[i] = HWY_MIN(settings_.failure_bounds(i), kDivergenceBound);
      goal_[i] = settings_.goal(i);
    }
    for (int a = 0; a < kActions; ++a) {
      action_low_[a] = settings_.action_low(a);
      action_high_[a] = settings_.action_high(a);
    }
  }

  void run() {
    for (int v = 0; v < vectors_; ++v) start(v);
    for (int block = 0; block < job_.steps; block += kNoiseSteps) {
      if (job_.noisy) {
        for (int v = 0; v < vectors_; v += 2) draw_noise(v, block / kNoiseSteps);
      }
      const int end = HWY_MIN(block + kNoiseSteps, job_.steps);
      for (int m = block; m < end; ++m) {
        for (int v = 0; v < vectors_; ++v) step(v, m, m - block);
      }
    }
    for (int v = 0; v < vectors_; ++v) finish(v);
    clear_padding();
    if (job_.past_caches) hwy::FlushStream();
  }

 private:
  void start(int v) {
    const std::uint64_t index = job_.first_index + static_cast<std::uint64_t>(first_ + v * kLanes);
    indices_[v] = TrajectoryIndices(index);
    machine_.start(StartDraws{keys_, indices_[v], job_.seed, index}, state_[v]);
    length_[v] = Lanes(0.0);
    total_cost_[v] = Lanes(0.0);
    diverged_[v] = Lanes(0.0);
    alive_[v] = hn::FirstN(DoubleTag(), kLanes);
    Lanes x[kStates];
    for (int i = 0; i < kStates; ++i) x[i] = state_[v][i];
    absorb(v, inside(x));
  }

  /// Noise of one block of steps for vectors v and v + 1; the second may be beyond the last.
  void draw_noise(int v, int block) {
    const int other = HWY_MIN(v + 1, vectors_ - 1);
    if (hn::AllFalse(DoubleTag(), hn::Or(alive_[v], alive_[other]))) return;
    for (int b = 0; b < kActions; ++b) {
      const int number = block * kActions + b;
      LanePair normals[4];
      philox_normals(keys_, indices_[v].counter(RandomStream::exploration, number),
                     indices_[other].counter(RandomStream::exploration, number), normals);
      for (int i = 0; i < 4; ++i) {
        noise_[4 * b + i][other] = normals[i].b;
        noise_[4 * b + i][v] = normals[i].a;
      }
    }
  }

  /// The lanes whose state is one to go on from; comparisons with NaN are false, so NaN is not.
  HWY_INLINE LaneMask inside(const Lanes* x) const {
    LaneMask inside = hn::Le(magnitude(x[0]).v, Lanes(bounds_[0]).v);
    for (int i = 1; i < kStates; ++i) {
      inside = hn::And(inside, hn::Le(magnitude(x[i]).v, Lanes(bounds_[i]).v));
    }
    if constexpr (Machine::kMayFail) inside = hn::AndNot(machine_.failed(x).m, inside);
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
    if constexpr (kSeen == Seen::features_of_state) {
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
    if constexpr (kSeen == Seen::own_features) {
      machine_.features(x, phi);
    } else {
      compute_features(error, phi);
    }

    Lanes u[kActions];
    for (int a = 0; a < kActions; ++a) {
      const double* gains = gains_ + a * columns;
      u[a] = Lanes(gains[0]) * phi[0];
      for (int f = 1; f < columns; ++f) u[a] = multiply_add(Lanes(gains[f]), phi[f], u[a]);
    }
    if (job_.noisy) {
      for (int a = 0; a < kActions; ++a) {
        u[a] = with_noise(job_, a, u[a], noise_[noise_step * kActions + a][v]);
      }
    }
    // An action that is not finite (huge gains) ends the trajectory before it is taken. The sum is
    // infinite or NaN if one action is.
    Lanes size = magnitude(u[0]);
    for (int a = 1; a < kActions; ++a) size = size + magnitude(u[a]);
    LaneMask finite = hn::Le(size.v, Lanes(kLargestNumber).v);
    if constexpr (kSeen == Seen::own_features && !Machine::kTrusted) {
      for (int f = 0; f < columns; ++f) finite = hn::And(finite, is_finite(phi[f]));
    }
    Lanes applied[kActions];
    for (int a = 0; a < kActions; ++a) {
      applied[a] = limited(u[a], Lanes(action_low_[a]), Lanes(action_high_[a]));
    }
    Lanes cost = machine_.cost(x, error, applied);
    if constexpr (!Machine::kTrusted) finite = hn::And(finite, is_finite(cost));
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

    if constexpr (!kFull) {
      cost = Lanes(hn::IfThenElse(alive_[v], cost.v, Lanes(settings_.failure_cost).v));
    }
    total_cost_[v] = Lanes(total_cost_[v]) + cost;
    length_[v] = Lanes(length_[v]) + masked<kFull>(v, Lanes(1.0));

    if (job_.features_out != nullptr) {
      if (kWholeLines && job_.past_caches) {
        write_row<kFull, true>(v, m, phi, u, cost);
      } else {
        write_row<kFull, false>(v, m, phi, u, cost);
        if (job_.past_caches && v % kLineVectors == 0 && m + 1 < job_.steps) fetch_next(v, m + 1);
      }
    }

    machine_.step(applied, x);
    for (int i = 0; i < kStates; ++i) state_[v][i] = x[i];
    const LaneMask go_on = inside(x);
    if (HWY_UNLIKELY(!kFull || !hn::AllTrue(DoubleTag(), go_on))) absorb(v, go_on);
  }

  static HWY_INLINE LaneMask is_finite(Lanes x) {
    return hn::Le(magnitude(x).v, Lanes(kLargestNumber).v);
  }

  HWY_INLINE void fetch_next(int v, int m) const {
    const int columns = feature_columns();
    fetch_rows(job_.features_out + output_offset(v, m, columns), columns, job_.stride, 8);
    fetch_rows(job_.actions_out + output_offset(v, m, kActions), kActions, job_.stride, 8);
    fetch_rows(job_.costs_out + output_offset(v, m, 1), 1, job_.stride, 8);
  }

  template <bool kFull, bool kPastCaches>
  HWY_INLINE void write_row(int v, int m, const Lanes* phi, const Lanes* u, Lanes cost) const {
    const int columns = feature_columns();
    double* features = job_.features_out + output_offset(v, m, columns);
    for (int f = 0; f < columns; ++f) {
      write<kPastCaches>(masked<kFull>(v, phi[f]), features + f * job_.stride);
    }
    double* actions = job_.actions_out + output_offset(v, m, kActions);
    for (int a = 0; a < kActions; ++a) {
      write<kPastCaches>(masked<kFull>(v, u[a]), actions + a * job_.stride);
    }
    write<kPastCaches>(cost, job_.costs_out + output_offset(v, m, 1));
  }

  HWY_INLINE int feature_columns() const {
    return kSeen == Seen::features_of_state ? job_.feature_count : kMaxFeatures;
  }

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
  const Machine machine_;
  const PhiloxKeys keys_;
  const int first_;
  int vectors_;
  double gains_[kMaxFeatures * kActions];
  double bounds_[kStates], goal_[kStates];
  double action_low_[kActions], action_high_[kActions];
  TrajectoryIndices indices_[kMaxVectors];
  StoredLanes state_[kMaxVectors][kStates];
  StoredLanes noise_[kNoiseSteps * kActions][kMaxVectors];
  StoredLanes total_cost_[kMaxVectors], length_[kMaxVectors], diverged_[kMaxVectors];
  LaneMask alive_[kMaxVectors];
  bool full_[kMaxVectors];  // every lane alive
};

/// One chunk of this machine, with what the job lets the policy see.
template <class Machine>
void simulate_machine(const RolloutJob& job, const Machine& machine, int first) {
  if constexpr (Machine::kOwnFeatures > 0) {
    ChunkSimulator<Machine, Seen::own_features>(job, machine, first).run();
  } else if (job.features.is_state_only()) {
    ChunkSimulator<Machine, Seen::state>(job, machine, first).run();
  } else {
    ChunkSimulator<Machine, Seen::features_of_state>(job, machine, first).run();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#endif
