#include "lifeguard/base_learners/adaptation.hpp"

#include <algorithm>
#include <cmath>

namespace lifeguard {
namespace {

/// With 50 trajectories a round nothing is lost by it; with 400 every direction is sure, and
/// quadrotors that step ten times as far fall for dozens of rounds.
constexpr double kMostGrowth = 8;

}  // namespace

BaseLearnerSettings adapted(const BaseLearnerSettings& base_learner,
                            const AdaptationSettings& adaptation,
                            const Trajectories& trajectories) {
  BaseLearnerSettings settings = base_learner;
  long live = 0;
  int failed = 0;
  for (int i = 0; i < trajectories.count(); ++i) {
    live += trajectories.length(i);
    failed += trajectories.end(i) == EndReason::failed ? 1 : 0;
  }
  if (live <= 0) return settings;
  if (adaptation.failure_horizon > 0) {
    const double share = static_cast<double>(failed) / trajectories.count();
    settings.advantages.discount = 1 - ((1 - share) * (1 - base_learner.advantages.discount) +
                                        share / adaptation.failure_horizon);
  }
  if (adaptation.trust_region_per_step > 0) {
    settings.step.trust_region =
        adaptation.trust_region_per_step * static_cast<double>(live) / trajectories.count();
  }
  return settings;
}

double action_curvature(const Trajectories& t, const PolicyGradient& gradient) {
  long live = 0;
  for (int i = 0; i < t.count(); ++i) live += t.length(i);
  const double samples = static_cast<double>(std::max(1L, live)) * t.actions();
  return std::max(gradient.curvature_sum / samples, 2 * std::sqrt(2 / samples));
}

double sure_growth(double sure_noise_share, double noise_share) {
  if (!(sure_noise_share > noise_share)) return 1;  // nor if it is not known
  return noise_share > 0 ? std::min(sure_noise_share / noise_share, kMostGrowth) : kMostGrowth;
}

void adapt_step(const AdaptationSettings& adaptation, double radius,
                const Trajectories& trajectories, const PolicyGradient& gradient, RoundLoss& loss) {
  if (loss.status == RoundLossStatus::no_signal) return;
  loss.trust_region = loss.radius;
  double scale = std::sqrt(sure_growth(adaptation.sure_noise_share, loss.noise_share));
  if (adaptation.newton_limit > 0) {
    // ĝᵀF⁻¹ĝ in units of the advantages.
    const double q = loss.natural_norm_squared / (loss.cost_unit * loss.cost_unit);
    const double trust_step = std::sqrt(2 * radius / q);
    const double newton_step = adaptation.newton_limit / action_curvature(trajectories, gradient);
    const double newton_scale = newton_step / trust_step;
    loss.newton_radius = loss.radius * newton_scale * newton_scale;
    scale = std::min(scale, newton_scale);
  }
  if (scale == 1) return;
  loss.target = loss.played + scale * (loss.target - loss.played);
  loss.radius *= scale * scale;
  loss.step_kl *= scale * scale;
}

}  // namespace lifeguard
