#pragma once

#include <Eigen/Core>
#include <iosfwd>
#include <optional>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/regret/comparator.hpp"
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

/// The regret of all rounds, each task against its own best safe policy. No (L, S) can do better on
/// any task, so this is at least the paper's regret (docs/regret.md).
struct SurrogateRegret {
  std::vector<TaskRegret> tasks;
  long rounds = 0;
  double played = 0;
  double least = kNaN;
  /// What to quote: the regret is not more than this.
  double most = kNaN;
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

  /// One round of a task, in which `alpha` was played. A round without signal (RoundLoss::status)
  /// prefers no policy: it counts as its constant for the one played and for all others. Allocates
  /// nothing.
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
