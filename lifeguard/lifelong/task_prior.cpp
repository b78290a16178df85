#include "lifeguard/lifelong/task_prior.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// Room for rounding between the variances and their limits, which are verified.
constexpr double kLimitRoom = 1e-9;
/// ψ is never less than this share of the mean eigenvalue: no direction is known for certain.
constexpr double kLeastSpread = 1e-6;

}  // namespace

TaskPrior::TaskPrior(int features, int actions, double lowest, double highest)
    : features_(features),
      parameters_(features * actions),
      lowest_(lowest * (1 + kLimitRoom)),
      highest_(highest * (1 - kLimitRoom)) {}

bool TaskPrior::maximise(const Eigen::MatrixXd& moments, double tasks,
                         const Eigen::MatrixXd& metric, double first_spread, int directions) {
  // With Ḡ = R Rᵀ and y = Rᵀδ the spread is ψI, and the answer is that of probabilistic principal
  // components: the eigenvectors of the second moment of y.
  std::vector<Eigen::LLT<Eigen::MatrixXd>> factors;
  for (Eigen::Index i = 0; i < different_blocks(metric); ++i) {
    if (factors.emplace_back(action_block(metric, i)).info() != Eigen::Success) return false;
  }
  const auto factor_of = [&](Eigen::Index action) -> const Eigen::LLT<Eigen::MatrixXd>& {
    return factors[factors.size() == 1 ? 0 : static_cast<std::size_t>(action)];
  };
  const Eigen::Index actions = parameters_ / features_;
  const auto whiten = [&](const Eigen::MatrixXd& x) {
    Eigen::MatrixXd result(x.rows(), x.cols());
    for (Eigen::Index a = 0; a < actions; ++a) {
      result.middleRows(a * features_, features_).noalias() =
          factor_of(a).matrixU() * x.middleRows(a * features_, features_);
    }
    return result;
  };
  Eigen::MatrixXd whitened = whiten(whiten(moments).transpose());
  whitened.diagonal().array() += first_spread;
  whitened /= tasks + 1;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> own(0.5 * (whitened + whitened.transpose()));
  if (own.info() != Eigen::Success || !own.eigenvalues().allFinite()) return false;
  const Eigen::VectorXd& values = own.eigenvalues();
  const double mean = values.mean();
  if (!(mean > 0)) return false;
  const int k = std::min(directions, parameters_ - 1);
  const double spread = std::max(values.head(parameters_ - k).mean(), kLeastSpread * mean);
  Eigen::VectorXd lengths = Eigen::VectorXd::Constant(parameters_, std::sqrt(spread));
  lengths.tail(k) = values.tail(k).cwiseMax(spread).cwiseSqrt();
  const Eigen::MatrixXd axes = own.eigenvectors() * lengths.asDiagonal();
  // P = R⁻ᵀ (axes axesᵀ) R⁻¹, and its own principal axes in the units of the parameters.
  Eigen::MatrixXd unwhitened(parameters_, parameters_);
  for (Eigen::Index a = 0; a < actions; ++a) {
    unwhitened.middleRows(a * features_, features_) =
        factor_of(a).matrixU().solve(axes.middleRows(a * features_, features_));
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> principal(unwhitened *
                                                                 unwhitened.transpose());
  if (principal.info() != Eigen::Success || !principal.eigenvalues().allFinite()) return false;
  set(principal.eigenvectors().rowwise().reverse(), principal.eigenvalues().reverse());
  spread_ = spread;
  return true;
}

void TaskPrior::set(const Eigen::MatrixXd& axes, const Eigen::VectorXd& variances) {
  variances_ = variances.cwiseMax(lowest_).cwiseMin(highest_);
  basis_ = axes * variances_.cwiseSqrt().asDiagonal();
  precision_ = axes * variances_.cwiseInverse().asDiagonal() * axes.transpose();
}

Eigen::MatrixXd TaskPrior::coefficients(const Eigen::MatrixXd& deviations) const {
  return variances_.cwiseInverse().asDiagonal() * (basis_.transpose() * deviations);
}

void TaskPrior::save(StateWriter& writer) const {
  writer.field("prior_known", known());
  if (!known()) return;
  writer.field("spread", spread_);
  writer.field("precision", precision_);
  writer.field("prior_basis", basis_);
  writer.field("variances", variances_);
}

void TaskPrior::load(StateReader& reader) {
  bool known = false;
  reader.field("prior_known", known);
  if (!known) return;
  reader.field("spread", spread_);
  reader.field("precision", precision_);
  reader.field("prior_basis", basis_);
  reader.field("variances", variances_);
  require_positive("spread", spread_);
  for (const Eigen::MatrixXd* matrix : {&precision_, &basis_}) {
    require(matrix->rows() == parameters_ && matrix->cols() == parameters_, "prior",
            static_cast<double>(matrix->rows()), "must have one row for each parameter");
    require(matrix->allFinite(), "prior", "(a number that is not finite)", "must be finite");
  }
  require_size("variances", variances_.size(), parameters_);
  for (const double variance : variances_) require_positive("variances", variance);
}

}  // namespace lifeguard
