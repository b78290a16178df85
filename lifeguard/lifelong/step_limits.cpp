#include "lifeguard/lifelong/step_limits.hpp"

namespace lifeguard {

void StepLimits::cut(const LearningRound& round, Eigen::MatrixXd& steps) {
  if (!active_) return;
  policy_.resize(steps.rows());
  for (int t = 0; t < static_cast<int>(steps.cols()); ++t) {
    if (!round.safe_sets[t].constrained()) continue;
    round.knowledge.policy_parameters(t, policy_);
    wanted_ = policy_ + steps.col(t);
    const CoefficientPath path = projection_.project(
        round.safe_sets[t], round.knowledge.anchors.col(t), round.loss.curvature, margin_, wanted_);
    if (path != CoefficientPath::inside) steps.col(t) = wanted_ - policy_;
  }
}

}  // namespace lifeguard
