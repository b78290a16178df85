#pragma once

#include <vector>

#include "lifeguard/lifelong/alternation.hpp"
#include "lifeguard/lifelong/learning_rule.hpp"
#include "lifeguard/lifelong/objective.hpp"

namespace lifeguard {

/// The paper's form: the losses of each task's rounds are summed, q_t ← ρ q_t + l_j, and L and S
/// are updated in turn on all of them.
class AlternatingRule : public LearningRule {
 public:
  AlternatingRule(const LearnerSettings& settings, int features, int actions);

  const std::vector<SummedLoss>& losses() const { return losses_; }

  void add_task(const Eigen::VectorXd& anchor) override;
  RoundStatus solve(const LearningRound& round, Knowledge& next) override;
  void accept(const LearningRound& round, const Knowledge& accepted) override;
  void save_task(int task, StateWriter& writer) const override;
  void load_task(StateReader& reader) override;

 private:
  AlternationSettings alternation_settings_;
  RegularisationSettings regularisation_;
  double memory_;
  int features_;
  int parameters_;
  std::vector<SummedLoss> losses_;  // q_t
  SummedLoss next_loss_;            // of the observed task, with this round
  Alternation alternation_;
};

}  // namespace lifeguard
