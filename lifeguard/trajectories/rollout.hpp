#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// How many trajectories, how long, from which seed.
struct RolloutSettings {
  int trajectories = 50;
  int steps = 150;
  std::uint64_t seed = 0;
  /// Index of the first trajectory: a batch of 50 is the batches of 20 and 30 at first_index 0 and
  /// 20, to the bit.
  std::uint64_t first_index = 0;
  Features features{};
  /// 1 stays on the calling thread; 0 uses all cores. The result does not depend on it.
  int threads = 1;

  void validate() const;
};

/// Number of features a policy for this task must have.
int feature_count(const Task& task, const Features& features);

/// Simulates trajectories of one task under one policy: a pure function of (task, policy, settings
/// without threads). Reuses the memory of `out`; in the steady state nothing is allocated.
/// Throws InvalidInput if the gains do not fit the task or the settings break a rule, and Stopped
/// if that is asked for, which leaves `out` with some trajectories of before.
void rollout(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings,
             Trajectories& out, const StopToken& stop = {});
Trajectories rollout(const Task& task, const GaussianPolicy& policy,
                     const RolloutSettings& settings);

/// The states of these trajectories relative to the goal, one column for each step that was lived
/// through: what a picture shows, whatever the features of the policy.
std::vector<Eigen::MatrixXd> state_paths(const Task& task, const GaussianPolicy& policy,
                                         const RolloutSettings& settings);

/// The states that trajectory i of this batch went through, absolute, one column for each step and
/// one for the state after the last: its actions, taken again from its start, to the same bits.
/// `batch` is what rollout() gave for the task and these settings.
Eigen::MatrixXd replayed_states(const Task& task, const RolloutSettings& settings,
                                const Trajectories& batch, int i);

/// One of many rollouts that share the cores; `settings.threads` is not looked at.
struct RolloutRequest {
  const Task* task = nullptr;
  const GaussianPolicy* policy = nullptr;
  RolloutSettings settings;
  Trajectories* out = nullptr;
};
/// All requests at once, in parallel over tasks and trajectories.
void rollout_all(std::span<const RolloutRequest> requests, int threads = 0);

/// What a policy costs: the mean of C(τ) over the trajectories, without keeping them. Uses the
/// policy as it is; pass policy.without_noise() for the cost of its mean.
struct Evaluation {
  double mean_cost = 0;
  int failed = 0;    // trajectories that ended early
  int diverged = 0;  // of these, by leaving the finite range
};
/// Simulates as rollout() does and keeps the costs only.
Evaluation evaluate(const Task& task, const GaussianPolicy& policy, const RolloutSettings& settings,
                    const StopToken& stop = {});

}  // namespace lifeguard
