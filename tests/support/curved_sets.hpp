// Random sets of gains with matrix inequalities.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::test_support {

/// Gains for which some random plants contract by `decay` in one norm, and each action stays small;
/// and one of them that is strictly inside.
struct CurvedSet {
  SafeSet set;
  Eigen::VectorXd inside;
  int features;
  int actions;
};

inline CurvedSet random_curved_set(Draws& draws, int features, int actions, int plants) {
  const Eigen::MatrixXd gains = draws.normals(actions, features);
  const Eigen::MatrixXd root = draws.normals(features, features);
  Eigen::MatrixXd norm =
      root * root.transpose() / features + Eigen::MatrixXd::Identity(features, features);
  norm = (0.5 * (norm + norm.transpose())).eval();
  const Eigen::MatrixXd factor = norm.llt().matrixU();
  std::vector<GainInequality> inequalities;
  for (int i = 0; i < plants; ++i) {
    const Eigen::MatrixXd b = draws.normals(features, actions);
    // The closed loop of `gains` has this norm, at most.
    Eigen::MatrixXd closed = draws.normals(features, features);
    closed *= draws.uniform(0.3, 0.9) / (factor * closed * factor.inverse()).norm();
    Eigen::MatrixXd stacked(features, features + actions);
    stacked << closed - b * gains, b;
    Eigen::MatrixXd theta = stacked.transpose() * norm * stacked;
    theta = (0.5 * (theta + theta.transpose())).eval();
    inequalities.emplace_back("plant " + std::to_string(i), theta, norm);
  }
  for (int a = 0; a < actions; ++a) {
    Eigen::MatrixXd theta = Eigen::MatrixXd::Zero(features + actions, features + actions);
    theta(features + a, features + a) = 1;
    const double reach = gains.row(a).norm() * draws.uniform(1.1, 2.0);
    inequalities.emplace_back("action " + std::to_string(a), theta, reach * reach * norm);
  }
  return {SafeSet(features * actions).with_inequalities(inequalities), parameters_from_gains(gains),
          features, actions};
}

/// A policy on the boundary of the set, or a part of the way to it, in a random direction.
inline Eigen::VectorXd random_inside(Draws& draws, const CurvedSet& curved, double part) {
  const Eigen::VectorXd direction = draws.normals(curved.inside.size(), 1);
  double low = 0;
  double high = 1;
  while (strictly_safe(curved.set, curved.inside + high * direction)) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (strictly_safe(curved.set, curved.inside + middle * direction) ? low : high) = middle;
  }
  return curved.inside + part * low * direction;
}

}  // namespace lifeguard::test_support
