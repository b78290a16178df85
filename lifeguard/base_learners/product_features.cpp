#include "lifeguard/base_learners/product_features.hpp"

#include <Eigen/Core>
#include <cmath>

namespace lifeguard {
namespace {

/// How many steps are looked at: that numbers of any kind fit by chance so often is out of
/// question.
constexpr int kStepsLookedAt = 6;
/// Of more of them pairs are not tried.
constexpr int kMostFeatures = 256;
/// A product may be rounded otherwise where it was computed.
constexpr double kProductRounding = 1e-12;

/// Φ at steps of different trajectories, as far as there are as many, and of different age, one in
/// each column. Empty if all trajectories are.
Eigen::MatrixXd spread_steps(const Trajectories& t) {
  Eigen::MatrixXd features(t.features(), kStepsLookedAt);
  for (int s = 0; s < kStepsLookedAt; ++s) {
    int i = s * t.count() / kStepsLookedAt;
    for (int tried = 0; tried < t.count() && t.length(i) == 0; ++tried) i = (i + 1) % t.count();
    if (t.length(i) == 0) return {};
    const int m = t.length(i) - 1 - s * (t.length(i) - 1) / kStepsLookedAt;
    for (int f = 0; f < t.features(); ++f) features(f, s) = t.feature(i, m, f);
  }
  return features;
}

}  // namespace

std::vector<int> features_without_products(const Trajectories& t) {
  const int count = t.features();
  std::vector<int> kept;
  for (int f = 0; f < count; ++f) kept.push_back(f);
  if (count > kMostFeatures || t.count() == 0) return kept;
  const Eigen::MatrixXd steps = spread_steps(t);
  if (steps.size() == 0) return kept;
  // What is zero, or always the same, is a product of many things, and says nothing.
  const auto says_something = [&](int f) {
    const auto row = steps.row(f).array();
    return row.isFinite().all() && (row != 0).all() && (row != row(0)).any();
  };
  const auto is_product = [&](int f, int a, int b) {
    for (Eigen::Index s = 0; s < steps.cols(); ++s) {
      const double product = steps(a, s) * steps(b, s);
      if (!(std::abs(steps(f, s) - product) <= kProductRounding * std::abs(steps(f, s)))) {
        return false;
      }
    }
    return true;
  };
  /// Of two others that `may` be factors.
  const auto is_one = [&](int f, const auto& may) {
    if (!says_something(f)) return false;
    for (int a = 0; a < count; ++a) {
      if (a == f || !may(a)) continue;
      for (int b = a; b < count; ++b) {
        if (b != f && may(b) && is_product(f, a, b)) return true;
      }
    }
    return false;
  };
  std::vector<bool> candidates;
  for (int f = 0; f < count; ++f) candidates.push_back(is_one(f, [](int) { return true; }));
  // Factors must be there when their products are not: of x and x · 1 both stay.
  std::erase_if(kept, [&](int f) {
    return candidates[f] && is_one(f, [&](int a) { return !candidates[a]; });
  });
  return kept;
}

}  // namespace lifeguard
