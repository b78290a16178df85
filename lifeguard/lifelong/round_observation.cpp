#include "lifeguard/lifelong/round_observation.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// x ← G⁻¹ x, with `block` as memory. False if a block is not positive definite.
bool solve_in_place(const Eigen::MatrixXd& blocks, Eigen::MatrixXd& block, Eigen::VectorXd& x) {
  const Eigen::Index width = blocks.cols();
  const Eigen::Index alike = x.size() / width / different_blocks(blocks);
  for (Eigen::Index b = 0; b < different_blocks(blocks); ++b) {
    block = action_block(blocks, b);
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(block);
    if (factor.info() != Eigen::Success) return false;
    for (Eigen::Index a = b * alike; a < (b + 1) * alike; ++a) {
      auto part = x.segment(a * width, width);
      factor.solveInPlace(part);
    }
  }
  return true;
}

/// The mean of the blocks' traces.
double mean_trace(const Eigen::MatrixXd& blocks) {
  double sum = 0;
  const Eigen::Index count = different_blocks(blocks);
  for (Eigen::Index b = 0; b < count; ++b) sum += action_block(blocks, b).trace();
  return sum / static_cast<double>(count);
}

}  // namespace

bool RoundObservation::look_at(const RoundLoss& loss, const Eigen::VectorXd& played,
                               const Eigen::MatrixXd& mean_curvature, double common_damping) {
  noise_share = std::isnan(loss.noise_share) ? 1.0 : loss.noise_share;
  noise_share = std::clamp(noise_share, kLeastNoiseShare, 1.0);
  const bool tells_gradient = loss.cost_gradient.size() == played.size() &&
                              loss.natural_norm_squared > 0 && loss.radius > 0;
  direction = played;
  if (tells_gradient) direction = -loss.cost_gradient;
  if (!solve_in_place(loss.curvature, block_, direction)) return false;
  by_critic = loss.newton_step.size() == played.size() && loss.radius > 0;
  if (by_critic) {
    direction = loss.newton_step;
    weighed_.resize(played.size());
    apply_curvature(loss.curvature, direction, weighed_);
    norm_squared = direction.dot(weighed_);
    if (!(norm_squared > 0)) return false;
    noise_norm = norm_squared;
    newton_step = 1;
    trust_step = std::sqrt(2 * loss.radius / norm_squared);
    shrinkage = loss.shrinkage;
    radius = loss.trust_region;
    return true;
  }
  if (!tells_gradient) {
    // All that this base learner says is where to go.
    direction = loss.target - played;
    weighed_.resize(played.size());
    apply_curvature(loss.curvature, direction, weighed_);
    norm_squared = noise_norm = direction.dot(weighed_);
    trust_step = newton_step = shrinkage = 1;
    radius = 0.5 * norm_squared;
    return std::isfinite(norm_squared);
  }
  norm_squared = noise_norm = -loss.cost_gradient.dot(direction);
  if (!(norm_squared > 0)) return false;
  if (common_damping > 0 && !damp_direction(loss, mean_curvature, common_damping)) return false;
  const auto step_of = [&](double nats) { return std::sqrt(2 * nats / norm_squared); };
  trust_step = step_of(loss.radius);
  newton_step = loss.newton_radius > 0 ? step_of(loss.newton_radius) : trust_step;
  shrinkage = loss.shrinkage;
  radius = loss.trust_region > 0 ? loss.trust_region : loss.radius;
  return true;
}

bool RoundObservation::damp_direction(const RoundLoss& loss, const Eigen::MatrixXd& mean_curvature,
                                      double common_damping) {
  if (mean_curvature.size() == 0) return true;  // nothing is known of other rounds
  // -(G + c τ Ḡ)⁻¹ĝ with τ = tr G / tr Ḡ, as long in the metric G as -G⁻¹ĝ.
  const double weight = common_damping * mean_trace(loss.curvature) / mean_trace(mean_curvature);
  if (!std::isfinite(weight)) return false;
  damped_ = weight * mean_curvature;
  add_blocks(1, damped_, loss.curvature);
  direction = -loss.cost_gradient;
  if (!solve_in_place(damped_, block_, direction)) return false;
  weighed_.resize(direction.size());
  apply_curvature(loss.curvature, direction, weighed_);
  const double square = direction.dot(weighed_);
  if (!(square > 0)) return false;
  direction *= std::sqrt(norm_squared / square);
  return true;
}

double RoundObservation::noise_of(double step) const {
  const auto parameters = static_cast<double>(direction.size());
  return std::max(1e-300, step * step * noise_share * noise_norm / parameters);
}

}  // namespace lifeguard
