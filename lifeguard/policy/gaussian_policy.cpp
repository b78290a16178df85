#include "lifeguard/policy/policy.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

GaussianPolicy::GaussianPolicy(Eigen::MatrixXd gains, PerAction sigma)
    : gains_(std::move(gains)), sigma_(std::move(sigma)) {
  require(gains_.size() > 0, "gains", fmt::format("{} x {}", gains_.rows(), gains_.cols()),
          "must not be empty");
  check();
}

void GaussianPolicy::check() const {
  for (Eigen::Index a = 0; a < gains_.rows(); ++a) {
    for (Eigen::Index f = 0; f < gains_.cols(); ++f) {
      if (std::isfinite(gains_(a, f))) continue;  // names cost memory
      require_finite(fmt::format("gains({}, {})", a, f), gains_(a, f));
    }
  }
  sigma_.require_fits("sigma", gains_.rows());
  require_not_negative("sigma", sigma_);
}

void GaussianPolicy::assign(const Eigen::VectorXd& parameters, const PerAction& sigma) {
  require_size("parameters", parameters.size(), gains_.size());
  gains_ = parameters.reshaped<Eigen::RowMajor>(gains_.rows(), gains_.cols());
  sigma_ = sigma;
  check();
}

GaussianPolicy GaussianPolicy::from_parameters(const Eigen::VectorXd& parameters, int actions,
                                               const PerAction& sigma) {
  return {gains_from_parameters(parameters, actions), sigma};
}

Eigen::VectorXd GaussianPolicy::parameters() const { return parameters_from_gains(gains_); }

Eigen::MatrixXd gains_from_parameters(const Eigen::VectorXd& parameters, int actions) {
  require(actions > 0, "actions", actions, "must be at least 1");
  require(parameters.size() > 0 && parameters.size() % actions == 0, "parameters",
          fmt::format("{} entries", parameters.size()),
          fmt::format("must be a positive multiple of the {} actions", actions));
  return parameters.reshaped<Eigen::RowMajor>(actions, parameters.size() / actions);
}

Eigen::VectorXd parameters_from_gains(const Eigen::MatrixXd& gains) {
  return gains.reshaped<Eigen::RowMajor>();
}

}  // namespace lifeguard
