#include "lifeguard/safety/sets/safe_set.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {
namespace {

// Rounding errors of whoever computed Θ, in parts of its largest eigenvalue.
constexpr double kThetaRounding = 1e-12;
constexpr double kRoundUp = 1 + 0x1p-30;  // covers the rounding of a norm
constexpr int kSquarings = 7;
// What is added to an estimated ρ² before it is proven, in turn.
constexpr double kAllowances[] = {1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2};
constexpr double kBelowOne = 1 - 0x1p-40;

void require_symmetric(const std::string& field, const Eigen::MatrixXd& matrix) {
  require_size(field + " columns", matrix.cols(), matrix.rows());
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      require_finite(fmt::format("{}({}, {})", field, i, j), matrix(i, j));
    }
  }
  require(matrix == matrix.transpose(), field, "another matrix than its transpose",
          "must be symmetric");
}

/// Whether Cholesky's method ends without a pivot that is not positive. Overwrites the matrix.
template <class Matrix>
bool factors(Matrix& matrix) {
  const Eigen::Index n = matrix.rows();
  for (Eigen::Index j = 0; j < n; ++j) {
    double pivot = matrix(j, j);
    for (Eigen::Index l = 0; l < j; ++l) pivot -= matrix(j, l) * matrix(j, l);
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    const double root = std::sqrt(pivot);
    matrix(j, j) = root;
    for (Eigen::Index i = j + 1; i < n; ++i) {
      double entry = matrix(i, j);
      for (Eigen::Index l = 0; l < j; ++l) entry -= matrix(i, l) * matrix(j, l);
      matrix(i, j) = entry / root;
    }
  }
  return true;
}

}  // namespace

GainInequality::GainInequality(std::string name, Eigen::MatrixXd theta, Eigen::MatrixXd limit)
    : name_(std::move(name)), theta_(std::move(theta)), limit_(std::move(limit)) {
  require(!name_.empty(), "name", "\"\"", "an inequality must have a name");
  const std::string of = fmt::format(" of \"{}\"", name_);
  require(limit_.rows() > 0, "limit" + of, "0 rows", "must have at least 1");
  require(theta_.rows() > limit_.rows(), "theta" + of, static_cast<double>(theta_.rows()),
          "must have more rows than the limit: one for each feature and each action");
  require(features() <= kMostFeatures, "limit" + of, static_cast<double>(features()),
          fmt::format("must have at most {} rows", kMostFeatures));
  require(actions() <= kMostActions, "theta" + of, static_cast<double>(actions()),
          fmt::format("must be for at most {} actions", kMostActions));
  require_symmetric("limit" + of, limit_);
  require_symmetric("theta" + of, theta_);
  const Eigen::LLT<Eigen::MatrixXd> cholesky(limit_);
  require(cholesky.info() == Eigen::Success, "limit" + of, "not positive definite",
          "must be positive definite");
  require(theta_.bottomRightCorner(actions(), actions()).diagonal().maxCoeff() > 0, "theta" + of,
          "0 in the block of the actions", "must depend on the gains");
  const Eigen::VectorXd eigenvalues =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(theta_, Eigen::EigenvaluesOnly).eigenvalues();
  require(eigenvalues(0) >= -kThetaRounding * eigenvalues(eigenvalues.size() - 1), "theta" + of,
          eigenvalues(0), "must be positive semi-definite; this is its smallest eigenvalue");
  factor_inverse_ = Square::Identity(features(), features());
  cholesky.matrixL().solveInPlace(factor_inverse_);
  require(factor_inverse_.allFinite(), "limit" + of, "nearly singular", "must be invertible");
  state_length_ = theta_.topLeftCorner(features(), features()).norm() * kRoundUp;
  mixed_length_ = theta_.bottomLeftCorner(actions(), features()).norm() * kRoundUp;
  action_length_ = theta_.bottomRightCorner(actions(), actions()).norm() * kRoundUp;
  limit_length_ = limit_.norm() * kRoundUp;
  limit_trace_ = limit_.trace() * kRoundUp;
}

GainInequality GainInequality::renamed(std::string name) const {
  GainInequality result = *this;
  result.name_ = std::move(name);
  return result;
}

bool GainInequality::operator==(const GainInequality& other) const {
  return name_ == other.name_ && theta_.rows() == other.theta_.rows() &&
         limit_.rows() == other.limit_.rows() && theta_ == other.theta_ && limit_ == other.limit_;
}

void GainInequality::fill_product(const Eigen::Ref<const Eigen::VectorXd>& parameters,
                                  Square& product) const {
  using Gains = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kMostActions,
                              kMostFeatures>;
  const int n = features();
  const int m = actions();
  Gains gains(m, n);
  for (int a = 0; a < m; ++a) {
    for (int f = 0; f < n; ++f) gains(a, f) = parameters(a * n + f);
  }
  // T = Θ_xx + KᵀV + VᵀK with V = Θ_ux + ½ Θ_uu K.
  Gains half(m, n);
  for (int f = 0; f < n; ++f) {
    for (int a = 0; a < m; ++a) {
      double sum = 0;
      for (int b = 0; b < m; ++b) sum += theta_(n + b, n + a) * gains(b, f);
      half(a, f) = theta_(n + a, f) + 0.5 * sum;
    }
  }
  product.resize(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      double sum = 0;
      for (int a = 0; a < m; ++a) sum += gains(a, i) * half(a, j) + half(a, i) * gains(a, j);
      product(i, j) = product(j, i) = theta_(i, j) + sum;
    }
  }
}

void GainInequality::scale(Square& matrix) const {
  Square left(matrix.rows(), matrix.cols());
  left.noalias() = factor_inverse_.lazyProduct(matrix);
  matrix.noalias() = left.lazyProduct(factor_inverse_.transpose());
}

double GainInequality::ratio(const Eigen::Ref<const Eigen::VectorXd>& parameters) const {
  Square product;
  fill_product(parameters, product);
  scale(product);
  if (!product.allFinite()) return kInfinity;
  const Eigen::SelfAdjointEigenSolver<Square> eigen(product, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, eigen.eigenvalues()(features() - 1)));
}

double GainInequality::proven_ratio(const Eigen::Ref<const Eigen::VectorXd>& parameters,
                                    double error) const {
  const int n = features();
  Square product;
  fill_product(parameters, product);
  // ‖T‖ changes by at most 2 (‖Θ_ux‖ + ‖Θ_uu‖ ‖K‖) ‖δ‖ + ‖Θ_uu‖ ‖δ‖² when K changes by δ. Each
  // entry of T is a sum of at most 2 m + 1 terms of products of up to m + 2 factors, each of ρ²Q -
  // T has two roundings more, and Cholesky's method is off by at most (n + 2) u tr(ρ²Q - T). Twice
  // all of it, which covers the roundings of this bound.
  const double length = parameters.norm() * kRoundUp + error;
  const double magnitude =
      state_length_ + length * (2 * mixed_length_ + length * action_length_) + limit_length_;
  const double moved =
      error * (2 * mixed_length_ + action_length_ * (2 * length + error)) * kRoundUp;
  const double roundings =
      kUnitRoundoff * (static_cast<double>(4 * actions() + 2 * n + 24) * magnitude +
                       static_cast<double>(n + 4) * limit_trace_);
  const double allowed = 2 * (roundings + moved) + std::numeric_limits<double>::min();
  if (!std::isfinite(allowed) || !product.allFinite()) return kInfinity;

  // A power of the scaled matrix has its first direction; what counts is the proof below.
  Square scaled = product;
  scale(scaled);
  Square power = scaled;
  Square squared(n, n);
  for (int i = 0; i < kSquarings; ++i) {
    const double trace = power.trace();
    if (!(trace > 0)) break;
    power /= trace;
    squared.noalias() = power.lazyProduct(power);
    power.swap(squared);
  }
  Eigen::Index largest = 0;
  power.diagonal().maxCoeff(&largest);
  using Direction = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMostFeatures, 1>;
  const Direction direction = power.col(largest);
  const Direction image = scaled.lazyProduct(direction);
  const double square = direction.squaredNorm();
  const double estimate = square > 0 ? direction.dot(image) / square : scaled.trace();
  const auto prove = [&](double part) {
    Square rest = part * limit_ - product;
    rest.diagonal().array() -= allowed;
    return factors(rest);
  };
  for (const double allowance : kAllowances) {
    const double part = (estimate + allowance) * (1 + allowance);
    if (part >= kBelowOne) break;
    if (prove(part)) return std::sqrt(part) * (1 + 4 * kUnitRoundoff);
  }
  return prove(kBelowOne) ? std::sqrt(kBelowOne) * (1 + 4 * kUnitRoundoff) : kInfinity;
}

void GainInequality::add_tangents(const Eigen::Ref<const Eigen::VectorXd>& parameters, double least,
                                  std::vector<Tangent>& tangents) const {
  const int n = features();
  const int m = actions();
  Square product;
  fill_product(parameters, product);
  scale(product);
  if (!product.allFinite()) return;
  const Eigen::SelfAdjointEigenSolver<Square> eigen(product);
  for (int i = n - 1; i >= 0; --i) {
    const double square = eigen.eigenvalues()(i);
    if (!(square > 0) || square < least * least) return;
    // For x of length 1 in Q, ‖(x, K x)‖_Θ is convex in K with the gradient
    // (Θ_ux x + Θ_uu K x) xᵀ / ‖(x, K x)‖_Θ.
    const double value = std::sqrt(square);
    const Eigen::VectorXd x = factor_inverse_.transpose() * eigen.eigenvectors().col(i);
    Eigen::VectorXd action(m);
    for (int a = 0; a < m; ++a) action(a) = parameters.segment(a * n, n).dot(x);
    const Eigen::VectorXd pull =
        (theta_.bottomLeftCorner(m, n) * x + theta_.bottomRightCorner(m, m) * action) / value;
    if (pull.isZero(0)) continue;
    Tangent tangent{Eigen::VectorXd(parameters.size()), 0};
    for (int a = 0; a < m; ++a) tangent.row.segment(a * n, n) = pull(a) * x;
    tangent.bound = 1 - value + tangent.row.dot(parameters);
    tangents.push_back(std::move(tangent));
  }
}

}  // namespace lifeguard
