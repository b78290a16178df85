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

/// Of the mean of the first n.
double standard_error(const AlignedVector<double>& x, int n) {
  if (n < 2) return 0;
  const double mean = sum(x, n) / n;
  double squares = 0;
  for (int i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return std::sqrt(squares / n / (n - 1));
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
  w.shifts.resize(static_cast<std::size_t>(t.steps()));
  for (int i = 0; i < t.count(); ++i) {
    w.lengths[i] = t.length(i);
    if (t.length(i) > 0) w.live[t.length(i) - 1] += 1;  // live up to here
  }
  for (int m = t.steps() - 2; m >= 0; --m) w.live[m] += w.live[m + 1];
}

/// The standard error of the mean of completed totals, by step_weights that are not scaled yet.
/// A failed trajectory keeps its last weight. Beyond the last live step nothing is known, and the
/// error grows as the mean is carried on.
double completed_error(const Trajectories& t, AdvantageWorkspace& w) {
  const int n = t.count();
  if (n < 2) return 0;
  const auto weight = [&](int i, int m) {
    if (m < t.length(i)) return w.step_weights[m];
    if (t.end(i) == EndReason::cut_short) return 0.0;
    return t.length(i) > 0 ? w.step_weights[t.length(i) - 1] : 1.0;
  };
  std::fill_n(w.totals.begin(), n, 0.0);
  int known = 0;
  for (; known < t.steps() && w.live[known] > 0; ++known) {
    double mean = 0;
    for (int i = 0; i < n; ++i) mean += weight(i, known) * t.cost(i, known) / n;
    for (int i = 0; i < n; ++i) w.totals[i] += weight(i, known) * (t.cost(i, known) - mean);
  }
  double squares = 0;
  for (int i = 0; i < n; ++i) squares += w.totals[i] * w.totals[i];
  return std::sqrt(squares / n / (n - 1)) / std::max(known, 1);
}

/// Means over the batch, and the weights of its steps, if trajectories were cut short.
void summarise_completed(const Trajectories& t, AdvantageWorkspace& w, AdvantageSummary& summary) {
  const int n = t.count();
  w.live_totals.resize(t.stride());
  complete_totals(t, w.totals.data(), w.live_totals.data());
  summary.mean_cost = sum(w.totals, n) / (static_cast<double>(n) * t.steps());
  const double whole = sum(w.live_totals, n);
  w.step_weights.resize(static_cast<std::size_t>(t.steps()));
  observation_weights(t, w.step_weights.data());
  summary.cost_error = completed_error(t, w);
  if (summary.live_steps == 0) return;
  const auto live_steps = static_cast<double>(summary.live_steps);
  summary.observed_share = live_steps / whole;
  double weights = 0;
  for (int m = 0; m < t.steps(); ++m) weights += w.live[m] * w.step_weights[m];
  for (double& weight : w.step_weights) weight *= live_steps / weights;
}

/// Σ over every so many-th row of one number for each row.
double sum_every(const std::vector<double>& x, int every) {
  double result = 0;
  for (std::size_t m = 0; m < x.size(); m += static_cast<std::size_t>(every)) result += x[m];
  return result;
}

/// The mean of the targets: of each step, or over all steps of the fit.
void find_means(const Trajectories& t, const AdvantageSettings& settings, const double* targets,
                int every, AdvantageWorkspace& w) {
  sum_rows(t, targets, w.lengths.data(), every, w.means.data());
  if (settings.step_mean) {
    for (int m = 0; m < t.steps(); m += every) w.means[m] /= std::max(w.live[m], 1.0);
  } else {
    const double mean = sum_every(w.means, every) / std::max(sum_every(w.live, every), 1.0);
    std::fill(w.means.begin(), w.means.end(), mean);
  }
}

/// The baseline on every so many-th row: V = w.values + w.shifts, by step.
void find_values(const Trajectories& t, const AdvantageSettings& settings, int every,
                 AdvantageWorkspace& w) {
  if (!settings.state_baseline) {
    std::fill(w.values.begin(), w.values.end(), 0.0);
    w.shifts = w.means;
    return;
  }
  // V = v + (mean of the targets - mean of v), both over the step or both over the fit.
  w.baseline.values(t, w.lengths.data(), every, w.values.data(), w.shifts.data());
  const double batch_mean = w.baseline.mean_value();
  for (int m = 0; m < t.steps(); m += every) {
    const double mean = settings.step_mean ? w.shifts[m] / std::max(w.live[m], 1.0) : batch_mean;
    w.shifts[m] = w.means[m] - mean;
  }
}

double power(double x, int exponent) {
  double result = 1;
  for (int i = 0; i < exponent; ++i) result *= x;
  return result;
}

/// Fits V and accumulates its errors. All sweeps but the last look at the steps of the fit only:
/// from one of them to the next the discount is γ^stride and the trace λ^stride.
void fit_and_accumulate(const Trajectories& t, const AdvantageSettings& settings,
                        AdvantageWorkspace& w) {
  const double* lengths = w.lengths.data();
  const auto accumulate = [&](int every) {
    // Judged by the whole trajectory, A is just the returns minus V.
    const double discount = settings.cost_to_go ? power(settings.discount, every) : 0.0;
    accumulate_errors(t, discount, discount * power(settings.trace, every), every, w.returns.data(),
                      w.shifts.data(), lengths, w.values.data(), w.advantages.data(),
                      w.totals.data());
  };
  std::fill(w.means.begin(), w.means.end(), 0.0);
  // λ-returns have the step means of the returns themselves, since V has the means of what it was
  // fitted to and is exact after a trajectory's end.
  if (settings.step_mean) find_means(t, settings, w.returns.data(), 1, w);
  if (settings.state_baseline) {
    const int stride = settings.baseline_stride;
    const int sweeps = settings.cost_to_go ? settings.baseline_sweeps : 1;
    if (!settings.step_mean) find_means(t, settings, w.returns.data(), stride, w);
    w.baseline.fit(t, lengths, stride, settings.step_mean, w.returns.data(), w.means.data());
    for (int sweep = 1; sweep < sweeps; ++sweep) {
      find_values(t, settings, stride, w);
      accumulate(stride);
      if (!settings.step_mean) find_means(t, settings, w.values.data(), stride, w);
      w.baseline.refit(t, lengths, w.values.data(), w.means.data());
    }
  }
  find_values(t, settings, 1, w);
  accumulate(1);
}

}  // namespace

AdvantageSummary compute_advantages(const Trajectories& t, const AdvantageSettings& settings,
                                    AdvantageWorkspace& w) {
  settings.validate();
  require(t.count() > 0, "trajectories", t.count(), "must be at least 1");
  bool any_known = false;
  for (int i = 0; i < t.count(); ++i) {
    if (t.length(i) < 0 || t.length(i) > t.steps()) t.validate();
    const bool cut = t.end(i) == EndReason::cut_short;
    any_known = any_known || t.length(i) > 0 || !cut;
    for (int f = 0; cut && f < t.features(); ++f) {
      if (!std::isfinite(t.final_feature(i, f))) t.validate();
    }
  }
  require(any_known, "length", "0 for every trajectory, all cut short",
          "must be at least 1 for one of them");
  resize(t, w);
  const int n = t.count();
  const double* lengths = w.lengths.data();

  AdvantageSummary summary;
  sum_discounted_costs(t, settings.discount, w.returns.data(), w.totals.data(),
                       w.magnitudes.data());
  summary.mean_cost = sum(w.totals, n) / (static_cast<double>(n) * t.steps());
  summary.cost_error = standard_error(w.totals, n) / t.steps();
  const double magnitude = sum(w.magnitudes, n) / n;
  for (int i = 0; i < n; ++i) summary.live_steps += t.length(i);
  if (t.cut_short() > 0) {
    summarise_completed(t, w, summary);
    bootstrap_returns(t, settings.discount, settings.baseline_stride, lengths, w.live,
                      w.returns.data(), w.bootstrap);
  }

  if (!settings.cost_to_go) {
    for (int m = 1; m < t.steps(); ++m) {
      std::copy_n(w.returns.data(), t.stride(),
                  w.returns.data() + static_cast<std::size_t>(m) * t.stride());
    }
  }
  fit_and_accumulate(t, settings, w);

  const double live = static_cast<double>(std::max(summary.live_steps, 1L));
  const double mean = sum(w.totals, n) / live;
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
