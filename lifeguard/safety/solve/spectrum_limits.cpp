#include "lifeguard/safety/solve/spectrum_limits.hpp"

#include <Eigen/SVD>
#include <cmath>

namespace lifeguard {

bool SpectrumLimits::hold(const Eigen::MatrixXd& basis) {
  return basis.allFinite() && verifier_.inside(basis, p_, q_);
}

SingularValueRange SpectrumLimits::range(const Eigen::MatrixXd& basis) const {
  const double reserve = SpectrumVerifier::reserve(basis.rows(), basis.cols(), q_);
  return {std::sqrt(p_ + reserve), std::sqrt(q_ - reserve)};
}

void SpectrumLimits::impose(Eigen::MatrixXd& basis) {
  if (hold(basis)) return;
  const auto [low, high] = range(basis);
  clip_.restart();
  if (basis.allFinite() && clip_.compute(basis, low, high) && hold(clip_.result())) {
    basis = clip_.result();
    return;
  }
  if (basis.allFinite()) {  // singular: a full decomposition finds directions for the missing ones
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(basis, Eigen::ComputeThinU | Eigen::ComputeThinV);
    basis = svd.matrixU() * svd.singularValues().cwiseMax(low).cwiseMin(high).asDiagonal() *
            svd.matrixV().transpose();
    if (hold(basis)) return;
  }
  // Algorithm 1 of the paper starts from diag(ζ) with p ≤ ζ² ≤ q.
  basis.setIdentity();
  basis *= std::sqrt(0.5 * (p_ + q_));
}

}  // namespace lifeguard
