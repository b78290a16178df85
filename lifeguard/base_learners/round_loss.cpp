#include "lifeguard/base_learners/round_loss.hpp"

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

double RoundLoss::value(const Eigen::VectorXd& alpha) const {
  require_size("alpha", alpha.size(), target.size());
  const Eigen::Index width = curvature.cols();
  double sum = 0;
  for (Eigen::Index start = 0; start < target.size(); start += width) {
    const auto block = action_block(curvature, start / width);
    for (Eigen::Index i = 0; i < width; ++i) {
      double row = 0;
      for (Eigen::Index j = 0; j < width; ++j) {
        row += block(j, i) * (alpha(start + j) - target(start + j));
      }
      sum += (alpha(start + i) - target(start + i)) * row;
    }
  }
  return 0.5 * sum + constant;
}

Eigen::VectorXd RoundLoss::gradient(const Eigen::VectorXd& alpha) const {
  require_size("alpha", alpha.size(), target.size());
  const Eigen::Index width = curvature.cols();
  Eigen::VectorXd result(target.size());
  for (Eigen::Index start = 0; start < target.size(); start += width) {
    result.segment(start, width).noalias() =
        action_block(curvature, start / width) *
        (alpha.segment(start, width) - target.segment(start, width));
  }
  return result;
}

}  // namespace lifeguard
