#include "lifeguard/lifelong/gradient_memory.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace lifeguard {

bool GradientMemory::add(double memory, const RoundLoss& loss) {
  const double round_noise = loss.noise_share * loss.natural_norm_squared;
  if (loss.cost_gradient.size() != gradient.size() || !(round_noise > 0) ||
      !std::isfinite(round_noise)) {
    return false;
  }
  gradient = memory * gradient + loss.cost_gradient / std::sqrt(round_noise);
  metric = memory * metric + loss.curvature;
  weight = memory * weight + 1;
  noise = memory * memory * noise + 1;
  return true;
}

void GradientMemory::forget() {
  gradient.setZero();
  metric.setZero();
  weight = 0;
  noise = 0;
}

bool GradientMemory::step(double radius, double floor, Eigen::MatrixXd& factor,
                          Eigen::VectorXd& step) const {
  factor = metric / weight;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(factor);
  if (cholesky.info() != Eigen::Success) return false;
  step = gradient;
  for (Eigen::Index start = 0; start < step.size(); start += metric.rows()) {
    auto block = step.segment(start, metric.rows());
    cholesky.solveInPlace(block);
  }
  const double q = gradient.dot(step);
  if (!(q > 0)) return false;
  step *= -std::sqrt(2 * radius / q) * std::max(floor, 1 - noise / q);
  return true;
}

}  // namespace lifeguard
