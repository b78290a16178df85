#include "lifeguard/base_learners/step_size.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/base_learners/exponential.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

void ImportanceLine::prepare(const Trajectories& t, const GaussianPolicy& played,
                             const double* advantages, const Eigen::VectorXd& direction,
                             int count) {
  const int features = t.features();
  count_ = std::min(count, t.count());
  const auto size = static_cast<std::size_t>(count_) * static_cast<std::size_t>(t.steps());
  slope_.assign(size, 0.0);
  curvature_.assign(size, 0.0);
  advantages_.resize(size);
  const double precision = 1.0 / (played.sigma() * played.sigma());
  std::size_t at = 0;
  for (int m = 0; m < t.steps(); ++m) {
    for (int i = 0; i < count_; ++i) {
      if (m >= t.length(i) && t.end(i) == EndReason::cut_short) continue;  // not a sample
      for (int a = 0; a < t.actions(); ++a) {
        double residual = t.action(i, m, a);
        double change = 0;  // of the mean action, for a unit step
        for (int f = 0; f < features; ++f) {
          residual -= played.gains()(a, f) * t.feature(i, m, f);
          change -= direction(a * features + f) * t.feature(i, m, f);
        }
        slope_[at] += residual * change * precision;
        curvature_[at] += 0.5 * change * change * precision;
      }
      advantages_[at] = advantages[static_cast<std::size_t>(m) * t.stride() + i];
      ++at;
    }
  }
  slope_.resize(at);
  curvature_.resize(at);
  advantages_.resize(at);
}

ImportanceLine::Point ImportanceLine::at(double step) const {
  double weights = 0;
  double squares = 0;
  double costs = 0;
  for (std::size_t k = 0; k < slope_.size(); ++k) {
    const double weight = exponential(step * (slope_[k] - step * curvature_[k]));
    weights += weight;
    squares += weight * weight;
    costs += (weight - 1.0) * advantages_[k];
  }
  const double effective = weights * weights / squares;
  return {costs / count_, effective / static_cast<double>(slope_.size())};
}

double line_search_step(const ImportanceLine& line, const StepSettings& settings, double radius,
                        double direction_curvature) {
  double best = kInfinity;
  double chosen = 0;
  for (int k = 0; k < settings.line_search_candidates; ++k) {
    const double step = std::sqrt(2.0 * radius / direction_curvature);
    radius *= 0.5;
    const bool last = k + 1 == settings.line_search_candidates;
    const ImportanceLine::Point point = line.at(step);
    if (!(point.effective_share >= settings.line_search_effective_share)) {  // NaN: no samples
      if (last && chosen == 0) chosen = step;
    } else if (point.value < best) {
      best = point.value;
      chosen = step;
    }
  }
  return chosen;
}

}  // namespace lifeguard
