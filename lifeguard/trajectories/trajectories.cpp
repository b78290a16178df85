#include "lifeguard/trajectories/trajectories.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

const char* to_string(EndReason end) {
  switch (end) {
    case EndReason::finished:
      return "finished";
    case EndReason::failed:
      return "failed";
    case EndReason::cut_short:
      return "cut short";
  }
  return "?";
}

void Trajectories::reshape(int count, int steps, int features, int actions) {
  require(count > 0, "trajectories", count, "must be at least 1");
  require(steps > 0, "steps", steps, "must be at least 1");
  require(features > 0, "features", features, "must be at least 1");
  require(actions > 0, "actions", actions, "must be at least 1");
  if (count != count_ || steps != steps_ || features != features_ || actions != actions_) {
    count_ = count;
    steps_ = steps;
    features_ = features;
    actions_ = actions;
    // An odd number of cache lines: rows that are a power of two apart would fight for the same few
    // places in the cache.
    const int lines = (count + kPadding - 1) / kPadding;
    stride_ = static_cast<std::size_t>(lines % 2 == 1 ? lines : lines + 1) * kPadding;
    const std::size_t rows = static_cast<std::size_t>(steps) * stride_;
    features_data_.assign(rows * features, 0.0);
    actions_data_.assign(rows * actions, 0.0);
    costs_data_.assign(rows, 0.0);
    lengths_.assign(stride_, 0);
    diverged_flags_.assign(stride_, 0);
    cut_short_flags_.assign(stride_, 0);
  }
  std::fill_n(lengths_.begin(), count, steps);
  std::fill_n(diverged_flags_.begin(), count, 0);
  std::fill_n(cut_short_flags_.begin(), count, 0);
  final_features_.clear();
}

void Trajectories::end_at(int i, int length, double cost_after) {
  require(i >= 0 && i < count_, "trajectory", i, "must be one of the batch");
  require(length >= 0 && length <= steps_, indexed("length", i), length,
          fmt::format("must lie in [0, {}], the number of steps", steps_));
  set_length(i, length);
  for (int m = length; m < steps_; ++m) {
    for (int f = 0; f < features_; ++f) feature(i, m, f) = 0.0;
    for (int a = 0; a < actions_; ++a) action(i, m, a) = 0.0;
    cost(i, m) = cost_after;
  }
}

void Trajectories::fail(int i, int length, double failure_cost) { end_at(i, length, failure_cost); }

void Trajectories::cut(int i, int length, std::span<const double> features_after) {
  require_size("features_after", static_cast<long>(features_after.size()), features_);
  end_at(i, length, 0.0);
  if (length == steps_) return;
  cut_short_flags_[i] = 1;
  if (final_features_.empty()) {
    final_features_.assign(static_cast<std::size_t>(features_) * stride_, 0.0);
  }
  for (int f = 0; f < features_; ++f) {
    final_features_[static_cast<std::size_t>(f) * stride_ + i] = features_after[f];
  }
}

void Trajectories::cut(int i, int length) {
  std::vector<double> last(static_cast<std::size_t>(features_), 0.0);
  if (length <= 0 || length >= steps_ || i < 0 || i >= count_) {
    cut(i, length, last);
    return;
  }
  for (int f = 0; f < features_; ++f) last[f] = feature(i, length - 1, f);
  cut(i, length - 1, last);
}

int Trajectories::failed() const {
  int failed = 0;
  for (int i = 0; i < count_; ++i) failed += end(i) == EndReason::failed ? 1 : 0;
  return failed;
}

int Trajectories::cut_short() const {
  int cut_short = 0;
  for (int i = 0; i < count_; ++i) cut_short += end(i) == EndReason::cut_short ? 1 : 0;
  return cut_short;
}

int Trajectories::diverged() const {
  return std::accumulate(diverged_flags_.begin(), diverged_flags_.end(), 0);
}

double Trajectories::mean_cost(int i) const {
  const int known = end(i) == EndReason::cut_short ? length(i) : steps_;
  double sum = 0;
  for (int m = 0; m < known; ++m) sum += cost(i, m);
  return known > 0 ? sum / known : kNaN;
}

double Trajectories::mean_cost() const {
  double sum = 0;
  if (cut_short() > 0) {
    std::vector<double> costs(static_cast<std::size_t>(count_)), live(costs.size());
    complete_totals(*this, costs.data(), live.data());
    for (const double total : costs) sum += total / steps_;
    return sum / count_;
  }
  for (int i = 0; i < count_; ++i) sum += mean_cost(i);
  return sum / count_;
}

std::optional<BadEntry> Trajectories::find_bad_entry() const {
  for (int i = 0; i < count_; ++i) {
    if (length(i) >= 0 && length(i) <= steps_) continue;
    return BadEntry{indexed("length", i), static_cast<double>(length(i)),
                    fmt::format("must lie in [0, {}], the number of steps", steps_)};
  }
  std::optional<BadEntry> found;
  const auto look = [&](const double* row, std::string_view name, int m, int column) {
    const bool is_cost = name == "cost";
    for (int i = 0; i < count_ && !found; ++i) {
      const bool finite = std::isfinite(row[i]);
      const bool must_be_zero = m >= length(i) && (!is_cost || end(i) == EndReason::cut_short);
      if (finite && !(must_be_zero && row[i] != 0)) continue;
      found = BadEntry{fmt::format("{} (trajectory {}, step {}, column {})", name, i, m, column),
                       row[i],
                       finite ? fmt::format("must be 0 after the trajectory's {} steps", length(i))
                              : "must be finite"};
    }
  };
  for (int m = 0; m < steps_; ++m) {
    for (int f = 0; f < features_; ++f) look(feature_row(m, f), "feature", m, f);
    for (int a = 0; a < actions_; ++a) look(action_row(m, a), "action", m, a);
    look(cost_row(m), "cost", m, 0);
  }
  for (int i = 0; i < count_ && !found; ++i) {
    if (end(i) != EndReason::cut_short) continue;
    for (int f = 0; f < features_ && !found; ++f) {
      if (std::isfinite(final_feature(i, f))) continue;
      found = BadEntry{fmt::format("final feature (trajectory {}, column {})", i, f),
                       final_feature(i, f), "must be finite"};
    }
  }
  return found;
}

void Trajectories::validate() const {
  require(count_ > 0, "trajectories", count_, "must be at least 1");
  const std::optional<BadEntry> bad = find_bad_entry();
  if (bad) require(false, bad->field, bad->value, bad->rule);
}

void complete_totals(const Trajectories& t, double* costs, double* live_steps) {
  const int n = t.count();
  std::fill_n(costs, n, 0.0);
  std::fill_n(live_steps, n, 0.0);
  const auto is_cut_at = [&](int i, int m) {
    return t.length(i) == m && t.end(i) == EndReason::cut_short;
  };
  // From the last step to the first: when a trajectory's sums are completed, those of all that
  // went further hold what followed.
  for (int m = t.steps() - 1; m >= 0; --m) {
    double live = 0, cost = 0, steps = 0;
    bool any_cut = false;
    for (int i = 0; i < n; ++i) {
      if (m < t.length(i)) {
        costs[i] += t.cost(i, m);
        live_steps[i] += 1;
        live += 1;
        cost += costs[i];
        steps += live_steps[i];
      } else if (is_cut_at(i, m)) {
        any_cut = true;
      } else if (t.end(i) == EndReason::failed) {
        costs[i] += t.cost(i, m);
      }
    }
    if (!any_cut) continue;
    for (int i = 0; i < n; ++i) {
      if (!is_cut_at(i, m)) continue;
      const double left = t.steps() - m;
      costs[i] = live > 0 ? cost / live : left * t.mean_cost(i);
      live_steps[i] = live > 0 ? steps / live : left;
    }
  }
  // Without a step of its own and with nobody who took the first one: as those that failed at once.
  double known = 0, cost = 0;
  for (int i = 0; i < n; ++i) {
    if (std::isnan(costs[i])) continue;
    known += 1;
    cost += costs[i];
  }
  for (int i = 0; i < n; ++i) {
    if (!std::isnan(costs[i]) || !is_cut_at(i, 0)) continue;
    costs[i] = known > 0 ? cost / known : kNaN;
    live_steps[i] = 0;
  }
}

void observation_weights(const Trajectories& t, double* weights) {
  double weight = 1;
  for (int m = 0; m < t.steps(); ++m) {
    double live = 0, cut = 0;
    for (int i = 0; i < t.count(); ++i) {
      live += m < t.length(i) ? 1 : 0;
      cut += t.length(i) == m && t.end(i) == EndReason::cut_short ? 1 : 0;
    }
    if (live > 0) weight *= (live + cut) / live;
    weights[m] = live > 0 ? weight : 0.0;
  }
}

}  // namespace lifeguard
