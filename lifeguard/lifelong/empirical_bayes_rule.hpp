#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lifeguard/lifelong/empirical_bayes_state.hpp"
#include "lifeguard/lifelong/knowledge_keeper.hpp"
#include "lifeguard/lifelong/retreat.hpp"
#include "lifeguard/lifelong/round_observation.hpp"
#include "lifeguard/lifelong/task_prior.hpp"
#include "lifeguard/safety/solve/metric_projection.hpp"

namespace lifeguard {

/// α_t = m + L s_t with an L that is learnt: tasks are draws of N(m, P), L = P^½, and a round is an
/// observation Δ = -G⁻¹ĝ/c of where the task's own optimum lies from the policy that was played,
/// with the covariance r G⁻¹ of its noise (docs/learning.md). What a round says of a task is
/// weighed against what the tasks before it say of tasks; what all of them say is m and P.
///
/// Early on the steps of different tasks agree, and a share w of each reaches all of them; w is how
/// far they still agree. A step of one task alone is filtered by its posterior first and cut to the
/// trust region after, so that noise uses up none of it.
///
/// A round touches the visited task and what all have in common, whatever the number of tasks. The
/// common steps add up to the common point C, and a task is stored by its place z_t = α_t - C from
/// there, which common steps leave as it is; so does m = C + H moving to the mean of the tasks, or,
/// where they have controllers of their own, to what all rounds together say of it. A policy is
/// made of these, cut to its safe set and proven when it is handed out. No task's constraints
/// concern another one, since a square L expresses every policy.
class EmpiricalBayesRule : public KnowledgeKeeper {
 public:
  EmpiricalBayesRule(const LearnerSettings& settings, int features, int actions);

  void add_tasks(const std::vector<KeptTask>& tasks, long rounds) override;
  void change_task(int task, const KeptTask& changed) override;
  RoundStatus learn(int task, const RoundLoss& loss, long rounds_before) override;
  const SafeguardRecord& last_safeguard() const override { return last_safeguard_; }
  bool policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;
  Eigen::VectorXd anchor(int task) const override { return tasks_[task].anchor; }
  const std::vector<SafeSet>& safe_sets() const override { return safe_sets_; }
  const Knowledge& knowledge() const override;
  Certificate certificate() const override;
  std::optional<TaskBeliefs> beliefs() const override;
  std::optional<TaskPosterior> posterior(int task) const override;
  void inject_faults(FaultInjection faults) override;
  void inject_refusals(LastLookInjection refuses) override;
  const Eigen::MatrixXd& basis() const override { return shared_.prior.basis(); }
  void save_first(StateWriter& writer) const override;
  void save_task(int task, StateWriter& writer) const override;
  void save_last(StateWriter& writer) const override;
  void load_first(StateReader& reader, Eigen::MatrixXd basis, int tasks) override;
  void load_task(StateReader& reader, const SafeSet& set) override;
  void load_last(StateReader& reader) override;

 private:
  /// A policy as it leaves: α = ᾱ + L s, and what is proven of it.
  struct HandedOut {
    int task = -1;  // none
    Eigen::VectorXd policy;
    Eigen::VectorXd coefficients;
    Eigen::VectorXd error;  // |policy - (ᾱ + L s)| is at most this, in whatever order it is summed
    double retraction = 1;  // how far it was taken back towards the anchor to be proven
    bool refused = false;   // nothing could be proven: it is the anchor
  };

  int actions() const { return parameters_ / features_; }
  int tasks() const { return static_cast<int>(tasks_.size()); }
  /// o of a task, and of the one that is being observed, which is not settled.
  const Eigen::VectorXd& origin(int task) const {
    if (!retreat_.takes_part(task)) return zero_;
    return tasks_[task].settled ? tasks_[task].settled_at : shared_.common;
  }
  const Eigen::VectorXd& next_origin() const { return next_takes_part_ ? next_.common : zero_; }
  /// Common steps reach the observed task again, which does not move.
  void unsettle();
  /// How far towards m a task that was never visited goes from its anchor: the multiple of the way
  /// there that is nearest to the ways the others went. Where tasks begin with controllers of their
  /// own, which work, as far as nearly all of the others went.
  double trust_in_mean() const;
  /// Whether policies of the task have to be proven.
  bool guarded(int task) const;

  // A round. Nothing of it is part of the learner before commit().

  /// The noise share of a critic's step by what its own groups of trajectories say and what the
  /// rounds before had.
  void pool_noise(double share);
  /// How actions work together, by what the rounds of critics say. Returns the noise share of the
  /// step, in the metric that is known then.
  double learn_coupling(const RoundLoss& loss);
  /// moved_ ← (P⁻¹ + H̄A)⁻¹ H̄ moved_, as it was factorised.
  void solve_evidence(const Eigen::MatrixXd& information);
  /// The observed task goes where it was before, and its belief says so.
  void return_to(const Eigen::VectorXd& policy, const RoundLoss& loss);
  /// Whether it costs far more than the others did lately, has gained far less since its first
  /// round, and does not get better.
  bool stuck(int task, const RoundLoss& loss) const;
  /// A task whose own steps lead nowhere tries another place: where another task is, or on its way
  /// back to its anchor, in turns.
  const Eigen::VectorXd& another_place(int task);
  bool learn_from(int task, const RoundLoss& loss, long rounds_before, double rate);
  /// w, how much of the step is common to all tasks: the agreement with the steps before.
  double agreement_after(int task, const Eigen::VectorXd& step);
  /// The posterior of the observed task after the round, of which m has taken a share.
  bool move_own_part(const RoundLoss& loss, double share);
  /// Makes the evidence of next_belief_ that of the place (1), or of the deviation from m (-1).
  void shift_evidence(double sign, const Eigen::VectorXd& mean);
  /// Factorises P⁻¹ + H̄A.
  bool factorise(const TaskPrior& prior, const Eigen::MatrixXd& information);
  /// next_belief_ is where next_policy_ is; the sums know it.
  void place(int task);
  /// m moves to the mean of the visited tasks, or to what weigh_mean() finds. No policy of theirs
  /// moves. False if there is no such m.
  bool centre();
  /// The most likely mean of the changes that tasks with controllers of their own need. False if
  /// there is none.
  bool weigh_mean();
  bool learns_prior_in(long round) const;
  bool learn_prior();
  void commit(int task, const RoundLoss& loss);

  // Handing out. mutex_ is held.

  const HandedOut& handed_out(int task) const;
  /// Where the task would be without constraints.
  void wanted(int task, Eigen::VectorXd& policy) const;
  /// Cuts it to the task's safe set in the given metric.
  CoefficientPath cut(int task, const Eigen::MatrixXd& metric, Eigen::VectorXd& policy) const;
  const Margins& margins_of(int task, const HandedOut& handed) const;

  EmpiricalBayesSettings settings_;
  ProjectionSettings projection_settings_;
  double sure_noise_share_;
  bool whole_steps_;  // the base learner does not shorten steps for their noise, nor does the prior
  int directions_;    // of L_k
  int features_;
  int parameters_;
  Eigen::VectorXd zero_;
  Retreat retreat_;
  std::deque<TaskBelief> tasks_;
  std::vector<SafeSet> safe_sets_;
  /// Whether tasks begin with controllers of their own. Then no step is common; what the others
  /// know reaches a task through the prior, and before its first round through m.
  bool own_controllers_ = false;
  SharedBelief shared_;
  SafeguardRecord last_safeguard_;
  FaultInjection faults_;
  LastLookInjection refuses_;
  // This round's, until it is accepted.
  TaskBelief next_belief_;
  SharedBelief next_;
  Eigen::VectorXd next_policy_;
  bool next_takes_part_ = true;
  // Workspace of a round.
  RoundObservation observation_;
  Eigen::VectorXd policy_;  // of the observed task
  Eigen::VectorXd played_;
  Eigen::VectorXd mean_;  // m before the round
  Eigen::VectorXd step_, deviation_, newton_, moved_, whole_, weighed_;
  Eigen::MatrixXd scaled_;  // G / r
  Eigen::MatrixXd block_;
  Eigen::MatrixXd system_;
  Eigen::LLT<Eigen::MatrixXd> factor_{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::MatrixXd covariance_;
  Eigen::MatrixXd coupled_;
  Eigen::VectorXd coupled_evidence_;
  TaskPrior::Workspace prior_workspace_;
  // What was handed out last, until something changes, and all of it if somebody asked.
  mutable std::mutex mutex_;
  mutable HandedOut handed_out_;
  mutable std::optional<Knowledge> knowledge_;
  mutable MetricProjection projection_;
  mutable MarginWorkspace margins_;
  mutable Eigen::VectorXd from_anchor_;
};

}  // namespace lifeguard
