#pragma once

#include <string>
#include <vector>

#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout_job.hpp"

namespace lifeguard {

/// Simulates trajectories [first, min(first + job.chunk, count)): of a built-in system, and of a
/// user's own whose equations are compiled for them, on the widest vectors this processor has.
void simulate_chunk(const RolloutJob& job, int first);

/// The part of it for a custom system. Its vectors live on the stack, which limits their sizes.
inline constexpr int kMaxCustomStates = 64;  // kMaxCustomActions: rollout_job.hpp
inline constexpr int kMaxCustomFeatures = 4096;
void simulate_custom_chunk(const RolloutJob& job, const CustomSystem& system, int first);

/// The SIMD targets compiled in and supported here, and a way for tests to use each of them;
/// select_simd_target("") goes back to the best.
std::vector<std::string> simd_targets();
void select_simd_target(const std::string& name);
std::string current_simd_target();

}  // namespace lifeguard
