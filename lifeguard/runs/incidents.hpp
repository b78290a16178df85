#pragma once

#include <Eigen/Core>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

struct ClosedLoop;

/// In how many trajectories of a batch something happened that a safe machine never does.
struct Incidents {
  int falls = 0;        // it failed: left its failure bounds, or diverged
  int violations = 0;   // a state left its limits, a failure included
  int saturations = 0;  // an action was cut off at its limit

  bool operator==(const Incidents&) const = default;
};

/// `state_limits` bounds |x - goal|; infinity: no limit. Where a system has features of its own the
/// batch does not hold its states, and only failures count.
Incidents count_incidents(const Task& task, const Eigen::VectorXd& state_limits,
                          const Trajectories& batch);

/// At most this share of trajectories of so many steps may leave what a closed loop guarantees: in
/// the others the exploration noise stays within the limits it was proven for. 0 if the noise is
/// clipped there.
double exit_probability(const Task& task, const ClosedLoop& closed_loop, int steps);

}  // namespace lifeguard
