#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// Trajectories that one call of a kernel simulates: of a small batch few, so that threads can
/// share it, of a large one many, so that each row of the result is written in long pieces.
inline constexpr int kKernelChunk = 16;
inline constexpr int kLargeKernelChunk = 64;
inline constexpr int kLargeBatch = 8 * kLargeKernelChunk;

/// The most actions that a system can have.
inline constexpr int kMaxCustomActions = 32;

/// One batch as the simulation kernels see it: plain pointers, nothing to allocate or check. Output
/// pointers may be null where a result is not wanted.
struct RolloutJob {
  const Task* task = nullptr;
  Features features;
  int feature_count = 0;
  const double* gains = nullptr;  // actions × features, one action after the other
  bool noisy = false;             // whether any action has noise
  /// Of each action: σ of the noise before it is clipped, and at what it is (infinity: it is not).
  std::array<double, kMaxCustomActions> sigma{};
  std::array<double, kMaxCustomActions> noise_limit = [] {
    std::array<double, kMaxCustomActions> none{};
    none.fill(kInfinity);
    return none;
  }();
  std::uint64_t seed = 0;
  std::uint64_t first_index = 0;
  int count = 0;
  int steps = 0;
  int chunk = kKernelChunk;  // parts of the batch start at multiples of it

  std::size_t stride = 0;  // of the outputs below, see Trajectories
  double* features_out = nullptr;
  double* actions_out = nullptr;
  double* costs_out = nullptr;
  bool past_caches = false;  // whether these are so large that they had better not go into caches
  std::int32_t* lengths_out = nullptr;
  double* total_costs_out = nullptr;     // Σ_m c_m of each trajectory
  std::int32_t* diverged_out = nullptr;  // 1 for a trajectory whose state left the finite range
};

}  // namespace lifeguard
