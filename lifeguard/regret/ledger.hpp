#pragma once

#include <Eigen/Core>
#include <iosfwd>
#include <optional>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy_prior.hpp"
#include "lifeguard/regret/comparator.hpp"
#include "lifeguard/regret/leader_game.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// The regret of one task's rounds: Σ l_j(α_j) - min over its safe set of Σ l_j(α).
struct TaskRegret {
  long rounds = 0;
  double played = 0;  // Σ l_j(α_j)
  ComparatorResult best;

  /// The regret is known to lie between these.
  double least() const { return played - best.value; }
  double most() const { return played - best.lower_bound; }
};

/// What bounds the surrogate regret (docs/theorem.md), summed over the tasks.
struct RegretBound {
  BoundTerms terms;
  /// No regret is above this: the terms, and the width of the interval in which the comparator's
  /// value is known to lie.
  double total = kNaN;
  /// What a learner that plays the leader is held to, and the same by the corollary with log det.
  double of_leader = kNaN;
  double logarithmic = kNaN;
  /// `of_leader` on the same losses for a leader that knows nothing, with the prior N(0, I).
  double without_knowledge = kNaN;
};

/// The regret of all rounds, each task against its own best safe policy. No (L, S) can do better on
/// any task, so this is at least the paper's regret (docs/regret.md).
struct SurrogateRegret {
  std::vector<TaskRegret> tasks;
  long rounds = 0;
  double played = 0;
  double least = kNaN;
  /// What to quote: the regret is not more than this.
  double most = kNaN;
  /// Nothing unless every task that was played has a prior (set_prior).
  std::optional<RegretBound> bound;
};

/// Sums round losses at the policies that were played, and what is needed to find the best policies
/// in hindsight exactly. Memory: O(d²) for each task, whatever the number of rounds. Record losses
/// of one scale only: LossScale::metric is in nats, as the paper's loss is, and can be added over
/// tasks; LossScale::cost (or in_cost_units) is in units of cost.
class RegretLedger {
 public:
  RegretLedger(int features, int actions);

  int features() const { return features_; }
  int actions() const { return actions_; }
  int parameters() const { return features_ * actions_; }
  int tasks() const { return static_cast<int>(tasks_.size()); }
  long rounds() const;
  long rounds(int task) const;

  /// The number of the new task. Without a safe set every policy may be compared with. A set
  /// without strictly safe policies throws InvalidInput.
  int add_task(const std::optional<SafeSet>& safe_set = {});
  /// From now on all of the task's rounds, those before included, are compared with the best policy
  /// of this set. If it is smaller than it was, policies played before may have been better than
  /// any it allows, and the regret negative.
  void set_safe_set(int task, const SafeSet& safe_set);
  const SafeSet& safe_set(int task) const;

  /// What is believed of a task, to be said before its first round: from then on the regret of the
  /// task is bounded. Said again with another prior, the bound pays for the change.
  void set_prior(int task, const PolicyPrior& prior);
  /// The leader of the task's game; null without a prior.
  const LeaderGame* game(int task) const;

  /// One round of a task, in which `alpha` was played. A round without signal (RoundLoss::status)
  /// prefers no policy: it counts as its constant for the one played and for all others. Allocates
  /// nothing for tasks without a prior.
  void record(int task, const RoundLoss& loss, const Eigen::VectorXd& alpha);

  /// Solves one quadratic program for each task.
  SurrogateRegret surrogate_regret() const;

  void save(std::ostream& out) const;
  /// A text that was not written by save() throws InvalidInput. What was saved may be in the middle
  /// of a longer text; reading ends with its last line.
  static RegretLedger load(std::istream& in);

 private:
  struct TaskSums {
    SafeSet safe_set;
    Eigen::VectorXd interior;  // strictly safe
    LossSum sum;
    double played = 0;
    long rounds = 0;
    std::optional<LeaderGame> game = std::nullopt;
    std::optional<LeaderGame> without_knowledge = std::nullopt;  // the same with N(0, I)

    SafeRegion region() const { return {safe_set, interior}; }
  };
  const TaskSums& at(int task) const;
  static Eigen::VectorXd interior_of(const SafeSet& safe_set);

  int features_;
  int actions_;
  std::vector<TaskSums> tasks_;
};

/// A loss of LossScale::metric in units of cost, as LossScale::cost would have given it: the same
/// target, with l(α_j) = mean_cost and ∇l(α_j) = cost_gradient · shrinkage. A round without signal
/// becomes the constant mean_cost.
RoundLoss in_cost_units(const RoundLoss& loss);

}  // namespace lifeguard
