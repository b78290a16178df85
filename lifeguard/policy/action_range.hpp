#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// What a machine makes of its actions: each is limited to [low, high] before it acts. Trajectories
/// hold actions as the policy drew them, so a learner that is to understand their effect must be
/// told. A limit may be infinite. Of a machine of which nothing was told the vectors are empty.
struct ActionRange {
  Eigen::VectorXd low;
  Eigen::VectorXd high;

  /// Whether anything was told.
  bool known() const { return low.size() > 0; }
  /// Throws InvalidInput unless both are empty or have a number for each action, low below high.
  void require_fits(int actions) const;
  /// Of equal sizes and numbers.
  bool operator==(const ActionRange& other) const {
    return low.size() == other.low.size() && low == other.low && high.size() == other.high.size() &&
           high == other.high;
  }
};

}  // namespace lifeguard
