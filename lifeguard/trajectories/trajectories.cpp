#include "lifeguard/trajectories/trajectories.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

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
  }
  std::fill_n(lengths_.begin(), count, steps);
  std::fill_n(diverged_flags_.begin(), count, 0);
}

int Trajectories::failed() const {
  int failed = 0;
  for (int i = 0; i < count_; ++i) failed += lengths_[i] < steps_ ? 1 : 0;
  return failed;
}

int Trajectories::diverged() const {
  return std::accumulate(diverged_flags_.begin(), diverged_flags_.end(), 0);
}

double Trajectories::mean_cost(int i) const {
  double sum = 0;
  for (int m = 0; m < steps_; ++m) sum += cost(i, m);
  return sum / steps_;
}

double Trajectories::mean_cost() const {
  double sum = 0;
  for (int i = 0; i < count_; ++i) sum += mean_cost(i);
  return sum / count_;
}

void Trajectories::validate() const {
  require(count_ > 0, "trajectories", count_, "must be at least 1");
  for (int i = 0; i < count_; ++i) {
    require(length(i) >= 0 && length(i) <= steps_, indexed("length", i), length(i),
            fmt::format("must lie in [0, {}], the number of steps", steps_));
  }
  const auto require_row = [&](const double* row, std::string_view name, int m, int column) {
    for (int i = 0; i < count_; ++i) {
      if (!std::isfinite(row[i])) {
        require_finite(fmt::format("{} (trajectory {}, step {}, column {})", name, i, m, column),
                       row[i]);
      }
    }
  };
  for (int m = 0; m < steps_; ++m) {
    for (int f = 0; f < features_; ++f) require_row(feature_row(m, f), "feature", m, f);
    for (int a = 0; a < actions_; ++a) require_row(action_row(m, a), "action", m, a);
    require_row(cost_row(m), "cost", m, 0);
  }
}

}  // namespace lifeguard
