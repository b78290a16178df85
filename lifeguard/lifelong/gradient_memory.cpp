#include "lifeguard/lifelong/gradient_memory.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

bool GradientMemory::add(double memory, const RoundLoss& loss) {
  const double round_noise = loss.noise_share * loss.natural_norm_squared;
  if (loss.cost_gradient.size() != gradient.size() || !(round_noise > 0) ||
      !std::isfinite(round_noise)) {
    return false;
  }
  gradient = memory * gradient + loss.cost_gradient / std::sqrt(round_noise);
  add_blocks(memory, metric, loss.curvature);
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

bool GradientMemory::step(const RoundLoss& loss, Eigen::MatrixXd& factor, Eigen::VectorXd& curved,
                          Eigen::VectorXd& step) const {
  const Eigen::Index width = metric.cols();
  const Eigen::Index different = different_blocks(metric);
  const Eigen::Index alike = gradient.size() / width / different;  // actions that share a block
  step = gradient;
  for (Eigen::Index b = 0; b < different; ++b) {
    factor = action_block(metric, b) / weight;
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(factor);
    if (cholesky.info() != Eigen::Success) return false;
    for (Eigen::Index a = b * alike; a < (b + 1) * alike; ++a) {
      auto block = step.segment(a * width, width);
      cholesky.solveInPlace(block);
    }
  }
  const double q = gradient.dot(step);
  if (!(q > 0)) return false;
  step *= -std::sqrt(2 * loss.radius / q) * std::max(loss.shrinkage_floor, 1 - noise / q);
  curved.resize(step.size());
  apply_curvature(loss.curvature, step, curved);
  const double length = 0.5 * step.dot(curved);
  if (length > loss.radius) step *= std::sqrt(loss.radius / length);
  return true;
}

}  // namespace lifeguard
