#include "lifeguard/lifelong/adaptation.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void AdaptationSettings::validate() const {
  require(failure_horizon == 0 || failure_horizon >= 1, "failure_horizon", failure_horizon,
          "must be 0 or at least 1");
  require_not_negative("trust_region_per_step", trust_region_per_step);
  require_not_negative("newton_limit", newton_limit);
}

BaseLearnerSettings adapted(const BaseLearnerSettings& base_learner,
                            const AdaptationSettings& adaptation,
                            const Trajectories& trajectories) {
  BaseLearnerSettings settings = base_learner;
  long live = 0;
  int failed = 0;
  for (int i = 0; i < trajectories.count(); ++i) {
    live += trajectories.length(i);
    failed += trajectories.length(i) < trajectories.steps() ? 1 : 0;
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

double action_curvature(const Trajectories& t, const GaussianPolicy& played,
                        const double* advantages) {
  // Blocks of trajectories, so that the inner loops run over neighbours in memory.
  constexpr int kBlock = Trajectories::kPadding;
  const double precision = 1 / (played.sigma() * played.sigma());
  double sums[kBlock] = {};
  long live = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const double* row = advantages + static_cast<std::size_t>(m) * t.stride();
    for (int first = 0; first < t.count(); first += kBlock) {
      double squares[kBlock] = {};
      for (int a = 0; a < t.actions(); ++a) {
        double noise[kBlock];
        for (int i = 0; i < kBlock; ++i) noise[i] = t.action_row(m, a)[first + i];
        for (int f = 0; f < t.features(); ++f) {
          const double gain = played.gains()(a, f);
          const double* feature = t.feature_row(m, f) + first;
          for (int i = 0; i < kBlock; ++i) noise[i] -= gain * feature[i];
        }
        for (int i = 0; i < kBlock; ++i) squares[i] += noise[i] * noise[i];
      }
      // Advantages are zero where a trajectory has ended and in the padding.
      for (int i = 0; i < kBlock; ++i) {
        sums[i] += row[first + i] * (squares[i] * precision - t.actions());
      }
    }
  }
  for (int i = 0; i < t.count(); ++i) live += t.length(i);
  double sum = 0;
  for (const double part : sums) sum += part;
  const double samples = static_cast<double>(std::max(1L, live));
  return std::max(sum / (samples * t.actions()), 2 * std::sqrt(2 / (samples * t.actions())));
}

void limit_to_newton_step(double limit, double radius, const Trajectories& trajectories,
                          const GaussianPolicy& played, const BaseLearnerWorkspace& workspace,
                          RoundLoss& loss) {
  if (loss.status == RoundLossStatus::no_signal) return;
  // ĝᵀF⁻¹ĝ in units of the advantages.
  const double cost_unit = loss.cost_gradient.norm() / workspace.policy_gradient.gradient.norm();
  const double q = loss.natural_norm_squared / (cost_unit * cost_unit);
  const double trust_step = std::sqrt(2 * radius / q);
  const double newton_step =
      limit / action_curvature(trajectories, played, workspace.advantages.advantages.data());
  if (!(newton_step < trust_step)) return;
  const double scale = newton_step / trust_step;
  loss.target = loss.played + scale * (loss.target - loss.played);
  loss.step_kl *= scale * scale;
}

}  // namespace lifeguard
