#include "lifeguard/base_learners/natural_actor_critic.hpp"

#include <numeric>

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

bool factorise_damped(Eigen::MatrixXd& matrix, double relative_damping,
                      Eigen::LLT<Eigen::MatrixXd>& factor) {
  constexpr double kSingular = 1e-12;
  const double largest = matrix.diagonal().maxCoeff();
  factor.compute(matrix);
  bool regular = factor.info() == Eigen::Success;
  for (Eigen::Index i = 0; regular && i < matrix.rows(); ++i) {
    const double pivot = factor.matrixLLT()(i, i);
    regular = pivot * pivot > kSingular * largest;
  }
  if (regular) return false;
  const double damping = relative_damping * matrix.trace() / static_cast<double>(matrix.rows());
  matrix.diagonal().array() += damping;
  factor.compute(matrix);
  return true;
}

void solve_blocks(const Eigen::LLT<Eigen::MatrixXd>& factor, Eigen::VectorXd& x) {
  const Eigen::Index width = factor.rows();
  for (Eigen::Index start = 0; start < x.size(); start += width) {
    auto block = x.segment(start, width);
    factor.solveInPlace(block);
  }
}

double block_norm_squared(const Eigen::MatrixXd& block, const Eigen::VectorXd& x) {
  const Eigen::Index width = block.rows();
  double sum = 0;
  for (Eigen::Index start = 0; start < x.size(); start += width) {
    for (Eigen::Index j = 0; j < width; ++j) {
      double column = 0;
      for (Eigen::Index i = 0; i < width; ++i) column += block(i, j) * x(start + i);
      sum += column * x(start + j);
    }
  }
  return sum;
}

double measured_noise(const PolicyGradient& gradient, int trajectories,
                      const Eigen::LLT<Eigen::MatrixXd>& fisher_factor, NoiseWorkspace& w) {
  const int features = static_cast<int>(fisher_factor.rows());
  const auto entries = static_cast<int>(gradient.gradient.size());
  const auto n = static_cast<std::size_t>(trajectories);
  const std::size_t width = (n + kSumLanes - 1) / kSumLanes * kSumLanes;
  w.deviations.resize(static_cast<std::size_t>(entries) * width);
  for (int k = 0; k < entries; ++k) {
    const double* from =
        &gradient.trajectory_gradients[static_cast<std::size_t>(k) * gradient.stride];
    double* to = &w.deviations[static_cast<std::size_t>(k) * width];
    const double mean = gradient.gradient(k);
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i] - mean;
    for (std::size_t i = n; i < width; ++i) to[i] = 0.0;
  }
  // Σ_i x_iᵀ (I ⊗ G)⁻¹ x_i = tr(G⁻¹ C) with C = Σ_i Σ_a x_ia x_iaᵀ over the actions' parts of x_i.
  w.rows.resize(static_cast<std::size_t>(features));
  std::iota(w.rows.begin(), w.rows.end(), 0);
  w.sums.resize(static_cast<std::size_t>(features * features) * kSumLanes);
  for (int start = 0; start < entries; start += features) {
    sum_products(&w.deviations[static_cast<std::size_t>(start) * width], width, w.rows.data(),
                 features, 0, features, start > 0, w.sums.data());
  }
  w.covariance.resize(features, features);
  for (int r = 0; r < features; ++r) {
    for (int c = 0; c < features; ++c) {
      w.covariance(r, c) =
          add_lanes(&w.sums[static_cast<std::size_t>(r * features + c) * kSumLanes]);
    }
  }
  fisher_factor.solveInPlace(w.covariance);
  return w.covariance.trace() / (static_cast<double>(trajectories) * (trajectories - 1.0));
}

ReturnRegression regress_returns(const PolicyGradient& scores, const double* returns, int n,
                                 double relative_damping, Eigen::MatrixXd& normal,
                                 Eigen::LLT<Eigen::MatrixXd>& factor, Eigen::VectorXd& direction) {
  const Eigen::Index size = scores.gradient.size();
  normal.resize(size, size);
  direction.resize(size);
  double mean_return = 0;
  for (int i = 0; i < n; ++i) mean_return += returns[i];
  mean_return /= n;
  // scores.gradient is the mean of the scores.
  for (Eigen::Index p = 0; p < size; ++p) {
    const double* x = &scores.trajectory_gradients[static_cast<std::size_t>(p) * scores.stride];
    const double mean = scores.gradient(p);
    double right = 0;
    for (int i = 0; i < n; ++i) right += (x[i] - mean) * (returns[i] - mean_return);
    direction(p) = right;
    for (Eigen::Index q = 0; q <= p; ++q) {
      const double* y = &scores.trajectory_gradients[static_cast<std::size_t>(q) * scores.stride];
      double product = 0;
      for (int i = 0; i < n; ++i) product += (x[i] - mean) * (y[i] - scores.gradient(q));
      normal(p, q) = product;
      normal(q, p) = product;
    }
  }
  ReturnRegression result;
  if (!(normal.trace() > 0)) {  // no scores at all; NaN is the caller's to find
    direction.setZero();
    result.damped = true;
    result.residual_variance = kNaN;
    return result;
  }
  result.damped = factorise_damped(normal, relative_damping, factor);
  factor.solveInPlace(direction);
  double unexplained = 0;
  for (int i = 0; i < n; ++i) {
    double residual = returns[i] - mean_return;
    for (Eigen::Index p = 0; p < size; ++p) {
      residual -=
          direction(p) * (scores.trajectory_gradient(static_cast<int>(p), i) - scores.gradient(p));
    }
    unexplained += residual * residual;
  }
  const double freedom = static_cast<double>(n) - static_cast<double>(size) - 1.0;
  result.residual_variance = freedom > 0 ? unexplained / freedom : kNaN;
  return result;
}

}  // namespace lifeguard
