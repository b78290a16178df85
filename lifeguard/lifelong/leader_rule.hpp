#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/safety/solve/metric_projection.hpp"

namespace lifeguard {

/// The setting of the regret theorem (docs/theorem.md): follow-the-regularised-leader over all
/// rounds of a task, with a Gaussian prior and inside the task's safe set,
///   α_t = argmin { ½‖α - m_t‖²_{P_t⁻¹} + Σ_j l_j(α) : α safe }.
/// The prior of a task is what the leaders of the tasks before it say of tasks, and is fixed at the
/// task's first round; until then the task plays its mean. L is not learnt: α = ᾱ + L s is only how
/// a policy is written down.
class LeaderRule : public LearningRule {
 public:
  LeaderRule(const LearnerSettings& settings, int features, int actions);

  void add_task(const Eigen::VectorXd& anchor) override;
  RoundStatus solve(const LearningRound& round, Knowledge& next) override;
  void accept(const LearningRound& round, const Knowledge& accepted) override;
  std::optional<Eigen::VectorXd> first_policy(const Eigen::VectorXd& anchor) const override;
  std::optional<PolicyPrior> belief_of(int task) const override;
  void save_task(int task, StateWriter& writer) const override;
  void load_task(StateReader& reader) override;

 private:
  struct TaskLosses {
    bool visited = false;
    PolicyPrior prior;            // fixed at the first round
    Eigen::MatrixXd information;  // Σ G_j, blocks of features × features
    Eigen::VectorXd pull;         // Σ G_j (α_j⁺ - m)
    Eigen::VectorXd leader;
  };

  /// What the leaders of the visited tasks say of a task with this anchor; `changed` takes the
  /// place of one of them.
  PolicyPrior belief(const Eigen::VectorXd& anchor, int changed_task,
                     const TaskLosses& changed) const;
  PolicyPrior belief(const Eigen::VectorXd& anchor) const;
  /// The curvature P⁻¹ + Σ G of what the leader minimises.
  Eigen::MatrixXd curvature(const TaskLosses& task) const;
  /// Moves the policy into the safe set, in the given metric.
  void make_safe(const LearningRound& round, int task, const Eigen::MatrixXd& metric,
                 Eigen::VectorXd& policy);

  LeaderSettings settings_;
  bool constrained_;
  double margin_;
  int features_;
  int parameters_;
  std::vector<TaskLosses> tasks_;
  std::vector<Eigen::VectorXd> anchors_;
  TaskLosses next_;  // of the observed task, until the round is accepted
  MetricProjection projection_;
};

}  // namespace lifeguard
