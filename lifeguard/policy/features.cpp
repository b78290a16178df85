#include "lifeguard/policy/policy.hpp"

#include "lifeguard/core/check.hpp"

namespace lifeguard {

Eigen::VectorXd Features::evaluate(const Eigen::VectorXd& state,
                                   const Eigen::VectorXd& goal) const {
  require_size("goal", goal.size(), state.size());
  const int states = static_cast<int>(state.size());
  const Eigen::VectorXd error = state - goal;
  Eigen::VectorXd features(count(states));
  features.head(states) = error;
  int next = states;
  if (bias) features(next++) = 1.0;
  if (second_order) {
    for (int i = 0; i < states; ++i) {
      for (int j = i; j < states; ++j) features(next++) = error(i) * error(j);
    }
  }
  return features;
}

}  // namespace lifeguard
