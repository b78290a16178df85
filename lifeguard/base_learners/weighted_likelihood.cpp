#include "lifeguard/base_learners/weighted_likelihood.hpp"

#include <algorithm>

#include "lifeguard/base_learners/exponential.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

void likelihood_weights(const Trajectories& t, const double* advantages, double temperature,
                        AlignedVector<double>& weights) {
  weights.assign(static_cast<std::size_t>(t.steps()) * t.stride(), 0.0);
  double lowest = kInfinity;
  double live = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const double* row = advantages + static_cast<std::size_t>(m) * t.stride();
    for (int i = 0; i < t.count(); ++i) {
      if (m >= t.length(i)) continue;
      lowest = std::min(lowest, row[i]);
      live += 1;
    }
  }
  double sum = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const std::size_t start = static_cast<std::size_t>(m) * t.stride();
    for (int i = 0; i < t.count(); ++i) {
      if (m >= t.length(i)) continue;
      weights[start + i] = exponential((lowest - advantages[start + i]) / temperature);
      sum += weights[start + i];
    }
  }
  if (live == 0) return;
  const double factor = live / sum;
  for (double& weight : weights) weight *= factor;
}

void unit_weights(const Trajectories& t, AlignedVector<double>& weights) {
  weights.assign(static_cast<std::size_t>(t.steps()) * t.stride(), 0.0);
  for (int m = 0; m < t.steps(); ++m) {
    double* row = weights.data() + static_cast<std::size_t>(m) * t.stride();
    for (int i = 0; i < t.count(); ++i) row[i] = m < t.length(i) ? 1.0 : 0.0;
  }
}

double weighted_negative_log_likelihood(const Trajectories& t, const GaussianPolicy& policy,
                                        const double* weights) {
  double sum = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const double* weight = weights + static_cast<std::size_t>(m) * t.stride();
    for (int a = 0; a < t.actions(); ++a) {
      for (int i = 0; i < t.count(); ++i) {
        double residual = t.action(i, m, a);
        for (int f = 0; f < t.features(); ++f) {
          residual -= policy.gains()(a, f) * t.feature(i, m, f);
        }
        sum += weight[i] * residual * residual;
      }
    }
  }
  return 0.5 * sum / (t.count() * policy.sigma() * policy.sigma());
}

}  // namespace lifeguard
