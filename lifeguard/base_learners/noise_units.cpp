#include "lifeguard/base_learners/noise_units.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void NoiseUnits::assign(const Trajectories& from, const GaussianPolicy& policy) {
  factors.resize(policy.actions());
  for (int a = 0; a < policy.actions(); ++a) {
    factors(a) = policy.sigma(0) / policy.sigma(a);
    if (std::isnormal(factors(a) * factors(a)) && std::isnormal(1 / factors(a))) continue;
    require(false, indexed("sigma", a), policy.sigma(a),
            fmt::format("must be nearer to that of the first action, {}", policy.sigma(0)));
  }
  trajectories = from;
  for (int m = 0; m < from.steps(); ++m) {
    for (int a = 0; a < from.actions(); ++a) {
      double* row = trajectories.action_row(m, a);
      for (std::size_t i = 0; i < from.stride(); ++i) row[i] *= factors(a);
    }
  }
  played = GaussianPolicy(factors.asDiagonal() * policy.gains(), policy.sigma(0));
  // Where a trajectory has ended all of its numbers are zero, and its noise as well.
  squares.setZero(policy.actions());
  noise_.resize(from.count());
  for (int m = 0; m < from.steps(); ++m) {
    for (int a = 0; a < from.actions(); ++a) {
      noise_ = Eigen::Map<const Eigen::ArrayXd>(trajectories.action_row(m, a), from.count());
      for (int f = 0; f < from.features(); ++f) {
        noise_ -= played.gains()(a, f) *
                  Eigen::Map<const Eigen::ArrayXd>(trajectories.feature_row(m, f), from.count());
      }
      squares(a) += noise_.square().sum();
    }
  }
}

void NoiseUnits::restore(RoundLoss& loss) const {
  const Eigen::MatrixXd block = loss.curvature;
  const Eigen::Index width = block.cols();
  loss.curvature.resize(factors.size() * width, width);
  for (Eigen::Index a = 0; a < factors.size(); ++a) {
    const double factor = factors(a);
    loss.curvature.middleRows(a * width, width) = (factor * factor) * block;
    loss.target.segment(a * width, width) /= factor;
    loss.played.segment(a * width, width) /= factor;
    loss.cost_gradient.segment(a * width, width) *= factor;
  }
}

}  // namespace lifeguard
