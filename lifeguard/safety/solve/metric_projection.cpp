#include "lifeguard/safety/solve/metric_projection.hpp"

namespace lifeguard {

CoefficientPath MetricProjection::project(const SafeSet& set,
                                          const Eigen::Ref<const Eigen::VectorXd>& anchor,
                                          const Eigen::MatrixXd& metric, double margin,
                                          Eigen::Ref<Eigen::VectorXd> policy) {
  if (set.rows() == 0) return CoefficientPath::inside;
  limits_ = set.limits();
  limits_.noalias() -= set.coefficients() * anchor;
  const double slack_limit = tightened_slack_limit(limits_.norm(), set.slack_limit(), margin);
  limits_ *= 1 - margin;
  wanted_ = policy - anchor;
  slack_ = limits_;
  slack_.noalias() -= set.coefficients() * wanted_;
  if (slack_.minCoeff() >= 0 && slack_.norm() <= slack_limit) return CoefficientPath::inside;
  factor_ = metric;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(factor_);
  if (cholesky.info() != Eigen::Success) return CoefficientPath::not_run;
  const Eigen::Index width = metric.rows();
  const auto lower = cholesky.matrixL();
  rows_ = set.coefficients();
  nearest_.resize(wanted_.size());
  for (Eigen::Index start = 0; start < wanted_.size(); start += width) {
    // Rows a of the block become C⁻¹a, the wanted policy Cᵀα.
    auto block = rows_.middleCols(start, width);
    lower.transpose().solveInPlace<Eigen::OnTheRight>(block);
    auto part = wanted_.segment(start, width);
    for (Eigen::Index i = 0; i < width; ++i) {
      part(i) = factor_.col(i).tail(width - i).dot(part.tail(width - i));
    }
  }
  memory_.active_rows.clear();  // what is left of other rounds must not change a bit
  const CoefficientPath path =
      solver_.solve(rows_, limits_, slack_limit, wanted_, memory_, nearest_);
  for (Eigen::Index start = 0; start < wanted_.size(); start += width) {
    auto block = nearest_.segment(start, width);
    lower.transpose().solveInPlace(block);
  }
  policy = anchor + nearest_;
  return path;
}

}  // namespace lifeguard
