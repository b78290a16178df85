#include "lifeguard/base_learners/advantages.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/check.hpp"

namespace lifeguard {

namespace {

// Differences this small beside the costs themselves are rounding, not signal.
constexpr double kRelativeRounding = 1e-10;

double sum(const AlignedVector<double>& x, int n) {
  double result = 0;
  for (int i = 0; i < n; ++i) result += x[i];
  return result;
}

double* row(AlignedVector<double>& data, const Trajectories& t, int m) {
  return data.data() + static_cast<std::size_t>(m) * t.stride();
}

void resize(const Trajectories& t, AdvantageWorkspace& w) {
  const std::size_t size = static_cast<std::size_t>(t.steps()) * t.stride();
  w.advantages.resize(size);
  w.returns.resize(size);
  w.values.resize(size);
  w.totals.resize(t.stride());
  w.magnitudes.resize(t.stride());
  w.lengths.assign(t.stride(), 0.0);
  w.live.assign(static_cast<std::size_t>(t.steps()), 0.0);
  w.means.resize(static_cast<std::size_t>(t.steps()));
  for (int i = 0; i < t.count(); ++i) {
    w.lengths[i] = t.length(i);
    if (t.length(i) > 0) w.live[t.length(i) - 1] += 1;  // live up to here
  }
  for (int m = t.steps() - 2; m >= 0; --m) w.live[m] += w.live[m + 1];
}

/// The baseline of the returns into w.values; w.advantages is scratch.
void fit_values(const Trajectories& t, const AdvantageSettings& settings, bool first_fit,
                AdvantageWorkspace& w) {
  if (!settings.step_mean && !settings.state_baseline) {
    std::fill(w.values.begin(), w.values.end(), 0.0);
    return;
  }
  const std::size_t width = padded_count(t);
  double all = 0;
  double all_live = 0;
  for (int m = 0; m < t.steps(); ++m) {
    const double step = sum_live(row(w.returns, t, m), w.lengths.data(), m, width);
    w.means[m] = w.live[m] > 0 ? step / w.live[m] : 0.0;
    all += step;
    all_live += w.live[m];
  }
  if (!settings.step_mean) {
    std::fill(w.means.begin(), w.means.end(), all_live > 0 ? all / all_live : 0.0);
  }
  if (!settings.state_baseline) {
    for (int m = 0; m < t.steps(); ++m) std::fill_n(row(w.values, t, m), width, w.means[m]);
    return;
  }
  for (int m = 0; m < t.steps(); ++m) {
    subtract_live(row(w.returns, t, m), w.means[m], w.lengths.data(), m, width,
                  row(w.advantages, t, m));
  }
  if (first_fit) {
    w.baseline.fit(t, settings.baseline_stride, settings.step_mean, w.advantages.data());
  } else {
    w.baseline.refit(t, w.advantages.data());
  }
  // V = v + (mean of the returns - mean of v), both over the step or both over the batch.
  const double batch_mean = w.baseline.mean_value();
  for (int m = 0; m < t.steps(); ++m) {
    double* v = row(w.values, t, m);
    w.baseline.values(t, m, v);
    double mean = batch_mean;
    if (settings.step_mean && w.live[m] > 0) {
      mean = sum_live(v, w.lengths.data(), m, width) / w.live[m];
    }
    const double shift = w.means[m] - mean;
    for (std::size_t i = 0; i < width; ++i) v[i] += shift;
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
  for (int i = 0; i < t.count(); ++i) {
    if (t.length(i) < 0 || t.length(i) > t.steps()) t.validate();
  }
  resize(t, w);
  const int n = t.count();
  const double* lengths = w.lengths.data();

  AdvantageSummary summary;
  sum_discounted_costs(t, settings.discount, w.returns.data(), w.totals.data(),
                       w.magnitudes.data());
  summary.mean_cost = sum(w.totals, n) / (static_cast<double>(n) * t.steps());
  const double magnitude = sum(w.magnitudes, n) / n;
  for (int i = 0; i < n; ++i) summary.live_steps += t.length(i);

  if (settings.cost_to_go) {
    const int sweeps = settings.state_baseline ? settings.baseline_sweeps : 1;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      if (sweep > 0) {
        for (std::size_t k = 0; k < w.returns.size(); ++k) {
          w.returns[k] = w.advantages[k] + w.values[k];
        }
      }
      fit_values(t, settings, sweep == 0, w);
      accumulate_errors(t, settings.discount, settings.trace, w.returns.data(), lengths,
                        w.values.data(), w.advantages.data());
    }
  } else {
    for (int m = 1; m < t.steps(); ++m) {
      std::copy_n(w.returns.data(), t.stride(), row(w.returns, t, m));
    }
    fit_values(t, settings, true, w);
    for (int m = 0; m < t.steps(); ++m) {
      const double* target = row(w.returns, t, m);
      const double* value = row(w.values, t, m);
      double* now = row(w.advantages, t, m);
      for (int i = 0; i < n; ++i) now[i] = m < t.length(i) ? target[i] - value[i] : 0.0;
    }
  }

  double total = 0;
  for (int m = 0; m < t.steps(); ++m) {
    total += sum_live(row(w.advantages, t, m), lengths, m, padded_count(t));
  }
  const double live = static_cast<double>(std::max(summary.live_steps, 1L));
  const double mean = total / live;
  sum_squares(t, w.advantages.data(), mean, lengths, w.totals.data());
  const double deviation = std::sqrt(sum(w.totals, n) / live);
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
    shift_and_scale(t, mean, 1.0 / deviation, lengths, w.advantages.data());
  }
  return summary;
}

}  // namespace lifeguard
