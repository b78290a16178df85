#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// The feature map Φ(x) of a linear policy. With e = x - goal, the features are, in this order:
///   e_1 … e_n, then 1 if `bias`, then all products e_i e_j (i ≤ j) if `second_order`.
/// With neither, Φ is the state itself, as in the paper's experiments.
struct Features {
  bool bias = false;
  bool second_order = false;

  /// How many features a state of this size has.
  constexpr int count(int states) const {
    return states + (bias ? 1 : 0) + (second_order ? states * (states + 1) / 2 : 0);
  }
  /// Whether Φ(x) = x - goal.
  bool is_state_only() const { return !bias && !second_order; }
  /// Φ(x).
  Eigen::VectorXd evaluate(const Eigen::VectorXd& state, const Eigen::VectorXd& goal) const;

  bool operator==(const Features&) const = default;
};

}  // namespace lifeguard
