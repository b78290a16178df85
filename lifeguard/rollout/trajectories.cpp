#include "lifeguard/rollout/trajectories.hpp"

#include <fmt/format.h>

#include <cmath>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void Trajectories::reshape(int count, int steps, int features, int actions) {
  require(count > 0, "trajectories", count, "must be at least 1");
  require(steps > 0, "steps", steps, "must be at least 1");
  require(features > 0, "features", features, "must be at least 1");
  require(actions > 0, "actions", actions, "must be at least 1");
  count_ = count;
  steps_ = steps;
  features_ = features;
  actions_ = actions;
  stride_ = static_cast<std::size_t>((count + kPadding - 1) / kPadding) * kPadding;
  diverged_ = 0;
  const std::size_t rows = static_cast<std::size_t>(steps) * stride_;
  features_data_.resize(rows * features);
  actions_data_.resize(rows * actions);
  costs_data_.resize(rows);
  lengths_.resize(stride_);
  for (std::size_t i = 0; i < stride_; ++i)
    lengths_[i] = i < static_cast<std::size_t>(count) ? steps : 0;
}

int Trajectories::failed() const {
  int failed = 0;
  for (int i = 0; i < count_; ++i) failed += lengths_[i] < steps_ ? 1 : 0;
  return failed;
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
