#include "lifeguard/base_learners/critic_step.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// No step is believed to be without error: that of the model is in no residual.
constexpr double kLeastCriticNoise = 0.02;

/// Both are estimates: the gradient is preferred where its share of noise is less than this part of
/// the critic's.
constexpr double kMuchSurer = 0.5;

double norm_squared(const Eigen::MatrixXd& blocks, const Eigen::VectorXd& x) {
  const Eigen::Index width = blocks.cols();
  double sum = 0;
  for (Eigen::Index a = 0; a < x.size() / width; ++a) {
    const auto part = x.segment(a * width, width);
    sum += part.dot(action_block(blocks, a) * part);
  }
  return sum;
}

/// gᵀG⁻¹g.
double dual_norm_squared(const Eigen::MatrixXd& blocks, const Eigen::VectorXd& x) {
  const Eigen::Index width = blocks.cols();
  double sum = 0;
  for (Eigen::Index a = 0; a < x.size() / width; ++a) {
    const auto part = x.segment(a * width, width);
    sum += part.dot(action_block(blocks, a).llt().solve(part));
  }
  return sum;
}

/// Live steps as a share of those of a batch without cuts.
double observed_share(const Trajectories& t) {
  if (t.cut_short() == 0) return 1;
  std::vector<double> costs(static_cast<std::size_t>(t.count()));
  std::vector<double> live(costs.size());
  complete_totals(t, costs.data(), live.data());
  double lived = 0;
  for (int i = 0; i < t.count(); ++i) lived += t.length(i);
  return lived / std::accumulate(live.begin(), live.end(), 0.0);
}

}  // namespace

bool take_critic_step(const Trajectories& trajectories, const GaussianPolicy& played,
                      const ActionRange& range, const RoundSettings& settings, double radius,
                      BaseLearnerWorkspace& workspace, RoundLoss& loss) {
  const BaseLearnerSettings& base = settings.base_learner;
  if (base.critic == CriticUse::none || base.loss_scale != LossScale::metric ||
      loss.status == RoundLossStatus::no_signal) {
    return false;
  }
  const bool chosen_by_noise = base.critic == CriticUse::automatic;
  // What unknown limits do to actions a model would take for the machine's own doing, and no
  // estimate of noise says so.
  if (chosen_by_noise && !range.known()) return false;
  const double* weights =
      trajectories.cut_short() > 0 ? workspace.advantages.step_weights.data() : nullptr;
  ModelCritic& critic = workspace.critic;
  if (!critic.fit(trajectories, played, range, weights)) return false;
  const Eigen::VectorXd& newton = critic.newton_step();
  const double q = norm_squared(loss.curvature, newton);
  if (!(q > 0) || !std::isfinite(q)) return false;
  const double share = std::max(kLeastCriticNoise, critic.step_noise(loss.curvature) / q);
  if (!std::isfinite(share)) return false;
  if (chosen_by_noise && kMuchSurer * std::min(1.0, share) > loss.noise_share) return false;
  if (!critic.planned()) {
    const Eigen::VectorXd gradient =
        critic.cost_gradient() / (trajectories.steps() * observed_share(trajectories));
    const double gradient_norm = dual_norm_squared(loss.curvature, gradient);
    if (!(gradient_norm > 0) || !std::isfinite(gradient_norm)) return false;
    loss.cost_gradient = gradient;
    loss.natural_norm_squared = gradient_norm;
  }
  loss.newton_step = newton;
  double length = 0;
  double noise = 0;
  if (critic.couple_actions(loss.curvature, loss.action_coupling, length, noise)) {
    loss.coupled_noise_share = std::max(kLeastCriticNoise, noise / length);
  }
  loss.noise_share = share;
  loss.shrinkage = std::max(loss.shrinkage_floor, 1.0 - share);
  const AdaptationSettings& adaptation = settings.adaptation;
  double scale = std::sqrt(2 * radius * sure_growth(adaptation.sure_noise_share, share) / q);
  loss.trust_region = radius;
  loss.newton_radius = kNaN;
  if (adaptation.newton_limit > 0) {
    const double limit = adaptation.newton_limit;
    loss.newton_radius = 0.5 * limit * limit * q;
    scale = std::min(scale, limit);
  }
  loss.radius = 0.5 * scale * scale * q;
  const double step = scale * loss.shrinkage;
  loss.target = loss.played + step * newton;
  loss.step_kl = 0.5 * step * step * q;
  return true;
}

}  // namespace lifeguard
