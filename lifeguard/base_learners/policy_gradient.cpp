#include "lifeguard/base_learners/policy_gradient.hpp"

#include "lifeguard/base_learners/batch_kernels.hpp"

namespace lifeguard {

void compute_policy_gradient(const Trajectories& t, const GaussianPolicy& policy,
                             const double* advantages, PolicyGradient& result,
                             const double* curvature_weights) {
  const int features = t.features();
  const int actions = t.actions();
  const int n = t.count();
  const std::size_t stride = t.stride();
  result.stride = stride;
  result.gradient.resize(actions * features);
  result.fisher.resize(features, features);
  result.gains = policy.gains();
  result.trajectory_gradients.assign(static_cast<std::size_t>(actions * features) * stride, 0.0);
  result.trajectory_products.assign(
      static_cast<std::size_t>(features * (features + 1) / 2) * stride, 0.0);
  add_scores(t, result.gains.data(), advantages, curvature_weights,
             result.trajectory_gradients.data(), result.trajectory_products.data());

  const double precision = 1.0 / (policy.sigma() * policy.sigma());
  double* gradients = result.trajectory_gradients.data();
  for (int entry = 0; entry < actions * features; ++entry) {
    double* row = gradients + static_cast<std::size_t>(entry) * stride;
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      row[i] *= precision;
      sum += row[i];
    }
    result.gradient(entry) = sum / n;
  }
  const double* row = result.trajectory_products.data();
  for (int f = 0; f < features; ++f) {
    for (int h = f; h < features; ++h) {
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += row[i];
      result.fisher(f, h) = sum * precision / n;
      result.fisher(h, f) = result.fisher(f, h);
      row += stride;
    }
  }
}

}  // namespace lifeguard
