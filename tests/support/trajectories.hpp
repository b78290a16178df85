#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/trajectories.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::test_support {

/// Equal in every bit of every row, padding included: -0 is not 0.
inline ::testing::AssertionResult same_bits(const Trajectories& a, const Trajectories& b) {
  if (a.count() != b.count() || a.steps() != b.steps() || a.features() != b.features() ||
      a.actions() != b.actions() || a.stride() != b.stride()) {
    return ::testing::AssertionFailure() << "different shapes";
  }
  const std::size_t row = a.stride() * sizeof(double);
  for (int m = 0; m < a.steps(); ++m) {
    for (int f = 0; f < a.features(); ++f) {
      if (std::memcmp(a.feature_row(m, f), b.feature_row(m, f), row) != 0) {
        return ::testing::AssertionFailure() << "feature " << f << " at step " << m;
      }
    }
    for (int u = 0; u < a.actions(); ++u) {
      if (std::memcmp(a.action_row(m, u), b.action_row(m, u), row) != 0) {
        return ::testing::AssertionFailure() << "action " << u << " at step " << m;
      }
    }
    if (std::memcmp(a.cost_row(m), b.cost_row(m), row) != 0) {
      return ::testing::AssertionFailure() << "cost at step " << m;
    }
  }
  if (!(a == b)) return ::testing::AssertionFailure() << "lengths or flags";
  return ::testing::AssertionSuccess();
}

/// What every batch from a simulator must obey: finite numbers, absorbed trajectories at the
/// failure cost with zero features and actions, and zero padding.
inline ::testing::AssertionResult well_formed(const Trajectories& t, double failure_cost) {
  const auto failure = [](const char* what, int i, int m) {
    return ::testing::AssertionFailure() << what << " of trajectory " << i << " at step " << m;
  };
  for (int m = 0; m < t.steps(); ++m) {
    for (int i = 0; i < static_cast<int>(t.stride()); ++i) {
      const bool live = i < t.count() && m < t.length(i);
      for (int f = 0; f < t.features(); ++f) {
        const double x = t.feature_row(m, f)[i];
        if (!std::isfinite(x) || (!live && x != 0)) return failure("feature", i, m);
      }
      for (int a = 0; a < t.actions(); ++a) {
        const double u = t.action_row(m, a)[i];
        if (!std::isfinite(u) || (!live && u != 0)) return failure("action", i, m);
      }
      const double cost = t.cost_row(m)[i];
      if (!std::isfinite(cost)) return failure("cost", i, m);
      if (!live && cost != (i < t.count() ? failure_cost : 0)) return failure("cost", i, m);
    }
  }
  for (int i = 0; i < t.count(); ++i) {
    if (t.diverged_flags()[i] != 0 && t.length(i) == t.steps()) return failure("flag", i, 0);
  }
  return ::testing::AssertionSuccess();
}

/// Policies that keep the goal, lose it, and drive away from it, for features with the state first.
inline std::vector<GaussianPolicy> assorted_policies(const Task& task, const Features& features) {
  const Eigen::MatrixXd lqr = lqr_policy_gains(task, features);
  const int columns = features.count(task.states());
  const Eigen::MatrixXd disturbance = random_matrix(task.actions(), columns, 0.1, 5);
  const double sigma = task.settings.sigma.of(0);
  // Each action with a noise of its own.
  const Eigen::VectorXd each = Eigen::VectorXd::LinSpaced(task.actions(), 0.5 * sigma, 2 * sigma);
  return {{lqr, sigma},
          {lqr, 0.0},
          {lqr, 20 * sigma},
          {lqr + disturbance, sigma},
          {Eigen::MatrixXd::Zero(task.actions(), columns), sigma},
          {Eigen::MatrixXd::Zero(task.actions(), columns), 0.0},
          {-0.5 * lqr, sigma},
          {lqr, PerAction(each)}};
}

}  // namespace lifeguard::test_support
