#pragma once

#include <Eigen/Core>
#include <memory>
#include <string_view>

#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

class SettingVisitor;

/// Settings of SharedLearner.
struct SharedSettings {
  static constexpr std::string_view kMethod = "shared";
  RoundSettings round;

  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The table [shared].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
};

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
