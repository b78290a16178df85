#pragma once

#include <Eigen/Core>
#include <array>

namespace lifeguard {

/// Points in the plane of their two largest principal components.
struct PrincipalPlane {
  Eigen::Matrix2Xd places;                // one column for each point
  std::array<double, 2> shares = {0, 0};  // of the variance
};

/// Of the columns of `values`.
PrincipalPlane principal_plane(const Eigen::MatrixXd& values);

}  // namespace lifeguard
