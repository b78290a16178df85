#pragma once

#include <Eigen/Core>

#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

/// One policy for all tasks, stepped in every round: α_t = ᾱ_t + δ with one δ. Simple, and hard to
/// beat where tasks differ little.
class SharedLearner : public PolicyLearner {
 public:
  /// No tasks yet.
  SharedLearner(int features, int actions, const SharedSettings& settings = {});

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override {
    alpha = anchors_.col(task) + shift_;
  }
  void write_state(std::ostream& out) const override;
  void read_state(std::istream& in) override;

 private:
  void append_task(const Eigen::VectorXd& anchor) override;
  RoundStatus update(int task, const RoundLoss& loss) override;

  Eigen::MatrixXd anchors_;  // ᾱ_t, d × T
  Eigen::VectorXd shift_;    // δ
};

}  // namespace lifeguard
