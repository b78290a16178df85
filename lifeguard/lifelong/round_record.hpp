#pragma once

#include <string_view>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/trajectory_check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/solve/projection_status.hpp"

namespace lifeguard {

/// How a round ended, and what that means for the learner.
enum class RoundStatus {
  not_run,
  /// The round was learnt from.
  ok,
  /// The round's data gave no direction (RoundLossStatus::no_signal); it counts as a visit.
  no_signal,
  /// A linear system of the update was singular to working precision; the learner is what it was
  /// before the round.
  singular,
  /// The actions are the policy's mean, without exploration noise (TrajectoryStatus::no_noise): the
  /// data are refused, and the learner is what it was before.
  no_noise,
};

/// What the safeguard did in a round, without the matrices.
struct SafeguardRecord {
  ProjectionStatus status = ProjectionStatus::not_run;
  BasisPath basis_path = BasisPath::not_run;
  CoefficientPathCounts coefficient_paths;
  int alternations = 0;
  long iterations = 0;  // of all solver steps
  /// The smallest margin over all rows and slack limits of all tasks, a lower bound; and where.
  double worst_margin = kNaN;
  int worst_task = -1;
  std::string_view worst_row;  // its name; valid until the task's safe set changes
  double retraction = kNaN;
  double seconds = kNaN;
};

/// What happened in one round.
struct RoundRecord {
  RoundStatus status = RoundStatus::not_run;
  RoundLossStatus loss_status = RoundLossStatus::not_run;
  std::string_view task;  // valid as long as the learner
  long round = 0;         // counts from 1
  long visit = 0;         // to this task, counts from 1
  double mean_cost = kNaN;
  /// l_j at the policy that was played, and at the task's policy after the round.
  double loss_before = kNaN;
  double loss_after = kNaN;
  double step_kl = kNaN;
  double noise_share = kNaN;
  /// What a look at the trajectories said; not run if a loss was observed.
  TrajectoryCheck trajectories;
  /// What kept the policies safe; not run for learners without constraints.
  SafeguardRecord safeguard;
};

}  // namespace lifeguard
