#pragma once

#include <Eigen/Core>

#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

/// PG: every task learns alone, from its anchor. Nothing is shared.
class IndependentLearner : public PolicyLearner {
 public:
  IndependentLearner(int features, int actions, const RoundSettings& round = {})
      : PolicyLearner(features, actions, round), policies_(features * actions, 0) {}

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override {
    alpha = policies_.col(task);
  }
  void write_state(std::ostream& out) const override;
  void read_state(std::istream& in) override;

 private:
  void append_task(const Eigen::VectorXd& anchor, const SafeSet* safe_set) override;
  RoundStatus update(int task, const RoundLoss& loss, SafeguardRecord& safeguard) override;
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }

  Eigen::MatrixXd policies_;  // α_t, d × T
};

}  // namespace lifeguard
