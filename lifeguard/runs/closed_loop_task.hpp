#pragma once

#include <memory>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/plant_inclusion.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// Which controllers a closed-loop set must leave room for.
enum class ClosedLoopRoom {
  none,
  nominal,  // the LQR of the machine as it is known
  corners,  // that, and those of all corners of its tolerance
};

/// A closed-loop set as a configuration asks for it.
struct ClosedLoopTask {
  Task machine;  // as it is known
  InclusionSettings inclusion;
  /// Given ones take the place of the system's inclusion: for a user's own system.
  std::vector<UncertainPlant::Corner> corners;
  ClosedLoopRoom room = ClosedLoopRoom::corners;
  ClosedLoopSettings settings;
};

/// Makes the set, or throws InvalidInput that says what would be feasible. One that was made before
/// in this process is not made again: methods and seeds that are compared share their machines.
std::shared_ptr<const ClosedLoop> solve_closed_loop(const ClosedLoopTask& task,
                                                    const Deadline& deadline = {});

}  // namespace lifeguard
