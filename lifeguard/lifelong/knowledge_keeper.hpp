#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/policy/policy_prior.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/safety/solve/fault_injection.hpp"

namespace lifeguard {

/// A task as its keeper sees it: where it may go, and a policy that is known to be inside.
struct KeptTask {
  Eigen::VectorXd anchor;
  SafeSet safe_set;
};

/// What a learner knows of its tasks, how a round changes that, and what proves that every policy
/// it hands out is safe. There are two: CoupledKeeper, whose tasks move together in every round,
/// and EmpiricalBayesRule, whose rounds touch the visited task and what all have in common.
class KnowledgeKeeper {
 public:
  virtual ~KnowledgeKeeper() = default;

  /// All of them, or none: an anchor that is not strictly safe throws InvalidInput. `rounds` were
  /// learnt from so far.
  virtual void add_tasks(const std::vector<KeptTask>& tasks, long rounds) = 0;
  /// Other constraints, and perhaps another anchor, for a known task. Its policy stays where it is
  /// as far as they allow.
  virtual void change_task(int task, const KeptTask& changed) = 0;

  /// Lines 7 to 11 of Algorithm 1. Whatever does not end in ok leaves everything as it was.
  virtual RoundStatus learn(int task, const RoundLoss& loss, long rounds_before) = 0;
  /// What kept the policies of the last round safe.
  virtual const SafeguardRecord& last_safeguard() const = 0;

  /// α_t, proven after the last operation on it. False if that failed and the anchor is handed out.
  virtual bool policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const = 0;
  virtual Eigen::VectorXd anchor(int task) const = 0;
  virtual const std::vector<SafeSet>& safe_sets() const = 0;
  /// All of it as (L, S), and what is proven of that.
  virtual const Knowledge& knowledge() const = 0;
  virtual Certificate certificate() const = 0;
  /// What it believes of tasks, if it has beliefs.
  virtual std::optional<TaskBeliefs> beliefs() const { return {}; }
  virtual std::optional<TaskPosterior> posterior(int /*task*/) const { return {}; }
  /// What it believed of a task before its first loss, as PolicyLearner::belief_of.
  virtual std::optional<PolicyPrior> belief_of(int /*task*/) const { return {}; }

  /// For tests.
  virtual void inject_faults(FaultInjection faults) = 0;
  virtual void inject_refusals(LastLookInjection refuses) = 0;

  /// L stands first in a saved state: its size is proven by its numbers before anything is made
  /// that is as large. Then what comes before the tasks, what is kept of each in turn, and what
  /// comes after them. Loading throws InvalidInput unless all fits together.
  virtual const Eigen::MatrixXd& basis() const = 0;
  virtual void save_first(StateWriter& /*writer*/) const {}
  virtual void save_task(int task, StateWriter& writer) const = 0;
  virtual void save_last(StateWriter& /*writer*/) const {}
  virtual void load_first(StateReader& reader, Eigen::MatrixXd basis, int tasks) = 0;
  virtual void load_task(StateReader& reader, const SafeSet& set) = 0;
  virtual void load_last(StateReader& /*reader*/) {}
};

std::unique_ptr<KnowledgeKeeper> make_keeper(const LearnerSettings& settings, int features,
                                             int actions);

}  // namespace lifeguard
