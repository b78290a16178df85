// Trajectories of a user's system whose equations are for one double at a time: several side by
// side, so that noise, policy and storing use vectors, and the equations one after the other. The
// same rules and the same arithmetic as in chunk_simulator.hpp, with sizes that are known at run
// time.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "lifeguard/core/simd_targets.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/trajectories/kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/trajectories/custom_kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/philox.hpp"
#include "lifeguard/trajectories/chunk_simulator.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

class CustomSimulator {
  static constexpr int kWidth = SideBySide::kWidth;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(DoubleTag()));
  static constexpr int kMaxVectors = kWidth / kLanes;
  static constexpr int kSmallFeatures = 128;  // up to so many live on the stack
  using Row = double[kWidth];

 public:
  CustomSimulator(const RolloutJob& job, const CustomSystem& system, int first, int end)
      : job_(job),
        system_(system),
        settings_(job.task->settings),
        keys_(job.seed),
        first_(first),
        count_(end - first),
        states_(system.states()),
        actions_(system.actions()),
        columns_(job.feature_count),
        own_features_(system.own_features() > 0) {
    vectors_ = (count_ + kLanes - 1) / kLanes;
    if (columns_ > kSmallFeatures) {
      many_features_.resize(static_cast<std::size_t>(columns_) * kWidth);
      features_ = many_features_.data();
    }
    // Also those beyond the batch are computed with, and must be numbers.
    std::fill_n(&state_[0][0], states_ * kWidth, 0.0);
    std::fill_n(&noise_[0][0], kNoiseSteps * actions_ * kWidth, 0.0);
    std::fill_n(features_, columns_ * kWidth, 0.0);
  }

  void run() {
    for (int v = 0; v < vectors_; ++v) {
      indices_[v] =
          TrajectoryIndices(job_.first_index + static_cast<std::uint64_t>(first_ + v * kLanes));
    }
    for (int t = 0; t < count_; ++t) start(t);
    absorb_failures();
    for (int m = 0; m < job_.steps; ++m) {
      const int noise_step = m % kNoiseSteps;
      if (job_.noisy && noise_step == 0 && live_count_ > 0) draw_noise(m / kNoiseSteps);
      step(m, noise_step);
    }
    for (int t = 0; t < count_; ++t) {
      const int trajectory = first_ + t;
      if (job_.lengths_out != nullptr) job_.lengths_out[trajectory] = length_[t];
      if (job_.total_costs_out != nullptr) job_.total_costs_out[trajectory] = total_cost_[t];
      if (job_.diverged_out != nullptr) job_.diverged_out[trajectory] = diverged_[t] ? 1 : 0;
    }
    if (job_.past_caches) hwy::FlushStream();
  }

 private:
  SideBySide live() const { return {{live_, static_cast<std::size_t>(live_count_)}}; }

  void start(int t) {
    const std::uint64_t index = job_.first_index + static_cast<std::uint64_t>(first_ + t);
    double x[kMaxCustomStates];
    system_.start(CounterRandom(job_.seed, RandomStream::start_state, index),
                  {x, static_cast<std::size_t>(states_)});
    for (int i = 0; i < states_; ++i) state_[i][t] = x[i];
    alive_[t] = 1.0;
    live_[live_count_++] = t;
  }

  void draw_noise(int block) {
    for (int v = 0; v < vectors_; v += 2) {
      const int other = HWY_MIN(v + 1, vectors_ - 1);
      for (int b = 0; b < actions_; ++b) {
        const int number = block * actions_ + b;
        LanePair normals[4];
        philox_normals(keys_, indices_[v].counter(RandomStream::exploration, number),
                       indices_[other].counter(RandomStream::exploration, number), normals);
        for (int i = 0; i < 4; ++i) {
          normals[i].b.store(noise_[4 * b + i] + other * kLanes);
          normals[i].a.store(noise_[4 * b + i] + v * kLanes);
        }
      }
    }
  }

  void step(int m, int noise_step) {
    if (live_count_ > 0) {
      see();
      act(noise_step);
      if (live_count_ > 0) {
        system_.cost_all(live(), &state_[0][0], &applied_[0][0], cost_);
        end_unless([this](int t) { return std::fabs(cost_[t]) <= kLargestNumber; });
      }
    }
    for (int t = 0; t < count_; ++t) {
      if (alive_[t] == 0) cost_[t] = settings_.failure_cost;
      total_cost_[t] += cost_[t];
      length_[t] += alive_[t] != 0 ? 1 : 0;
    }
    if (job_.features_out != nullptr) store(m);
    if (live_count_ == 0) return;
    system_.step_all(live(), &applied_[0][0], &state_[0][0]);
    absorb_failures();
  }

  /// The features of every state.
  void see() {
    if (own_features_) {
      system_.features_all(live(), &state_[0][0], features_);
      if (!all_within(features_, columns_, kLargestNumber)) {
        end_unless([this](int t) {
          for (int f = 0; f < columns_; ++f) {
            if (!(std::fabs(features_[f * kWidth + t]) <= kLargestNumber)) return false;
          }
          return true;
        });
      }
      return;
    }
    for (int v = 0; v < vectors_; ++v) {
      double* const phi = features_ + v * kLanes;
      int next = 0;
      for (int i = 0; i < states_; ++i) {
        const Lanes x = Lanes::load(state_[i] + v * kLanes);
        (x - Lanes(settings_.goal(i))).store(phi + kWidth * next++);
      }
      if (job_.features.bias) Lanes(1.0).store(phi + kWidth * next++);
      if (job_.features.second_order) {
        for (int i = 0; i < states_; ++i) {
          for (int j = i; j < states_; ++j) {
            (Lanes::load(phi + kWidth * i) * Lanes::load(phi + kWidth * j))
                .store(phi + kWidth * next++);
          }
        }
      }
    }
  }

  /// The noisy action and the action as applied; ends those whose action is not finite.
  void act(int noise_step) {
    LaneMask all_finite = hn::FirstN(DoubleTag(), kLanes);
    for (int v = 0; v < vectors_; ++v) {
      const double* const phi = features_ + v * kLanes;
      Lanes size(0.0);
      for (int a = 0; a < actions_; ++a) {
        const double* gains = job_.gains + a * columns_;
        Lanes u = Lanes(gains[0]) * Lanes::load(phi);
        for (int f = 1; f < columns_; ++f) {
          u = multiply_add(Lanes(gains[f]), Lanes::load(phi + kWidth * f), u);
        }
        if (job_.noisy) {
          u = with_noise(job_, a, u, Lanes::load(noise_[noise_step * actions_ + a] + v * kLanes));
        }
        size = size + magnitude(u);
        u.store(action_[a] + v * kLanes);
        limited(u, Lanes(settings_.action_low(a)), Lanes(settings_.action_high(a)))
            .store(applied_[a] + v * kLanes);
      }
      size.store(size_ + v * kLanes);
      all_finite = hn::And(all_finite, hn::Le(size.v, Lanes(kLargestNumber).v));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(DoubleTag(), all_finite))) {
      end_unless([this](int t) { return size_[t] <= kLargestNumber; });
    }
  }

  /// Whether every number of these rows is.
  HWY_INLINE bool all_within(const double* rows, int count, double bound) const {
    LaneMask within = hn::FirstN(DoubleTag(), kLanes);
    for (int i = 0; i < count; ++i) {
      for (int v = 0; v < vectors_; ++v) {
        const Lanes x = Lanes::load(rows + i * kWidth + v * kLanes);
        within = hn::And(within, hn::Le(magnitude(x).v, Lanes(bound).v));
      }
    }
    return hn::AllTrue(DoubleTag(), within);
  }

  /// Trajectory t has no further steps; its state becomes one that every computation survives.
  void end(int t) {
    alive_[t] = 0.0;
    for (int i = 0; i < states_; ++i) state_[i][t] = 0.0;
    for (int f = 0; f < columns_; ++f) features_[f * kWidth + t] = 0.0;
  }

  /// Ends the live trajectories for which something is not finite.
  template <class Good>
  void end_unless(const Good& good) {
    int left = 0;
    for (int n = 0; n < live_count_; ++n) {
      const int t = live_[n];
      if (good(t)) {
        live_[left++] = t;
      } else {
        diverged_[t] = true;
        end(t);
      }
    }
    live_count_ = left;
  }

  /// Ends the trajectories whose state is not one to go on from.
  void absorb_failures() {
    for (int i = 0; i < states_; ++i) {
      if (all_within(state_[i], 1, HWY_MIN(settings_.failure_bounds(i), kDivergenceBound)))
        continue;
      absorb_failures_slowly();
      break;
    }
    if (live_count_ == 0) return;
    system_.failed_all(live(), &state_[0][0], failed_);
    int left = 0;
    for (int n = 0; n < live_count_; ++n) {
      const int t = live_[n];
      if (failed_[t]) {
        end(t);
      } else {
        live_[left++] = t;
      }
    }
    live_count_ = left;
  }

  HWY_NOINLINE void absorb_failures_slowly() {
    end_unless([this](int t) {
      for (int i = 0; i < states_; ++i) {
        if (!(std::fabs(state_[i][t]) <= kDivergenceBound)) return false;
      }
      return true;
    });
    int left = 0;
    for (int n = 0; n < live_count_; ++n) {
      const int t = live_[n];
      bool outside = false;
      for (int i = 0; i < states_; ++i) {
        outside = outside || std::fabs(state_[i][t]) > settings_.failure_bounds(i);
      }
      if (outside) {
        end(t);
      } else {
        live_[left++] = t;
      }
    }
    live_count_ = left;
  }

  /// Where the rows of so many columns begin at step m.
  HWY_INLINE std::size_t offset(int m, int columns) const {
    return static_cast<std::size_t>(m) * static_cast<std::size_t>(columns) * job_.stride +
           static_cast<std::size_t>(first_);
  }

  void store(int m) const {
    if (kWholeLines && job_.past_caches) {
      store_step<true>(m);
      return;
    }
    store_step<false>(m);
    if (job_.past_caches && m + 1 < job_.steps) {
      fetch_rows(job_.features_out + offset(m + 1, columns_), columns_, job_.stride, kWidth);
      fetch_rows(job_.actions_out + offset(m + 1, actions_), actions_, job_.stride, kWidth);
      fetch_rows(job_.costs_out + offset(m + 1, 1), 1, job_.stride, kWidth);
    }
  }
  template <bool kPastCaches>
  void store_step(int m) const {
    store_rows<kPastCaches>(features_, columns_, job_.features_out + offset(m, columns_));
    store_rows<kPastCaches>(&action_[0][0], actions_, job_.actions_out + offset(m, actions_));
    double* const costs = job_.costs_out + offset(m, 1);
    for (int v = 0; v < vectors_; ++v) {
      write<kPastCaches>(Lanes::load(cost_ + v * kLanes), costs + v * kLanes);
    }
  }
  /// Zero where a trajectory has ended, and beyond the batch.
  template <bool kPastCaches>
  HWY_INLINE void store_rows(const double* rows, int count, double* out) const {
    for (int v = 0; v < vectors_; ++v) {
      const LaneMask alive = hn::Gt(Lanes::load(alive_ + v * kLanes).v, Lanes(0.0).v);
      for (int i = 0; i < count; ++i) {
        const Lanes x = Lanes::load(rows + i * kWidth + v * kLanes);
        write<kPastCaches>(Lanes(hn::IfThenElseZero(alive, x.v)),
                           out + static_cast<std::size_t>(i) * job_.stride + v * kLanes);
      }
    }
  }

  const RolloutJob& job_;
  const CustomSystem& system_;
  const TaskSettings& settings_;
  const PhiloxKeys keys_;
  const int first_, count_, states_, actions_, columns_;
  const bool own_features_;
  int vectors_;
  TrajectoryIndices indices_[kMaxVectors];
  int live_[kWidth], live_count_ = 0;  // the trajectories that go on
  int length_[kWidth] = {};
  bool diverged_[kWidth] = {}, failed_[kWidth];
  HWY_ALIGN Row alive_ = {}, cost_ = {}, total_cost_ = {}, size_ = {};
  HWY_ALIGN Row state_[kMaxCustomStates];
  HWY_ALIGN Row action_[kMaxCustomActions], applied_[kMaxCustomActions];
  HWY_ALIGN Row noise_[kNoiseSteps * kMaxCustomActions];
  HWY_ALIGN Row few_features_[kSmallFeatures];
  double* features_ = &few_features_[0][0];
  AlignedVector<double> many_features_;
};

void SimulateCustomChunk(const RolloutJob& job, const CustomSystem& system, int first) {
  const int end = HWY_MIN(first + job.chunk, job.count);
  for (int i = first; i < end; i += SideBySide::kWidth) {
    CustomSimulator(job, system, i, HWY_MIN(i + SideBySide::kWidth, end)).run();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(SimulateCustomChunk);

void simulate_custom_chunk(const RolloutJob& job, const CustomSystem& system, int first) {
  if (system.simulate_chunk(job, first)) return;
  HWY_DYNAMIC_DISPATCH(SimulateCustomChunk)(job, system, first);
}

}  // namespace lifeguard
#endif
