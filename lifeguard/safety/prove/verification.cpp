#include "lifeguard/safety/prove/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

constexpr double kSmallestNormal = std::numeric_limits<double>::min();  // covers underflow

// An upper bound on a computed sum of squares' root, over sums of up to 2^20 terms.
constexpr double kLengthRoundUp = 1 + 0x1p-30;

double rounding_part(long d, long k) { return 2 * static_cast<double>(d + k + 8) * kUnitRoundoff; }

}  // namespace

ProjectionTask::ProjectionTask(const SafeSet& set, Eigen::VectorXd anchor)
    : set_(set),
      rows_(set.coefficients()),
      limits_(set.limits()),
      anchor_(std::move(anchor)),
      slack_limit_(set.slack_limit()) {
  check();
}

ProjectionTask::ProjectionTask(Eigen::MatrixXd rows, Eigen::VectorXd limits, Eigen::VectorXd anchor,
                               double slack_limit)
    : set_(1),
      rows_(std::move(rows)),
      limits_(std::move(limits)),
      anchor_(std::move(anchor)),
      slack_limit_(slack_limit) {
  check();
}

void ProjectionTask::check() {
  require_size("limits", limits_.size(), rows_.rows());
  require_size("anchor", anchor_.size(), rows_.cols());
  require(rows_.cols() > 0, "anchor", static_cast<double>(anchor_.size()),
          "must have at least 1 entry");
  for (Eigen::Index i = 0; i < anchor_.size(); ++i)
    require_finite(indexed("anchor", i), anchor_[i]);
  for (Eigen::Index i = 0; i < rows_.rows(); ++i) {
    require_finite(indexed("limits", i), limits_[i]);
    for (Eigen::Index j = 0; j < rows_.cols(); ++j) {
      require_finite(indexed(indexed("rows", i), j), rows_(i, j));
    }
  }
  require(slack_limit_ > 0, "slack_limit", slack_limit_, "must be greater than 0");
  row_lengths_ = rows_.rowwise().norm() * kLengthRoundUp;
  anchor_length_ = anchor_.norm() * kLengthRoundUp;
  reduced_ = limits_ - rows_ * anchor_;
  // Twice what the verifier will allow for the anchor, with k at most d.
  const double part = 2 * rounding_part(rows_.cols(), rows_.cols());
  for (Eigen::Index i = 0; i < reduced_.size(); ++i) {
    reduced_[i] -=
        part * (row_lengths_[i] * anchor_length_ + std::fabs(limits_[i])) + kSmallestNormal;
    require(reduced_[i] > 0, indexed("limits", i), limits_[i],
            "must leave the anchor strictly inside, beyond rounding");
  }
  const auto count = static_cast<Eigen::Index>(inequalities().size());
  anchor_ratios_.resize(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const GainInequality& inequality = inequalities()[i];
    // Twice as much as the verifier will allow for.
    anchor_ratios_(i) = inequality.proven_ratio(anchor_, part * anchor_length_);
    require(anchor_ratios_(i) < 1, "anchor", fmt::format("\"{}\"", inequality.name()),
            "must hold strictly at the anchor, beyond rounding");
  }
  TaskVerifier verifier;
  const Eigen::MatrixXd no_basis = Eigen::MatrixXd::Zero(anchor_.size(), 1);
  require(verifier.margin(*this, no_basis, 0, Eigen::VectorXd::Zero(1)).safe(), "slack_limit",
          slack_limit_, "must leave the anchor strictly inside the slack ball, beyond rounding");
}

double rounded_up_length(const Eigen::MatrixXd& basis) { return basis.norm() * kLengthRoundUp; }

double rounding_bound(long d, long k, double length) { return rounding_part(d, k) * length; }

TaskMargin TaskVerifier::margin(const ProjectionTask& task, const Eigen::MatrixXd& basis,
                                double basis_length,
                                const Eigen::Ref<const Eigen::VectorXd>& coefficients) {
  const Eigen::MatrixXd& rows = task.rows();
  parameters_ = task.anchor();
  parameters_.noalias() += basis * coefficients;
  image_.noalias() = rows * parameters_;

  const double part = rounding_part(rows.cols(), basis.cols());
  const double length =
      kLengthRoundUp * (task.anchor_length() + basis_length * coefficients.norm());
  TaskMargin result;
  result.row_margin = kInfinity;
  result.slack_margin = kInfinity;
  double slack_square = 0;
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const double error = part * (task.row_lengths()[i] * length) + kSmallestNormal;
    const double limit = task.limits()[i];
    const double value = image_[i] + error;
    // The sign of a difference of two doubles is exact; its size may be rounded, so take a bit off.
    const double difference = limit - value;
    // An overflow that ends in NaN must not be forgotten when the next row is fine.
    const double lower = std::isnan(difference) ? -kInfinity
                         : difference > 0       ? difference * (1 - 4 * kUnitRoundoff)
                                                : difference;
    if (lower < result.row_margin) {
      result.row_margin = lower;
      result.worst_row = static_cast<int>(i);
    }
    const double slack = std::fabs(limit - image_[i]) * (1 + 4 * kUnitRoundoff) + error;
    slack_square += slack * slack;
  }
  for (std::size_t i = 0; i < task.inequalities().size(); ++i) {
    const double lower = 1 - task.inequalities()[i].proven_ratio(parameters_, part * length);
    if (lower < result.row_margin) {
      result.row_margin = lower;
      result.worst_row = static_cast<int>(rows.rows()) + static_cast<int>(i);
    }
  }
  if (!std::isfinite(length)) result.row_margin = -kInfinity;
  if (task.has_ball()) {
    const double growth = 1 + 2 * static_cast<double>(rows.rows() + 8) * kUnitRoundoff;
    const double slack_length = std::sqrt(slack_square) * growth + kSmallestNormal;
    const double difference = task.slack_limit() - slack_length;
    result.slack_margin = difference > 0 ? difference * (1 - 4 * kUnitRoundoff) : difference;
  }
  return result;
}

bool TaskVerifier::all_safe(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& basis,
                            const Eigen::MatrixXd& coefficients, std::vector<TaskMargin>* margins) {
  require_size("coefficients", coefficients.cols(), static_cast<long>(tasks.size()));
  const double basis_length = rounded_up_length(basis);
  if (margins != nullptr) margins->resize(tasks.size());
  bool all = true;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const TaskMargin m =
        margin(tasks[t], basis, basis_length, coefficients.col(static_cast<Eigen::Index>(t)));
    all = all && m.safe();
    if (margins != nullptr) (*margins)[t] = m;
  }
  return all;
}

double SpectrumVerifier::reserve(long d, long k, double q) {
  return 4 * rounding_part(d, k) * static_cast<double>(k) * q;
}

bool SpectrumVerifier::inside(const Eigen::MatrixXd& basis, double p, double q) {
  const bool same = p == proven_p_ && q == proven_q_ && basis.rows() == proven_.rows() &&
                    basis.cols() == proven_.cols() && basis == proven_;
  if (same) return true;
  if (!prove(basis, p, q)) return false;
  proven_ = basis;
  proven_p_ = p;
  proven_q_ = q;
  return true;
}

bool SpectrumVerifier::prove(const Eigen::MatrixXd& basis, double p, double q) {
  const Eigen::Index k = basis.cols();
  gram_.noalias() = basis.transpose() * basis;
  const double square = basis.squaredNorm() * kLengthRoundUp;
  const double part = rounding_part(basis.rows(), k);
  if (!(square <= static_cast<double>(k) * q * kLengthRoundUp)) return false;  // also not a number
  // The two errors, of the product and of the factorisation, are each at most half of this.
  shifted_ = gram_;
  shifted_.diagonal().array() -= p + 2 * part * square;
  cholesky_.compute(shifted_);
  if (cholesky_.info() != Eigen::Success) return false;
  shifted_ = -gram_;
  shifted_.diagonal().array() += q - 2 * part * static_cast<double>(k) * q;
  cholesky_.compute(shifted_);
  return cholesky_.info() == Eigen::Success;
}

}  // namespace lifeguard
