#pragma once

#include <string>
#include <string_view>

#include "lifeguard/runs/experiment.hpp"

namespace lifeguard {

/// The memory that this process may use, in bytes: the computer's, or less if it has a limit.
double memory_limit();

/// Throws InvalidInput if `bytes` are more than that, before anybody tries to have them and the
/// system ends the process without a word. `field` and `value` say who asks for so much.
void require_memory(std::string_view field, std::string_view value, double bytes);

/// A batch of trajectories of a system with so many states and actions.
double trajectory_bytes(double trajectories, double steps, int states, int actions);

/// The same for `runs` runs of a configuration at a time: their trajectories, and what they keep of
/// each task.
void require_memory_for(const ExperimentConfig& config, int runs = 1);

}  // namespace lifeguard
