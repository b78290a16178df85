#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/lifelong/gradient_memory.hpp"
#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/lifelong/linearised.hpp"
#include "lifeguard/safety/solve/metric_projection.hpp"

namespace lifeguard {

/// Mirror descent in the round's metric (LinearisedUpdate): a share of the observed task's step
/// reaches all tasks, the rest is the task's own and pools the gradients of its last rounds. A task
/// that others led astray goes back to its cheapest policy, or to its anchor.
class LinearisedRule : public LearningRule {
 public:
  LinearisedRule(const LearnerSettings& settings, int features, int actions);

  void add_task(const Eigen::VectorXd& anchor) override;
  RoundStatus solve(const LearningRound& round, Knowledge& next) override;
  void accept(const LearningRound& round) override;
  void save_task(int task, StateWriter& writer) const override;
  void load_task(StateReader& reader) override;

 private:
  /// What is remembered of a task.
  struct Memory {
    GradientMemory gradients;
    /// Surely reached in one of its rounds, and the policy that had it; infinite before.
    double lowest_cost = kInfinity;
    Eigen::VectorXd lowest_policy;
    bool takes_part = true;  // in common steps
  };

  int tasks() const { return static_cast<int>(memories_.size()); }
  /// Fills steps_: how far each task's policy wants to go.
  void choose_steps(const LearningRound& round);
  /// The policy whose data the round speaks of; policy_ if it does not say.
  const Eigen::VectorXd& gathered_with(const LearningRound& round) const;
  /// Shortens steps_ to the safe sets, in the round's metric.
  void limit_steps(const LearningRound& round);
  bool far_above(double cost, double reference) const;
  /// The task costs far more than it did before.
  bool astray(const LearningRound& round) const;
  /// The task costs far more than any other ever did, the batch does not say which way is better,
  /// and its anchor was not tried in this case before.
  bool lost(const LearningRound& round) const;

  LinearisedSettings settings_;
  double shrinkage_floor_;
  bool limited_;          // by the safe sets
  double solver_margin_;  // of their bounds
  int features_;
  int parameters_;
  std::vector<Memory> memories_;
  // The observed task after this round.
  GradientMemory next_gradients_;
  bool next_takes_part_ = true;
  // Workspace.
  Eigen::MatrixXd metric_factor_;  // features × features
  Eigen::VectorXd policy_;         // of the observed task
  Eigen::VectorXd step_;
  Eigen::VectorXd own_step_;  // by the gradients of several rounds
  Eigen::MatrixXd steps_;     // that the policies of all tasks take, d × T
  MetricProjection metric_projection_;
  LinearisedUpdate update_;
};

}  // namespace lifeguard
