#include "lifeguard/base_learners/advantages.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

namespace {

// Differences this small beside the costs themselves are rounding, not signal.
constexpr double kRelativeRounding = 1e-10;

double sum(const double* x, int n) {
  double result = 0;
  for (int i = 0; i < n; ++i) result += x[i];
  return result;
}

/// Discounted costs-to-go into workspace.returns, or the whole return in every row of a trajectory.
void compute_returns(const Trajectories& t, const AdvantageSettings& settings,
                     AdvantageWorkspace& w) {
  const std::size_t stride = t.stride();
  const double discount = settings.discount;
  for (int m = t.steps() - 1; m >= 0; --m) {
    const double* cost = t.cost_row(m);
    double* now = w.row(w.returns, m, stride);
    if (m + 1 == t.steps()) {
      std::copy(cost, cost + t.count(), now);
    } else {
      const double* next = now + stride;
      for (int i = 0; i < t.count(); ++i) now[i] = cost[i] + discount * next[i];
    }
  }
  if (settings.cost_to_go) return;
  for (int m = 1; m < t.steps(); ++m) {
    std::copy(w.returns.data(), w.returns.data() + t.count(), w.row(w.returns, m, stride));
  }
}

/// The mean of workspace.returns over the live trajectories of each step, or over all live steps.
void compute_means(const Trajectories& t, bool each_step, AdvantageWorkspace& w) {
  double all = 0;
  double all_live = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const double* row = w.row(w.returns, m, t.stride());
    double step = 0;
    double live = 0;
    for (int i = 0; i < t.count(); ++i) {
      const double alive = m < t.length(i) ? 1.0 : 0.0;
      step += alive * row[i];
      live += alive;
    }
    w.step_means[static_cast<std::size_t>(m)] = live > 0 ? step / live : 0.0;
    all += step;
    all_live += live;
  }
  if (!each_step) {
    std::fill(w.step_means.begin(), w.step_means.end(), all_live > 0 ? all / all_live : 0.0);
  }
}

/// The baseline of workspace.returns into workspace.values.
void fit_values(const Trajectories& t, const AdvantageSettings& settings, AdvantageWorkspace& w) {
  const std::size_t stride = t.stride();
  if (!settings.step_mean && !settings.state_baseline) {
    std::fill(w.values.begin(), w.values.end(), 0.0);
    return;
  }
  compute_means(t, settings.step_mean, w);
  for (int m = 0; m < t.steps(); ++m) {
    double* value = w.row(w.values, m, stride);
    std::fill(value, value + t.count(), w.step_means[static_cast<std::size_t>(m)]);
  }
  if (!settings.state_baseline) return;
  for (int m = 0; m < t.steps(); ++m) {
    const double mean = w.step_means[static_cast<std::size_t>(m)];
    const double* target = w.row(w.returns, m, stride);
    double* deviation = w.row(w.advantages, m, stride);
    for (int i = 0; i < t.count(); ++i) {
      deviation[i] = m < t.length(i) ? target[i] - mean : 0.0;
    }
  }
  w.baseline.fit(t, w.advantages.data());
  w.baseline.add_values(t, w.values.data());
}

/// A_m = δ_m + γλ A_{m+1}, from the last step back. What a failed trajectory still has to pay is
/// known exactly, so beyond its end V is its cost-to-go and A is zero.
void accumulate_errors(const Trajectories& t, const AdvantageSettings& settings,
                       AdvantageWorkspace& w) {
  const std::size_t stride = t.stride();
  const double discount = settings.discount;
  const double decay = discount * settings.trace;
  for (int m = t.steps() - 1; m >= 0; --m) {
    const double* cost = t.cost_row(m);
    const double* target = w.row(w.returns, m, stride);
    double* value = w.row(w.values, m, stride);
    double* now = w.row(w.advantages, m, stride);
    const bool last = m + 1 == t.steps();
    const double* next_value = value + (last ? 0 : stride);
    const double* next = now + (last ? 0 : stride);
    const double bootstrap = last ? 0.0 : discount;
    const double carry = last ? 0.0 : decay;
    for (int i = 0; i < t.count(); ++i) {
      const bool live = m < t.length(i);
      const double v = live ? value[i] : target[i];
      const double error = cost[i] + bootstrap * next_value[i] - v;
      const double advantage = error + carry * next[i];
      value[i] = v;
      now[i] = live ? advantage : 0.0;
    }
  }
}

void subtract_values(const Trajectories& t, AdvantageWorkspace& w) {
  for (int m = 0; m < t.steps(); ++m) {
    const double* target = w.row(w.returns, m, t.stride());
    const double* value = w.row(w.values, m, t.stride());
    double* now = w.row(w.advantages, m, t.stride());
    for (int i = 0; i < t.count(); ++i) now[i] = m < t.length(i) ? target[i] - value[i] : 0.0;
  }
}

}  // namespace

void AdvantageSettings::validate() const {
  require(discount > 0 && discount <= 1, "discount", discount, "must lie in (0, 1]");
  require(trace >= 0 && trace <= 1, "trace", trace, "must lie in [0, 1]");
  require(baseline_sweeps >= 1, "baseline_sweeps", baseline_sweeps, "must be at least 1");
  require(baseline_stride >= 1, "baseline_stride", baseline_stride, "must be at least 1");
}

AdvantageSummary compute_advantages(const Trajectories& t, const AdvantageSettings& settings,
                                    AdvantageWorkspace& w) {
  settings.validate();
  require(t.count() > 0, "trajectories", t.count(), "must be at least 1");
  const int n = t.count();
  const std::size_t stride = t.stride();
  const std::size_t size = static_cast<std::size_t>(t.steps()) * stride;
  w.advantages.assign(size, 0.0);  // and zero beyond the last trajectory
  w.returns.assign(size, 0.0);
  w.values.assign(size, 0.0);
  w.total.assign(stride, 0.0);
  w.step_means.assign(static_cast<std::size_t>(t.steps()), 0.0);

  AdvantageSummary summary;
  double magnitude = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const double* cost = t.cost_row(m);
    for (int i = 0; i < n; ++i) w.total[i] += cost[i];
    for (int i = 0; i < n; ++i) magnitude += std::fabs(cost[i]);
  }
  summary.mean_cost = sum(w.total.data(), n) / (static_cast<double>(n) * t.steps());
  magnitude /= n;
  for (int i = 0; i < n; ++i) summary.live_steps += t.length(i);

  compute_returns(t, settings, w);
  if (settings.state_baseline) {
    w.baseline.prepare(t, settings.baseline_stride, settings.step_mean);
  }
  const int sweeps = settings.state_baseline && settings.cost_to_go ? settings.baseline_sweeps : 1;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    if (sweep > 0) {
      for (std::size_t k = 0; k < size; ++k) w.returns[k] = w.advantages[k] + w.values[k];
    }
    fit_values(t, settings, w);
    if (settings.cost_to_go) {
      accumulate_errors(t, settings, w);
    } else {
      subtract_values(t, w);
    }
  }

  // Mean and deviation over all live steps; summed for each trajectory first, then over them.
  std::fill(w.total.begin(), w.total.end(), 0.0);
  for (int m = 0; m < t.steps(); ++m) {
    const double* now = w.row(w.advantages, m, stride);
    for (int i = 0; i < n; ++i) w.total[i] += now[i];
  }
  const double live = static_cast<double>(std::max(summary.live_steps, 1L));
  const double mean = sum(w.total.data(), n) / live;
  std::fill(w.total.begin(), w.total.end(), 0.0);
  for (int m = 0; m < t.steps(); ++m) {
    const double* now = w.row(w.advantages, m, stride);
    for (int i = 0; i < n; ++i) {
      const double deviation = m < t.length(i) ? now[i] - mean : 0.0;
      w.total[i] += deviation * deviation;
    }
  }
  const double deviation = std::sqrt(sum(w.total.data(), n) / live);
  if (deviation <= kRelativeRounding * magnitude) {
    std::fill(w.advantages.begin(), w.advantages.end(), 0.0);
    summary.scale = summary.variance = 0.0;
    return summary;
  }
  summary.scale = 1.0;
  summary.variance = deviation * deviation;
  if (settings.normalise) {
    summary.scale = deviation;
    summary.variance = 1.0;
    const double inverse = 1.0 / deviation;
    for (int m = 0; m < t.steps(); ++m) {
      double* now = w.row(w.advantages, m, stride);
      for (int i = 0; i < n; ++i) {
        now[i] = m < t.length(i) ? (now[i] - mean) * inverse : 0.0;
      }
    }
  }
  return summary;
}

}  // namespace lifeguard
