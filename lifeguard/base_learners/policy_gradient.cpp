#include "lifeguard/base_learners/policy_gradient.hpp"

#include <algorithm>

namespace lifeguard {

void compute_policy_gradient(const Trajectories& t, const GaussianPolicy& policy,
                             const double* advantages, PolicyGradient& result,
                             const double* curvature_weights) {
  constexpr int kBlock = 16;
  const int features = t.features();
  const int actions = t.actions();
  const int n = t.count();
  const std::size_t stride = t.stride();
  const int pairs = features * (features + 1) / 2;
  result.stride = stride;
  result.gradient.resize(actions * features);
  result.fisher.resize(features, features);
  // The products of features share the array with the gradients: both are sums over steps.
  result.trajectory_gradients.assign(static_cast<std::size_t>(actions * features + pairs) * stride,
                                     0.0);
  double* gradients = result.trajectory_gradients.data();
  double* products = gradients + static_cast<std::size_t>(actions * features) * stride;

  for (int start = 0; start < n; start += kBlock) {
    for (int m = 0; m < t.steps(); ++m) {
      const double* weight = advantages + static_cast<std::size_t>(m) * stride + start;
      double* sum = gradients + start;
      for (int a = 0; a < actions; ++a) {
        const double* u = t.action_row(m, a) + start;
        double residual[kBlock];
        for (int i = 0; i < kBlock; ++i) residual[i] = u[i];
        for (int f = 0; f < features; ++f) {
          const double gain = policy.gains()(a, f);
          const double* x = t.feature_row(m, f) + start;
          for (int i = 0; i < kBlock; ++i) residual[i] -= gain * x[i];
        }
        for (int i = 0; i < kBlock; ++i) residual[i] *= weight[i];
        for (int f = 0; f < features; ++f) {
          const double* x = t.feature_row(m, f) + start;
          for (int i = 0; i < kBlock; ++i) sum[i] += residual[i] * x[i];
          sum += stride;
        }
      }
      sum = products + start;
      for (int f = 0; f < features; ++f) {
        const double* row = t.feature_row(m, f) + start;
        double x[kBlock];
        for (int i = 0; i < kBlock; ++i) x[i] = row[i];
        if (curvature_weights != nullptr) {
          const double* factor = curvature_weights + static_cast<std::size_t>(m) * stride + start;
          for (int i = 0; i < kBlock; ++i) x[i] *= factor[i];
        }
        for (int h = f; h < features; ++h) {
          const double* y = t.feature_row(m, h) + start;
          for (int i = 0; i < kBlock; ++i) sum[i] += x[i] * y[i];
          sum += stride;
        }
      }
    }
  }

  const double precision = 1.0 / (policy.sigma() * policy.sigma());
  for (int entry = 0; entry < actions * features; ++entry) {
    double* row = gradients + static_cast<std::size_t>(entry) * stride;
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      row[i] *= precision;
      sum += row[i];
    }
    result.gradient(entry) = sum / n;
  }
  int entry = 0;
  for (int f = 0; f < features; ++f) {
    for (int h = f; h < features; ++h) {
      const double* row = products + static_cast<std::size_t>(entry++) * stride;
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += row[i];
      result.fisher(f, h) = sum * precision / n;
      result.fisher(h, f) = result.fisher(f, h);
    }
  }
}

}  // namespace lifeguard
