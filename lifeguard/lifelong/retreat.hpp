#pragma once

#include <Eigen/Core>
#include <set>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/saved_state.hpp"

namespace lifeguard {

/// When a task goes back to a policy that it had before: the steps of other tasks may lead one
/// astray, perhaps to where its own gradient says nothing any more (LinearisedSettings::
/// retreat_factor).
class Retreat {
 public:
  Retreat(double factor, int parameters) : factor_(factor), parameters_(parameters) {}

  void add_task(const Eigen::VectorXd& anchor);
  /// The task costs far more than it did before: it goes to its cheapest policy.
  bool astray(int task, const RoundLoss& loss) const;
  /// The task costs far more than any other ever did, the batch does not say which way is better,
  /// and its anchor was not tried in this case before: it goes to its anchor and learns alone.
  bool lost(int task, const RoundLoss& loss) const;
  /// The task costs far more than is typical of tasks, and no less than it did before: its own
  /// steps lead nowhere.
  bool stuck(int task, const RoundLoss& loss, double typical) const;
  /// A round with `played` has become part of the learner.
  void accept(int task, const RoundLoss& loss, const Eigen::VectorXd& played, bool takes_part);

  const Eigen::VectorXd& cheapest_policy(int task) const { return tasks_[task].lowest_policy; }
  /// In common steps.
  bool takes_part(int task) const { return tasks_[task].takes_part; }

  void save_task(int task, StateWriter& writer) const;
  void load_task(StateReader& reader);

 private:
  struct Memory {
    /// Surely reached in one of its rounds, and the policy that had it; infinite before.
    double lowest_cost = kInfinity;
    Eigen::VectorXd lowest_policy;
    bool takes_part = true;
  };

  bool far_above(double cost, double reference) const;

  double factor_;
  int parameters_;
  std::vector<Memory> tasks_;
  std::multiset<double> lowest_costs_;  // of the tasks that have one
};

}  // namespace lifeguard
