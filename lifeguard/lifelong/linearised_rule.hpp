#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/lifelong/gradient_memory.hpp"
#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/lifelong/linearised.hpp"
#include "lifeguard/lifelong/retreat.hpp"
#include "lifeguard/lifelong/step_limits.hpp"

namespace lifeguard {

/// Mirror descent in the round's metric (LinearisedUpdate): a share of the observed task's step
/// reaches all tasks, the rest is the task's own and pools the gradients of its last rounds. A task
/// that others led astray goes back to its cheapest policy, or to its anchor.
class LinearisedRule : public LearningRule {
 public:
  LinearisedRule(const LearnerSettings& settings, int features, int actions);

  void add_task(const Eigen::VectorXd& anchor) override;
  RoundStatus solve(const LearningRound& round, Knowledge& next) override;
  void accept(const LearningRound& round, const Knowledge& accepted) override;
  void save_task(int task, StateWriter& writer) const override;
  void load_task(StateReader& reader) override;

 private:
  int tasks() const { return static_cast<int>(memories_.size()); }
  /// Fills steps_: how far each task's policy wants to go.
  void choose_steps(const LearningRound& round);
  /// The policy whose data the round speaks of; policy_ if it does not say.
  const Eigen::VectorXd& gathered_with(const LearningRound& round) const;

  LinearisedSettings settings_;
  int features_;
  int parameters_;
  std::vector<GradientMemory> memories_;  // one for each task
  Retreat retreat_;
  // The observed task after this round.
  GradientMemory next_gradients_;
  bool next_takes_part_ = true;
  // Workspace.
  Eigen::MatrixXd metric_factor_;  // features × features
  Eigen::VectorXd policy_;         // of the observed task
  Eigen::VectorXd step_;
  Eigen::VectorXd own_step_;  // by the gradients of several rounds
  Eigen::VectorXd curved_;
  Eigen::MatrixXd steps_;  // that the policies of all tasks take, d × T
  StepLimits limits_;
  LinearisedUpdate update_;
};

}  // namespace lifeguard
