#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// One batch as the simulation kernels see it: plain pointers, nothing to allocate or check. Output
/// pointers may be null where a result is not wanted.
struct RolloutJob {
  const Task* task = nullptr;
  Features features;
  int feature_count = 0;
  const double* gains = nullptr;   // actions × features, one action after the other
  double sigma = 0;                // of the noise before it is clipped
  double noise_limit = kInfinity;  // infinity: it is not clipped
  std::uint64_t seed = 0;
  std::uint64_t first_index = 0;
  int count = 0;
  int steps = 0;

  std::size_t stride = 0;  // of the outputs below, see Trajectories
  double* features_out = nullptr;
  double* actions_out = nullptr;
  double* costs_out = nullptr;
  std::int32_t* lengths_out = nullptr;
  double* total_costs_out = nullptr;     // Σ_m c_m of each trajectory
  std::int32_t* diverged_out = nullptr;  // 1 for a trajectory whose state left the finite range
};

/// Trajectories that one call of a kernel simulates; parts of a batch start at multiples of it.
inline constexpr int kKernelChunk = 16;

/// Simulates trajectories [first, min(first + kKernelChunk, count)): of a built-in system with the
/// widest vectors this processor has, of a custom system one at a time.
void simulate_chunk(const RolloutJob& job, int first);

/// The part of it for a custom system. Its vectors live on the stack, which limits their sizes.
inline constexpr int kMaxCustomStates = 64;
inline constexpr int kMaxCustomActions = 32;
inline constexpr int kMaxCustomFeatures = 4096;
void simulate_custom_chunk(const RolloutJob& job, const CustomSystem& system, int first);

/// The SIMD targets compiled in and supported here, and a way for tests to use each of them;
/// select_simd_target("") goes back to the best.
std::vector<std::string> simd_targets();
void select_simd_target(const std::string& name);
std::string current_simd_target();

}  // namespace lifeguard
