#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "lifeguard/lifelong/knowledge_keeper.hpp"
#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/lifelong/safeguard.hpp"

namespace lifeguard {

/// (L, S) of all tasks at once, as in the paper: a round's unconstrained (L̃, S̃) may move every
/// policy, and the safeguard projects all of them. A round is linear in the number of tasks.
class CoupledKeeper : public KnowledgeKeeper {
 public:
  CoupledKeeper(const LearnerSettings& settings, int features, int actions);

  void add_tasks(const std::vector<KeptTask>& tasks, long rounds) override;
  void change_task(int task, const KeptTask& changed) override;
  RoundStatus learn(int task, const RoundLoss& loss, long rounds_before) override;
  const SafeguardRecord& last_safeguard() const override { return last_safeguard_; }
  bool policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;
  Eigen::VectorXd anchor(int task) const override { return knowledge_.anchors.col(task); }
  const std::vector<SafeSet>& safe_sets() const override { return safeguard_.safe_sets(); }
  const Knowledge& knowledge() const override { return knowledge_; }
  Certificate certificate() const override { return safeguard_.certify(knowledge_); }
  std::optional<PolicyPrior> belief_of(int task) const override { return rule_->belief_of(task); }
  void inject_faults(FaultInjection faults) override;
  void inject_refusals(LastLookInjection refuses) override;
  const Eigen::MatrixXd& basis() const override { return knowledge_.basis; }
  void save_first(StateWriter& writer) const override;
  void save_task(int task, StateWriter& writer) const override { rule_->save_task(task, writer); }
  void load_first(StateReader& reader, Eigen::MatrixXd basis, int tasks) override;
  void load_task(StateReader& reader, const SafeSet& set) override;
  void save_last(StateWriter& writer) const override { rule_->save_shared(writer); }
  void load_last(StateReader& reader) override { rule_->load_shared(reader); }

 private:
  void append_task(const KeptTask& task);
  /// Whether new tasks begin at s = 0, where they need no projection.
  bool begins_at_anchors(long rounds) const;

  ProjectionSettings settings_;
  Safeguard safeguard_;
  Knowledge knowledge_;
  Knowledge next_;  // the round in the making; it becomes the knowledge at the end or not at all
  std::unique_ptr<LearningRule> rule_;
  SafeguardRecord last_safeguard_;
};

}  // namespace lifeguard
