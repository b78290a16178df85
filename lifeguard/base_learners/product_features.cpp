#include "lifeguard/base_learners/product_features.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace lifeguard {
namespace {

/// How many steps are looked at: that random numbers fit by chance so often is out of question.
constexpr int kStepsLookedAt = 6;
/// Of more of them pairs are not tried.
constexpr int kMostFeatures = 256;
/// A product may be rounded otherwise where it was computed.
constexpr double kProductRounding = 1e-12;

/// Φ at some steps, one in each column.
Eigen::MatrixXd some_steps(const Trajectories& t) {
  Eigen::MatrixXd features(t.features(), kStepsLookedAt);
  Eigen::Index found = 0;
  // Later steps first: a batch may begin where many features are zero.
  for (int k = 0; k < t.count() && found < kStepsLookedAt; ++k) {
    const int length = t.length(k);
    if (length == 0) continue;
    const int m = length - 1 - k % std::min(length, kStepsLookedAt);
    for (int f = 0; f < t.features(); ++f) features(f, found) = t.feature(k, m, f);
    ++found;
  }
  // Fewer trajectories: further steps of the first.
  for (int m = t.count() > 0 ? t.length(0) - 2 : -1; m >= 0 && found < kStepsLookedAt; --m) {
    for (int f = 0; f < t.features(); ++f) features(f, found) = t.feature(0, m, f);
    ++found;
  }
  return features.leftCols(found);
}

}  // namespace

std::vector<int> features_without_products(const Trajectories& t) {
  const Eigen::MatrixXd steps = some_steps(t);
  const bool decided = steps.cols() == kStepsLookedAt && t.features() <= kMostFeatures;
  const auto is_product = [&](int f, int a, int b) {
    for (Eigen::Index s = 0; s < steps.cols(); ++s) {
      const double product = steps(a, s) * steps(b, s);
      if (std::abs(steps(f, s) - product) > kProductRounding * std::abs(product)) return false;
    }
    return true;
  };
  std::vector<int> kept;
  for (int f = 0; f < t.features(); ++f) {
    bool product = false;
    // A feature times a constant 1 is itself.
    for (int a = 0; a < t.features() && !product && decided; ++a) {
      for (int b = a; b < t.features() && !product && a != f; ++b) {
        product = b != f && is_product(f, a, b);
      }
    }
    if (!product) kept.push_back(f);
  }
  return kept;
}

}  // namespace lifeguard
