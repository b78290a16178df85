#include "lifeguard/lifelong/task_prior.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// ψ is never less than this share of the mean eigenvalue: no direction is known for certain.
constexpr double kLeastSpread = 1e-6;

}  // namespace

TaskPrior::TaskPrior(int features, int actions, double zeta, double lowest, double highest)
    : features_(features),
      parameters_(features * actions),
      lowest_(lowest),
      highest_(highest),
      basis_(Eigen::MatrixXd::Zero(parameters_, parameters_)) {
  const double reserve = SpectrumVerifier::reserve(parameters_, parameters_, highest);
  require(highest - lowest > 4 * reserve, "q", highest,
          "must be greater than p beyond rounding errors of LᵀL");
  const double variance = std::clamp(zeta * zeta, lowest + reserve, highest - reserve);
  variances_.setConstant(parameters_, variance);
  basis_.diagonal().setConstant(variance == zeta * zeta ? zeta : std::sqrt(variance));
}

bool TaskPrior::maximise(const Eigen::MatrixXd& moments, double tasks,
                         const Eigen::MatrixXd& metric, double first_spread, int directions,
                         Workspace& w) {
  // With Ḡ = R Rᵀ and y = Rᵀδ the spread is ψI, and the answer is that of probabilistic principal
  // components: the eigenvectors of the second moment of y.
  w.factor = metric;
  for (Eigen::Index b = 0; b < different_blocks(metric); ++b) {
    Eigen::Ref<Eigen::MatrixXd> block = w.factor.middleRows(b * features_, features_);
    if (Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>>(block).info() != Eigen::Success) return false;
  }
  const Eigen::Index actions = parameters_ / features_;
  // x ← Rᵀ x.
  const auto whiten = [&](const Eigen::MatrixXd& x, Eigen::MatrixXd& result) {
    result.resize(parameters_, parameters_);
    for (Eigen::Index a = 0; a < actions; ++a) {
      const auto factor = action_block(w.factor, a);
      for (Eigen::Index i = 0; i < features_; ++i) {
        auto row = result.row(a * features_ + i);
        row = factor(i, i) * x.row(a * features_ + i);
        for (Eigen::Index j = i + 1; j < features_; ++j) {
          row += factor(j, i) * x.row(a * features_ + j);
        }
      }
    }
  };
  whiten(moments, w.whitened);
  w.turned = w.whitened.transpose();
  whiten(w.turned, w.whitened);
  w.whitened.diagonal().array() += first_spread;
  w.turned = (0.5 / (tasks + 1)) * (w.whitened + w.whitened.transpose());
  w.own.compute(w.turned);
  const Eigen::VectorXd& values = w.own.eigenvalues();
  if (w.own.info() != Eigen::Success || !values.allFinite()) return false;
  const double mean = values.mean();
  if (!(mean > 0)) return false;
  const int k = std::min(directions, parameters_ - 1);
  const double spread = std::max(values.head(parameters_ - k).mean(), kLeastSpread * mean);
  w.lengths.setConstant(parameters_, std::sqrt(spread));
  w.lengths.tail(k) = values.tail(k).cwiseMax(spread).cwiseSqrt();
  w.axes = w.own.eigenvectors() * w.lengths.asDiagonal();
  // P = R⁻ᵀ (axes axesᵀ) R⁻¹, and its own principal axes in the units of the parameters.
  for (Eigen::Index a = 0; a < actions; ++a) {
    auto block = w.axes.middleRows(a * features_, features_);
    action_block(w.factor, a).transpose().triangularView<Eigen::Upper>().solveInPlace(block);
  }
  w.turned.noalias() = w.axes * w.axes.transpose();
  w.principal.compute(w.turned);
  if (w.principal.info() != Eigen::Success || !w.principal.eigenvalues().allFinite()) return false;
  const double reserve = SpectrumVerifier::reserve(parameters_, parameters_, highest_);
  w.lengths = w.principal.eigenvalues().reverse();
  w.lengths = w.lengths.cwiseMax(lowest_ + reserve).cwiseMin(highest_ - reserve);
  w.turned = w.principal.eigenvectors().rowwise().reverse();
  w.axes = w.turned * w.lengths.cwiseSqrt().asDiagonal();
  if (!w.verifier.inside(w.axes, lowest_, highest_)) return false;
  basis_ = w.axes;
  variances_ = w.lengths;
  w.axes = w.turned * w.lengths.cwiseInverse().asDiagonal();
  precision_.noalias() = w.axes * w.turned.transpose();
  spread_ = spread;
  known_ = true;
  return true;
}

void TaskPrior::express(const Eigen::VectorXd& deviation, Eigen::VectorXd& coefficients) const {
  coefficients.noalias() = basis_.transpose() * deviation;
  coefficients.array() /= variances_.array();
}

void TaskPrior::save(StateWriter& writer) const {
  writer.field("prior_known", known_);
  if (!known_) return;
  writer.field("spread", spread_);
  writer.field("variances", variances_);
  writer.field("precision", precision_);
}

void TaskPrior::load(StateReader& reader, Eigen::MatrixXd basis) {
  require(basis.allFinite(), "basis", "(a number that is not finite)", "must be finite");
  reader.field("prior_known", known_);
  if (!known_) {
    require(basis == basis_, "basis", "another one", "must be the first one");
    return;
  }
  basis_ = std::move(basis);
  reader.field("spread", spread_);
  reader.field("variances", variances_);
  reader.field("precision", precision_);
  require_positive("spread", spread_);
  require_size("variances", variances_.size(), parameters_);
  for (const double variance : variances_) require_positive("variances", variance);
  require_size("precision (rows)", precision_.rows(), parameters_);
  require_size("precision (columns)", precision_.cols(), parameters_);
  require(precision_.allFinite(), "precision", "(a number that is not finite)", "must be finite");
}

}  // namespace lifeguard
