#pragma once

#include <Eigen/Core>
#include <memory>
#include <string_view>

#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

class SettingVisitor;

/// Settings of IndependentLearner.
struct IndependentSettings {
  static constexpr std::string_view kMethod = "pg";
  RoundSettings round;
  /// Trajectories of a round beyond those of the other methods. The learner takes what it is given;
  /// whoever plays it looks here.
  int extra_trajectories = 50;

  /// A learner with these settings, without tasks.
  std::unique_ptr<PolicyLearner> make(int features, int actions) const;
  /// The table [pg].
  void visit(SettingVisitor& visitor);
  void validate(int parameters) const;
};

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
