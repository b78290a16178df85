#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// ẋ = A x + B u in continuous time, or x⁺ = A x + B u in discrete time, in deviations from an
/// equilibrium.
struct LinearModel {
  Eigen::MatrixXd a;
  Eigen::MatrixXd b;
};

}  // namespace lifeguard
