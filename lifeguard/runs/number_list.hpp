#pragma once

#include <Eigen/Core>
#include <vector>

namespace lifeguard {

/// A vector as what JSON takes for a list.
inline std::vector<double> number_list(const Eigen::VectorXd& values) {
  return {values.begin(), values.end()};
}

}  // namespace lifeguard
