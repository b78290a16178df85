#include "lifeguard/safety/solve/joint_descent.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lifeguard/safety/solve/coefficient_step.hpp"

namespace lifeguard {

namespace {

constexpr Eigen::Index kMostNumbers = 2500;  // in L: 50 MB for the Hessian
constexpr double kFirstShare = 2;            // the gap of the first weight, of the objective, for
                                             // each part of the room by which the start moves in
constexpr double kLastShare = 0.25;          // the gap of the last weight, of the tolerance
constexpr double kShrink = 0.1;              // of the weight from one minimum to the next
constexpr double kCentred = 0.3;             // Newton's decrement, squared, relative to the weight
constexpr double kSufficient = 1e-4;         // of the decrease that the slope promises
constexpr int kStepHalvings = 50;
constexpr double kNoise = 1e-14;  // of the merit, relative
constexpr double kRelativeFirstRidge = 1e-4;
constexpr double kRidgeGrowth = 8;
constexpr int kRidges = 40;

}  // namespace

void JointDescent::begin(const JointProblem& problem, const Knowledge& start, double inside,
                         double tolerance) {
  problem_ = problem;
  tolerance_ = tolerance;
  point_ = start;
  ridge_ = 0;
  steps_ = 0;
  if (start.basis.size() > kMostNumbers) return;
  constraints_ = 2.0 * static_cast<double>(start.basis.cols());
  for (const TightenedTask& task : *problem.tasks) {
    constraints_ += static_cast<double>(task.rows->rows());
    constraints_ += std::isfinite(task.slack_limit) ? 1 : 0;
  }
  move_inside(inside);
  objective_ = objective(point_);
  constexpr double kDigit = std::numeric_limits<double>::epsilon();
  rounding_ = kDigit * kDigit *
              (problem.mu1 * problem.target->coefficients.squaredNorm() +
               problem.mu2 * problem.target->basis.squaredNorm());
  weight_ = kFirstShare * inside * objective_ / constraints_;
  merit_ = merit(point_);
}

void JointDescent::move_inside(double part) {
  const double room = part * (problem_.high - problem_.low);
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(point_.basis,
                                              Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd values =
      svd.singularValues().cwiseMax(problem_.low + room).cwiseMin(problem_.high - room);
  point_.basis = svd.matrixU() * values.asDiagonal() * svd.matrixV().transpose();
  for (std::size_t t = 0; t < problem_.tasks->size(); ++t) {
    const TightenedTask& task = (*problem_.tasks)[t];
    auto column = point_.coefficients.col(static_cast<Eigen::Index>(t));
    const Eigen::VectorXd image = *task.rows * (point_.basis * column);
    const Eigen::VectorXd bounds = (1 - part) * *task.bounds;
    column *= longest_scale(image, bounds, (1 - part) * task.slack_limit);
  }
}

double JointDescent::objective(const Knowledge& at) const {
  return problem_.mu1 * (at.coefficients - problem_.target->coefficients).squaredNorm() +
         problem_.mu2 * (at.basis - problem_.target->basis).squaredNorm();
}

// The objective with its barriers; infinite outside.
double JointDescent::merit(const Knowledge& at) {
  double logarithms = 0;
  policies_.noalias() = at.basis * at.coefficients;
  for (std::size_t t = 0; t < problem_.tasks->size(); ++t) {
    const TightenedTask& task = (*problem_.tasks)[t];
    slack_ = *task.bounds;
    slack_.noalias() -= *task.rows * policies_.col(static_cast<Eigen::Index>(t));
    if (!(slack_.array() > 0).all()) return kInfinity;
    logarithms += slack_.array().log().sum();
    if (!std::isfinite(task.slack_limit)) continue;
    const double length = slack_.norm();
    if (!(length < task.slack_limit)) return kInfinity;
    logarithms += std::log(task.slack_limit - length) + std::log(task.slack_limit + length);
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(at.basis);
  const auto values = svd.singularValues().array();
  if (!(values > problem_.low && values < problem_.high).all()) return kInfinity;
  logarithms += (values - problem_.low).log().sum() + (problem_.high - values).log().sum();
  const double sum = objective(at) - weight_ * logarithms;
  return std::isfinite(sum) ? sum : kInfinity;
}

bool JointDescent::load_singular_vectors() {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(point_.basis,
                                              Eigen::ComputeThinU | Eigen::ComputeThinV);
  values_ = svd.singularValues();
  right_ = svd.matrixV();
  left_ = Eigen::HouseholderQR<Eigen::MatrixXd>(svd.matrixU()).householderQ();
  left_.leftCols(values_.size()) = svd.matrixU();
  return values_.allFinite();
}

// The barrier of one task is a function of L s; Δ(L s) = ΔL s + L Δs + ΔL Δs. What it needs to
// eliminate s: the Hessian in s and its inverse, and the one between L and s.
bool JointDescent::load_task(Eigen::Index t) {
  const TightenedTask& task = (*problem_.tasks)[static_cast<std::size_t>(t)];
  const Eigen::Index k = values_.size();
  const Eigen::Index m = task.rows->rows();
  rows_.noalias() = *task.rows * left_;
  slack_ = *task.bounds;
  slack_.noalias() -= *task.rows * policies_.col(t);
  force_.noalias() = rows_.transpose() * slack_.cwiseInverse();
  const bool ball = std::isfinite(task.slack_limit);
  ball_curvature_ = 0;
  if (ball) {
    const double length = slack_.norm();
    ball_curvature_ = 2 / ((task.slack_limit - length) * (task.slack_limit + length));
    force_.noalias() -= ball_curvature_ * (rows_.transpose() * slack_);
  }
  factor_.resize(m + (ball ? 1 : 0), rows_.cols());
  factor_.topRows(m) =
      (slack_.array().square().inverse() + ball_curvature_).sqrt().matrix().asDiagonal() * rows_;
  if (ball) factor_.row(m).noalias() = ball_curvature_ * (slack_.transpose() * rows_);

  image_factor_ = factor_.leftCols(k) * values_.asDiagonal();
  Eigen::MatrixXd block = weight_ * (image_factor_.transpose() * image_factor_);
  block.diagonal().array() += 2 * problem_.mu1;
  const Eigen::LLT<Eigen::MatrixXd> cholesky(block);
  if (cholesky.info() != Eigen::Success) return false;
  block_inverse_ = cholesky.solve(Eigen::MatrixXd::Identity(k, k));
  elimination_.noalias() = weight_ * (factor_.transpose() * (image_factor_ * block_inverse_));
  coefficients_.noalias() = right_.transpose() * point_.coefficients.col(t);
  const Eigen::VectorXd way = point_.coefficients.col(t) - problem_.target->coefficients.col(t);
  coefficient_gradient_ = 2 * problem_.mu1 * (right_.transpose() * way) +
                          weight_ * values_.cwiseProduct(force_.head(k));
  return coefficient_gradient_.allFinite() && elimination_.allFinite();
}

// Adds a task to gradient and Hessian in L, its s eliminated. With ŝ = Vᵀs the Hessian has the part
// ŝŝᵀ ⊗ M, M = w Eᵀ(1 + (w/2μ₁) E L LᵀEᵀ)⁻¹E. That is a difference of large matrices unless it is
// taken apart: with E L = Q R, the sum of what is across Q and of what is along it.
void JointDescent::eliminate_task() {
  const Eigen::Index d = left_.rows();
  const Eigen::Index k = values_.size();
  const Eigen::Index m = factor_.rows();
  curvature_.setZero(d, d);
  if (m > k) {
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(image_factor_);
    turned_ = qr.householderQ().transpose() * factor_;
    image_factor_ = Eigen::MatrixXd(qr.matrixQR().topRows(k).triangularView<Eigen::Upper>());
    across_ = turned_.bottomRows(m - k);
    along_ = turned_.topRows(k);
    curvature_.noalias() = across_.transpose() * across_;
  } else {
    along_ = factor_;
  }
  if (m > 0) {
    Eigen::MatrixXd inner =
        (weight_ / (2 * problem_.mu1)) * (image_factor_ * image_factor_.transpose());
    inner.diagonal().array() += 1;
    const Eigen::LLT<Eigen::MatrixXd> cholesky(inner);
    cholesky.matrixL().solveInPlace(along_);
    curvature_.noalias() += along_.transpose() * along_;
  }
  curvature_ *= weight_;
  force_ *= weight_;
  for (Eigen::Index j = 0; j < k; ++j) {
    for (Eigen::Index i = j; i < k; ++i) {
      auto block = hessian_.block(i * d, j * d, d, d);
      block += (coefficients_[i] * coefficients_[j]) * curvature_;
      block.noalias() -= (coefficients_[i] * elimination_.col(j) + block_inverse_(i, j) * force_) *
                         force_.transpose();
      block.noalias() -= (coefficients_[j] * force_) * elimination_.col(i).transpose();
    }
  }
  gradient_.noalias() += force_ * coefficients_.transpose();
  reduced_gradient_.noalias() +=
      (force_ - elimination_ * coefficient_gradient_) * coefficients_.transpose();
  reduced_gradient_.noalias() -= force_ * (block_inverse_ * coefficient_gradient_).transpose();
}

// Of Σ h(σ) with h = −log(σ − low) − log(high − σ): the symmetric part of F is weighed by
// (h'_i − h'_j)/(σ_i − σ_j), the skew one by (h'_i + h'_j)/(σ_i + σ_j), and what is orthogonal to
// the left vectors by h'_j/σ_j.
void JointDescent::add_spectrum() {
  const Eigen::Index d = left_.rows();
  const Eigen::Index k = values_.size();
  const Eigen::VectorXd above = (values_.array() - problem_.low).inverse();
  const Eigen::VectorXd below = (problem_.high - values_.array()).inverse();
  const Eigen::VectorXd slope = below - above;
  for (Eigen::Index j = 0; j < k; ++j) {
    gradient_(j, j) += weight_ * slope[j];
    reduced_gradient_(j, j) += weight_ * slope[j];
    for (Eigen::Index i = 0; i < k; ++i) {
      const double symmetric = above[i] * above[j] + below[i] * below[j];
      const double skew = (slope[i] + slope[j]) / (values_[i] + values_[j]);
      hessian_(j * d + i, j * d + i) += 0.5 * weight_ * (symmetric + skew);
      // What F_ji gives to the derivative by F_ij, in the lower triangle.
      if (i >= j) hessian_(i * d + j, j * d + i) += 0.5 * weight_ * (symmetric - skew);
    }
    for (Eigen::Index i = k; i < d; ++i) {
      hessian_(j * d + i, j * d + i) += weight_ * slope[j] / values_[j];
    }
  }
}

bool JointDescent::load_derivatives() {
  if (!load_singular_vectors()) return false;
  hessian_.setZero(point_.basis.size(), point_.basis.size());
  hessian_.diagonal().setConstant(2 * problem_.mu2);
  gradient_ =
      2 * problem_.mu2 * (left_.transpose() * (point_.basis - problem_.target->basis) * right_);
  reduced_gradient_ = gradient_;
  policies_.noalias() = point_.basis * point_.coefficients;
  for (Eigen::Index t = 0; t < point_.coefficients.cols(); ++t) {
    if (problem_.deadline.passed() || !load_task(t)) return false;
    eliminate_task();
  }
  add_spectrum();
  return reduced_gradient_.allFinite();
}

// Where the Hessian is not positive definite, as much of the identity is added as makes it so.
bool JointDescent::find_basis_step() {
  const double unit = std::max(2 * problem_.mu2, 1e-8 * hessian_.diagonal().cwiseAbs().maxCoeff());
  double ridge = 0;
  for (int attempt = 0; attempt < kRidges && !problem_.deadline.passed(); ++attempt) {
    shifted_hessian_ = hessian_;
    shifted_hessian_.diagonal().array() += ridge;
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(shifted_hessian_);
    if (cholesky.info() == Eigen::Success) {
      ridge_ = ridge;
      basis_step_ = -reduced_gradient_;
      auto numbers = basis_step_.reshaped();
      cholesky.solveInPlace(numbers);
      return basis_step_.allFinite();
    }
    ridge = ridge > 0 ? kRidgeGrowth * ridge
                      : std::max(kRelativeFirstRidge * unit, ridge_ / kRidgeGrowth);
  }
  return false;
}

// The steps of all s, and on the way what curvature makes of the whole step: R.
bool JointDescent::find_coefficient_steps() {
  const Eigen::Index k = values_.size();
  slope_ = gradient_.cwiseProduct(basis_step_).sum();
  basis_residual_ = (2 * problem_.mu2 + ridge_) * basis_step_;
  coefficient_residual_ = 0;
  margin_cost_ = 0;
  coefficient_steps_.resizeLike(point_.coefficients);
  for (Eigen::Index t = 0; t < point_.coefficients.cols(); ++t) {
    if (problem_.deadline.passed() || !load_task(t)) return false;
    const Eigen::VectorXd& bounds = *(*problem_.tasks)[static_cast<std::size_t>(t)].bounds;
    margin_cost_ += problem_.margin * weight_ * bounds.cwiseQuotient(slack_).sum();
    Eigen::VectorXd move = basis_step_ * coefficients_;  // of L s, by ΔL
    const Eigen::VectorXd turn = weight_ * (basis_step_.transpose() * force_);
    const Eigen::VectorXd step =
        -(block_inverse_ * (coefficient_gradient_ + turn)) - elimination_.transpose() * move;
    slope_ += coefficient_gradient_.dot(step);
    coefficient_steps_.col(t).noalias() = right_ * step;
    move.head(k) += values_.cwiseProduct(step);
    move = (weight_ * ball_curvature_) * (rows_.transpose() * (rows_ * move)).eval();
    basis_residual_.noalias() +=
        weight_ * force_ * step.transpose() + move * coefficients_.transpose();
    coefficient_residual_ +=
        (2 * problem_.mu1 * step + turn + values_.cwiseProduct(move.head(k))).squaredNorm();
  }
  return std::isfinite(slope_) && slope_ < 0;
}

bool JointDescent::find_step() {
  return load_derivatives() && find_basis_step() && find_coefficient_steps();
}

// The bound of the class comment.
bool JointDescent::is_stationary() {
  const Eigen::Index d = left_.rows();
  const Eigen::Index k = values_.size();
  const Eigen::VectorXd slope =
      (problem_.high - values_.array()).inverse() - (values_.array() - problem_.low).inverse();
  for (Eigen::Index j = 0; j < k; ++j) {
    for (Eigen::Index i = 0; i < d; ++i) {
      const double turned = i < k ? 0.5 * (slope[i] + slope[j]) / (values_[i] + values_[j]) *
                                        (basis_step_(i, j) - basis_step_(j, i))
                                  : slope[j] / values_[j] * basis_step_(i, j);
      basis_residual_(i, j) += weight_ * turned;
    }
  }
  left_to_gain_ = weight_ * (constraints_ + std::sqrt(constraints_)) +
                  basis_residual_.squaredNorm() / (4 * problem_.mu2) +
                  coefficient_residual_ / (4 * problem_.mu1);
  // No more than all of it, as where the target itself is inside: then the objective falls to 0,
  // and any part of it with it.
  left_to_gain_ = std::min(left_to_gain_, objective_);
  return left_to_gain_ <= std::max({tolerance_ * objective_, margin_cost_, rounding_});
}

bool JointDescent::search_line() {
  const double noise = kNoise * std::fabs(merit_);
  const Eigen::MatrixXd basis_step = left_ * basis_step_ * right_.transpose();
  double step = 1;
  for (int halving = 0; halving < kStepHalvings; ++halving, step *= 0.5) {
    trial_ = point_;
    trial_.basis += step * basis_step;
    trial_.coefficients += step * coefficient_steps_;
    const double value = merit(trial_);
    if (!(value <= merit_ + kSufficient * step * slope_ + noise)) continue;
    std::swap(point_, trial_);
    merit_ = value;
    objective_ = objective(point_);
    return true;
  }
  return false;
}

JointDescent::Outcome JointDescent::advance(int max_steps) {
  steps_ = 0;
  if (point_.basis.size() > kMostNumbers) return Outcome::too_large;
  if (!std::isfinite(merit_)) return Outcome::failed;
  while (true) {
    if (steps_ >= max_steps) return Outcome::step_limit;
    if (!find_step()) return problem_.deadline.passed() ? Outcome::time_limit : Outcome::failed;
    const bool centred = -slope_ <= kCentred * weight_;
    if (centred && is_stationary()) return Outcome::stationary;
    if (!search_line()) return Outcome::failed;
    ++steps_;
    const double last_weight = kLastShare * tolerance_ * objective_ / constraints_;
    if (centred && weight_ > last_weight) {
      weight_ = std::max(kShrink * weight_, last_weight);
      merit_ = merit(point_);
      return Outcome::going_on;
    }
  }
}

}  // namespace lifeguard
