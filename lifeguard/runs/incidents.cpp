#include "lifeguard/runs/incidents.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/clipped_noise.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {

Incidents count_incidents(const Task& task, const Eigen::VectorXd& state_limits,
                          const Trajectories& batch) {
  require_size("state_limits", state_limits.size(), task.states());
  const int count = batch.count();
  // The largest excess over any limit so far.
  std::vector<double> state_excess(static_cast<std::size_t>(count), 0.0);
  std::vector<double> action_excess(static_cast<std::size_t>(count), 0.0);
  // The first features are x - goal.
  const int seen = task.own_features() == 0 ? task.states() : 0;
  for (int m = 0; m < batch.steps(); ++m) {
    // Steps that were not lived through hold zeros, which are inside.
    for (int s = 0; s < seen; ++s) {
      const double* row = batch.feature_row(m, s);
      const double limit = state_limits(s);
      for (int i = 0; i < count; ++i) {
        state_excess[i] = std::max(state_excess[i], std::abs(row[i]) - limit);
      }
    }
    for (int a = 0; a < batch.actions(); ++a) {
      const double* row = batch.action_row(m, a);
      const double low = std::min(0.0, task.settings.action_low(a));
      const double high = std::max(0.0, task.settings.action_high(a));
      for (int i = 0; i < count; ++i) {
        action_excess[i] = std::max(action_excess[i], std::max(low - row[i], row[i] - high));
      }
    }
  }
  Incidents found;
  for (int i = 0; i < count; ++i) {
    const bool fell = batch.end(i) == EndReason::failed;
    found.falls += fell ? 1 : 0;
    found.violations += fell || state_excess[i] > 0 ? 1 : 0;
    found.saturations += action_excess[i] > 0 ? 1 : 0;
  }
  return found;
}

double exit_probability(const Task& task, const ClosedLoop& closed_loop, int steps) {
  const TaskSettings& settings = task.settings;
  // Draws of all actions are independent: none exceeds its limit with the product of chances.
  double inside = 1;
  for (Eigen::Index a = 0; a < closed_loop.noise_limits.size(); ++a) {
    const double limit = closed_loop.noise_limits(a);
    if (settings.noise_limit.of(a) <= limit) continue;
    const double scale = clipped_noise_scale(settings.sigma.of(a), settings.noise_limit.of(a));
    inside *= 1 - exceed_probability(scale, limit, steps);
  }
  return 1 - inside;
}

}  // namespace lifeguard
