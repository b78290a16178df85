#include "lifeguard/base_learners/policy_gradient.hpp"

#include <algorithm>

#include "lifeguard/base_learners/batch_kernels.hpp"

namespace lifeguard {

void compute_policy_gradient(const Trajectories& t, const GaussianPolicy& policy,
                             const double* advantages, PolicyGradient& result,
                             const double* curvature_weights) {
  const int features = t.features();
  const int actions = t.actions();
  const int n = t.count();
  const std::size_t stride = padded_count(t);
  result.stride = stride;
  result.gradient.resize(actions * features);
  result.fisher.resize(features, features);
  result.gains = policy.gains();
  const int entries = actions * features;
  const int products = features * (features + 1) / 2;
  result.trajectory_gradients.assign(static_cast<std::size_t>(entries) * stride, 0.0);
  result.trajectory_products.assign(static_cast<std::size_t>(products) * stride, 0.0);
  result.trajectory_curvatures.assign(stride, 0.0);
  result.trajectory_noises.assign(static_cast<std::size_t>(actions + 2) * stride, 0.0);
  result.row_sums.resize(static_cast<std::size_t>(std::max({entries, products, actions + 1})));
  const double precision = 1.0 / (policy.sigma() * policy.sigma());
  double* noises = result.trajectory_noises.data();
  double* squares = noises + static_cast<std::size_t>(actions) * stride;
  add_scores(t, result.gains.data(), precision, advantages, curvature_weights,
             {result.trajectory_gradients.data(), result.trajectory_products.data(),
              result.trajectory_curvatures.data(), noises, squares, squares + stride});

  scale_and_sum(t, precision, result.trajectory_gradients.data(), entries, result.row_sums.data());
  for (int k = 0; k < entries; ++k) result.gradient(k) = result.row_sums[k] / n;
  scale_and_sum(t, precision, result.trajectory_products.data(), products, result.row_sums.data());
  const double* sum = result.row_sums.data();
  for (int f = 0; f < features; ++f) {
    for (int h = f; h < features; ++h, ++sum) {
      result.fisher(f, h) = *sum / n;
      result.fisher(h, f) = result.fisher(f, h);
    }
  }
  scale_and_sum(t, 1.0, result.trajectory_curvatures.data(), 1, &result.curvature_sum);
  scale_and_sum(t, 1.0, noises, actions + 1, result.row_sums.data());
  result.noise_sums.resize(actions);
  for (int a = 0; a < actions; ++a) result.noise_sums(a) = result.row_sums[a];
  result.noise_squares = result.row_sums[actions];
  const double* largest = squares + stride;
  result.largest_noise_square = *std::max_element(largest, largest + n);
}

}  // namespace lifeguard
