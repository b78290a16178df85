#pragma once

#include <Eigen/Core>

#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

/// One policy for all tasks, stepped in every round: α_t = ᾱ_t + δ with one δ. Simple, and hard to
/// beat where tasks differ little.
class SharedLearner : public PolicyLearner {
 public:
  SharedLearner(int features, int actions, const RoundSettings& round = {});

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override {
    alpha = anchors_.col(task) + shift_;
  }
  void write_state(std::ostream& out) const override;
  void read_state(std::istream& in) override;

 private:
  void append_task(const Eigen::VectorXd& anchor, const SafeSet* safe_set) override;
  RoundStatus update(int task, const RoundLoss& loss, SafeguardRecord& safeguard) override;

  Eigen::MatrixXd anchors_;  // ᾱ_t, d × T
  Eigen::VectorXd shift_;    // δ
};

}  // namespace lifeguard
