#include "lifeguard/safety/solve/metric_projection.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/tangents.hpp"
#include "lifeguard/safety/solve/tightened_tasks.hpp"

namespace lifeguard {

struct MetricProjection::Workspace {
  CoefficientStep solver;
  CoefficientMemory memory;
  Eigen::MatrixXd factor;  // C
  RowMajorMatrix rows;     // A C⁻ᵀ
  Eigen::VectorXd limits;  // (b - A ᾱ)(1 - margin)
  Eigen::VectorXd slack;
  Eigen::VectorXd wanted;   // y
  Eigen::VectorXd nearest;  // y'
  std::vector<GainInequality::Tangent> tangents;
};

MetricProjection::MetricProjection() : workspace_(std::make_unique<Workspace>()) {}
MetricProjection::~MetricProjection() = default;
MetricProjection::MetricProjection(MetricProjection&&) noexcept = default;
MetricProjection& MetricProjection::operator=(MetricProjection&&) noexcept = default;

CoefficientPath MetricProjection::project(const SafeSet& set,
                                          const Eigen::Ref<const Eigen::VectorXd>& anchor,
                                          const Eigen::MatrixXd& metric, double margin,
                                          Eigen::Ref<Eigen::VectorXd> policy) {
  if (!set.constrained()) return CoefficientPath::inside;
  CoefficientMemory& memory = workspace_->memory;
  Eigen::MatrixXd& factor = workspace_->factor;
  RowMajorMatrix& rows = workspace_->rows;
  Eigen::VectorXd& limits = workspace_->limits;
  Eigen::VectorXd& slack = workspace_->slack;
  Eigen::VectorXd& wanted = workspace_->wanted;
  Eigen::VectorXd& nearest = workspace_->nearest;
  std::vector<GainInequality::Tangent>& tangents = workspace_->tangents;
  const CurvedConstraints curved{set.inequalities(), set.coefficients(), set.limits(),
                                 set.slack_limit()};
  limits = set.limits();
  limits.noalias() -= set.coefficients() * anchor;
  // With matrix inequalities the slack limit is one of the curved constraints.
  const double slack_limit =
      curved.exist() ? kInfinity : tightened_slack_limit(limits.norm(), set.slack_limit(), margin);
  limits *= 1 - margin;
  wanted = policy - anchor;
  slack = limits;
  slack.noalias() -= set.coefficients() * wanted;
  const bool within_rows = slack.size() == 0 || slack.minCoeff() >= 0;
  if (within_rows && slack.norm() <= slack_limit &&
      (!curved.exist() || strictly_safe(set, policy))) {
    return CoefficientPath::inside;
  }
  factor = metric;
  const Eigen::Index width = metric.cols();
  const Eigen::Index different = different_blocks(metric);
  for (Eigen::Index b = 0; b < different; ++b) {
    Eigen::Ref<Eigen::MatrixXd> own = factor.middleRows(b * width, width);
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(own);
    if (cholesky.info() != Eigen::Success) return CoefficientPath::not_run;
  }
  const auto factor_of = [&](Eigen::Index start) { return action_block(factor, start / width); };
  const auto upper_of = [&](Eigen::Index start) {
    const auto lower = factor_of(start).triangularView<Eigen::Lower>();
    return lower.transpose();
  };
  rows = set.coefficients();
  nearest.resize(wanted.size());
  for (Eigen::Index start = 0; start < wanted.size(); start += width) {
    // Rows a of the block become C⁻¹a, the wanted policy Cᵀα.
    auto block = rows.middleCols(start, width);
    const auto own_factor = factor_of(start);
    upper_of(start).solveInPlace<Eigen::OnTheRight>(block);
    auto part = wanted.segment(start, width);
    for (Eigen::Index i = 0; i < width; ++i) {
      part(i) = own_factor.col(i).tail(width - i).dot(part.tail(width - i));
    }
  }
  memory.active_rows.clear();  // what is left of other rounds must not change a bit
  CoefficientPath path = CoefficientPath::inside;
  const auto solve = [&] {
    nearest.resize(wanted.size());
    path = workspace_->solver.solve(rows, limits, slack_limit, wanted, memory, nearest);
    for (Eigen::Index start = 0; start < wanted.size(); start += width) {
      auto block = nearest.segment(start, width);
      upper_of(start).solveInPlace(block);
    }
  };
  if (within_rows && curved.exist()) {
    nearest = policy - anchor;
  } else {
    solve();
  }
  policy = anchor + nearest;
  if (!curved.exist()) return path;

  double ratio = curved.largest_ratio(policy);
  for (int step = 0; step < kMostCuttingSteps && ratio > 1 + kRatioTolerance; ++step) {
    tangents.clear();
    curved.add_tangents(policy, 1, tangents);
    Eigen::Index row = rows.rows();
    rows.conservativeResize(row + static_cast<Eigen::Index>(tangents.size()), Eigen::NoChange);
    limits.conservativeResize(rows.rows());
    for (const GainInequality::Tangent& tangent : tangents) {
      rows.row(row) = tangent.row.transpose();
      for (Eigen::Index start = 0; start < wanted.size(); start += width) {
        auto block = rows.row(row).segment(start, width);
        upper_of(start).solveInPlace<Eigen::OnTheRight>(block);
      }
      limits(row++) = (1 - margin) * std::max(0.0, tangent.bound - tangent.row.dot(anchor));
    }
    solve();
    policy = anchor + nearest;
    if (path == CoefficientPath::scaled) break;
    ratio = curved.largest_ratio(policy);
  }
  // What is left over is taken back towards the anchor.
  const double scale =
      convex_scale(curved.largest_ratio(anchor), curved.largest_ratio(policy), 1 - margin);
  if (scale < 1) policy = anchor + scale * nearest;
  return path == CoefficientPath::inside ? CoefficientPath::rows : path;
}

}  // namespace lifeguard
