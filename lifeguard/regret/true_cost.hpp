#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// How true costs are measured: from the same start states and with the same noise for every
/// policy, so that the difference of two costs hardly depends on which these are.
struct TrueCostSettings {
  int start_states = 20;
  int steps = 150;
  std::uint64_t seed = 0;
  /// Whether the policies explore with the task's sigma, as they did when they were played, or
  /// their mean action is taken.
  bool exploration = false;
  /// What the policies see of the state.
  Features features = {};

  void validate() const;
};

/// J_t(α): the mean of C(τ) over the start states.
double true_cost(const Task& task, const Eigen::VectorXd& alpha, const TrueCostSettings& settings);

enum class BestPolicyStatus {
  not_run,
  /// The search began at the projection of a candidate that is not safe.
  from_projection,
  /// The search began at a safe candidate.
  from_candidate,
};

/// The best policy that was found. "Best known" is all that can be said: J has no convex form.
struct BestPolicy {
  BestPolicyStatus status = BestPolicyStatus::not_run;
  Eigen::VectorXd alpha;  // in the safe set
  double cost = kNaN;
  double candidate_cost = kNaN;  // before the search
};

struct BestPolicySettings {
  TrueCostSettings cost;
  /// Policies tried by the search. ≥ 0.
  int trials = 400;
  /// The first step of each gain, as a part of the largest magnitude that the candidates have for
  /// it (of their largest gain, where all have zero). > 0.
  double first_step = 0.1;
  std::uint64_t seed = 0;
};

/// The best of: the candidates (policies that learners ended at), LQR if the task has it, and what
/// a random search finds from the best of these (from zero, if there are none). All are projected
/// onto the safe set first. The search is an evolution strategy with one parent; its step grows
/// by 1.5 with a success and shrinks by 1.5^¼ without (Rechenberg's rule of one success in five).
BestPolicy best_known_policy(const Task& task, const SafeSet& set,
                             const std::vector<Eigen::VectorXd>& candidates,
                             const BestPolicySettings& settings);

/// Σ_j over rounds 1 … R of the mean gap between the policies at hand and the best, from gaps
/// measured at some rounds only: linear between these, constant before the first. `rounds` rises.
/// The sum ends at `last`, which must not lie beyond the last measured round.
double integrated_regret(const std::vector<long>& rounds, const std::vector<double>& gaps,
                         long last);

/// About `per_decade` rounds of each power of ten from 1 to `last`, both included.
std::vector<long> log_spaced_rounds(long last, int per_decade);

}  // namespace lifeguard
