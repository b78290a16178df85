#include "lifeguard/safety/solve/metric_projection.hpp"

#include <Eigen/Cholesky>

#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/tightened_tasks.hpp"

namespace lifeguard {

struct MetricProjection::Workspace {
  CoefficientStep solver;
  CoefficientMemory memory;
  Eigen::MatrixXd factor;  // C
  RowMajorMatrix rows;     // A (I ⊗ C⁻ᵀ)
  Eigen::VectorXd limits;  // (b - A ᾱ)(1 - margin)
  Eigen::VectorXd slack;
  Eigen::VectorXd wanted;   // y
  Eigen::VectorXd nearest;  // y'
};

MetricProjection::MetricProjection() : workspace_(std::make_unique<Workspace>()) {}
MetricProjection::~MetricProjection() = default;
MetricProjection::MetricProjection(MetricProjection&&) noexcept = default;
MetricProjection& MetricProjection::operator=(MetricProjection&&) noexcept = default;

CoefficientPath MetricProjection::project(const SafeSet& set,
                                          const Eigen::Ref<const Eigen::VectorXd>& anchor,
                                          const Eigen::MatrixXd& metric, double margin,
                                          Eigen::Ref<Eigen::VectorXd> policy) {
  if (set.rows() == 0) return CoefficientPath::inside;
  auto& [solver, memory, factor, rows, limits, slack, wanted, nearest] = *workspace_;
  limits = set.limits();
  limits.noalias() -= set.coefficients() * anchor;
  const double slack_limit = tightened_slack_limit(limits.norm(), set.slack_limit(), margin);
  limits *= 1 - margin;
  wanted = policy - anchor;
  slack = limits;
  slack.noalias() -= set.coefficients() * wanted;
  if (slack.minCoeff() >= 0 && slack.norm() <= slack_limit) return CoefficientPath::inside;
  factor = metric;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(factor);
  if (cholesky.info() != Eigen::Success) return CoefficientPath::not_run;
  const Eigen::Index width = metric.rows();
  const auto lower = cholesky.matrixL();
  rows = set.coefficients();
  nearest.resize(wanted.size());
  for (Eigen::Index start = 0; start < wanted.size(); start += width) {
    // Rows a of the block become C⁻¹a, the wanted policy Cᵀα.
    auto block = rows.middleCols(start, width);
    lower.transpose().solveInPlace<Eigen::OnTheRight>(block);
    auto part = wanted.segment(start, width);
    for (Eigen::Index i = 0; i < width; ++i) {
      part(i) = factor.col(i).tail(width - i).dot(part.tail(width - i));
    }
  }
  memory.active_rows.clear();  // what is left of other rounds must not change a bit
  const CoefficientPath path = solver.solve(rows, limits, slack_limit, wanted, memory, nearest);
  for (Eigen::Index start = 0; start < wanted.size(); start += width) {
    auto block = nearest.segment(start, width);
    lower.transpose().solveInPlace(block);
  }
  policy = anchor + nearest;
  return path;
}

}  // namespace lifeguard
