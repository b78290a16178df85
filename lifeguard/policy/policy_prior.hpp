#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// What is believed of a task's policy before the task's first loss: α ~ N(mean, covariance). The
/// covariance has a block for each action as a curvature has (action_blocks.hpp), or is one matrix
/// over all parameters, which is a single block.
struct PolicyPrior {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;

  /// Of equal sizes and numbers.
  bool operator==(const PolicyPrior& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.rows() == b.rows() && a.cols() == b.cols() && a == b;
    };
    return same(mean, other.mean) && same(covariance, other.covariance);
  }
};

}  // namespace lifeguard
