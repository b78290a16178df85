#include "lifeguard/report/principal_plane.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>

namespace lifeguard {

PrincipalPlane principal_plane(const Eigen::MatrixXd& values) {
  const Eigen::MatrixXd centred = values.colwise() - values.rowwise().mean();
  // Of the smaller Gram matrix: few tasks or few parameters make it cheap.
  const bool by_rows = centred.rows() <= centred.cols();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      by_rows ? Eigen::MatrixXd(centred * centred.transpose())
              : Eigen::MatrixXd(centred.transpose() * centred));
  const long count = std::min<long>(2, solver.eigenvalues().size());
  const double total = centred.squaredNorm();
  PrincipalPlane plane;
  plane.places = Eigen::Matrix2Xd::Zero(2, values.cols());
  for (long c = 0; c < count; ++c) {
    const long place = solver.eigenvalues().size() - 1 - c;
    const double variance = std::max(0.0, solver.eigenvalues()(place));
    Eigen::VectorXd direction = solver.eigenvectors().col(place);
    if (!by_rows) direction = (centred * direction).eval();
    if (direction.norm() > 0) direction.normalize();
    // A direction has no sign of its own: its largest entry is positive.
    Eigen::Index largest = 0;
    direction.cwiseAbs().maxCoeff(&largest);
    if (direction(largest) < 0) direction = -direction;
    plane.places.row(c) = direction.transpose() * centred;
    plane.shares[static_cast<std::size_t>(c)] = total > 0 ? variance / total : 0.0;
  }
  return plane;
}

}  // namespace lifeguard
