#pragma once

#include <Eigen/Core>

#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

/// PG: every task learns alone, from its anchor. Nothing is shared.
class IndependentLearner : public PolicyLearner {
 public:
  /// No tasks yet.
  IndependentLearner(int features, int actions, const IndependentSettings& settings = {})
      : PolicyLearner(features, actions, settings.round), policies_(features * actions, 0) {}

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override {
    alpha = policies_.col(task);
  }
  void write_state(std::ostream& out) const override;
  void read_state(std::istream& in) override;

 private:
  void append_task(const Eigen::VectorXd& anchor) override;
  RoundStatus update(int task, const RoundLoss& loss) override;
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }

  Eigen::MatrixXd policies_;  // α_t, d × T
};

}  // namespace lifeguard
