#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <utility>
#include <vector>

#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/lifelong/task_prior.hpp"

namespace lifeguard {

/// What is kept of a task. The posterior of its deviation δ_t from m is N(M H̄b, M) with
/// M = (P⁻¹ + H̄A)⁻¹, H̄ being how actions work together (action_coupling.hpp). Everything but the
/// anchor is empty before its first round.
struct TaskBelief {
  Eigen::VectorXd anchor;
  Eigen::VectorXd began;        // ᾱ_t, the anchor at its first round, if it has another one now
  Eigen::MatrixXd information;  // A, F × F
  Eigen::VectorXd evidence;     // b + A(m - o): of the place, as b is of the deviation
  Eigen::VectorXd place;  // z_t = α_t - ᾱ_t - o; o is C, settled_at, or 0 if it learns alone
  double first_cost = 0;  // of its first round
  int attempts = 0;       // to get away from where it was stuck
  /// After a long stay o is C at its end from then on: what was learnt in many rounds in a row is
  /// not forgotten through the steps of others.
  bool settled = false;
  Eigen::VectorXd settled_at;  // C after its last round

  bool visited() const { return place.size() > 0; }
  const Eigen::VectorXd& start() const { return began.size() > 0 ? began : anchor; }

  /// The anchor and whether there were rounds, then what they left.
  void save_anchor(StateWriter& writer) const;
  void save_rounds(StateWriter& writer) const;
  /// Returns whether there were rounds. Both throw InvalidInput for what no task can have.
  bool load_anchor(StateReader& reader, int parameters);
  void load_rounds(StateReader& reader, int features, int parameters);
};

/// What all rounds say of all tasks.
struct SharedBelief {
  explicit SharedBelief(TaskPrior first) : prior(std::move(first)) {}
  TaskPrior prior;
  Eigen::VectorXd common;  // C: all common steps; empty before round 1
  Eigen::VectorXd offset;  // H = m - C
  Eigen::MatrixXd metric;  // Ḡ, the running mean of the rounds' curvatures
  // H̄, the running mean of how actions work together, over so many rounds; empty before the first
  // that tells.
  Eigen::MatrixXd coupling;
  long coupling_rounds = 0;
  double first_spread = 0;    // ψ₀: the running mean of what a step is, for each parameter
  double agreement = 1;       // the running mean of the steps' cosines
  Eigen::VectorXd direction;  // D ← 0.7 D + Δ, what the steps before had in common
  int last_task = -1;
  // How many rounds in a row the task of the last round had.
  int stay_task = -1;
  long stay_rounds = 0;
  // Of the way from a task's anchor to m, in the metric Ḡ: how far it went along, and how long
  // it is. Running means over visits.
  double way_along = 0;
  double way_length = 0;
  double way_spread = 0;  // how far, as a share of the way, tasks went more or less than that
  // Over the visited tasks that take part: their number, Σ z_t, Σ z_t z_tᵀ, and the running mean
  // of their covariances M.
  long count = 0;
  Eigen::VectorXd places;
  Eigen::MatrixXd squares;
  Eigen::MatrixXd uncertainty;
  // Where tasks have controllers of their own: running means over so many rounds of what they say
  // of m, W = (A⁻¹ + P)⁻¹ and W times what the task's rounds say of its change.
  long mean_rounds = 0;
  Eigen::MatrixXd mean_weight;
  Eigen::VectorXd mean_pull;
  // The running mean of the logarithm of ν|Δ|² of critics' steps, over so many rounds of them.
  double log_noise = 0;
  long noise_rounds = 0;
  // The last rounds, the newest last, at most so many.
  static constexpr std::size_t kRecentRounds = 16;
  struct Visit {
    int task;
    double cost;
    double first_cost;
  };
  std::vector<Visit> recent;

  bool begun() const { return common.size() > 0; }

  /// All but the prior, and `count`, which the tasks tell.
  void save(StateWriter& writer) const;
  /// Throws InvalidInput for what no learner of so many tasks can have.
  void load(StateReader& reader, int features, int parameters, int tasks);
};

}  // namespace lifeguard
