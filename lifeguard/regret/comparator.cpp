#include "lifeguard/regret/comparator.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/tangents.hpp"

namespace lifeguard {

namespace {

// The S-step's solver works with Gram matrices, so the coordinates may be scaled by 1e5 at most.
constexpr double kLeastCurvature = 1e-10;
// Proximal steps end at this part of the sum's size.
constexpr double kGapTolerance = 1e-13;
constexpr int kProximalSteps = 60;

/// Multiplies each action's part by its block.
Eigen::VectorXd blockwise(const Eigen::MatrixXd& blocks, const Eigen::VectorXd& x) {
  const Eigen::Index width = blocks.cols();
  Eigen::VectorXd result(x.size());
  for (Eigen::Index start = 0; start < x.size(); start += width) {
    result.segment(start, width).noalias() =
        action_block(blocks, start / width) * x.segment(start, width);
  }
  return result;
}

/// Each block transposed.
Eigen::MatrixXd transposed(const Eigen::MatrixXd& blocks) {
  Eigen::MatrixXd result(blocks.rows(), blocks.cols());
  for (Eigen::Index b = 0; b < different_blocks(blocks); ++b) {
    result.middleRows(b * blocks.cols(), blocks.cols()) = action_block(blocks, b).transpose();
  }
  return result;
}

/// The eigenvalues and eigenvectors of each block.
struct BlockSpectrum {
  Eigen::VectorXd values;   // of one block after the other
  Eigen::MatrixXd vectors;  // blocks whose columns they are

  explicit BlockSpectrum(const Eigen::MatrixXd& blocks)
      : values(blocks.rows()), vectors(blocks.rows(), blocks.cols()) {
    const Eigen::Index width = blocks.cols();
    for (Eigen::Index b = 0; b < different_blocks(blocks); ++b) {
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(action_block(blocks, b));
      values.segment(b * width, width) = eigen.eigenvalues();
      vectors.middleRows(b * width, width) = eigen.eigenvectors();
    }
  }
};

/// The dual value at `result.alpha`, for any λ, ν ≥ 0. With z = α' - α and the residual
/// ρ = ∇f(α) + Aᵀλ + ν∇h(α), h(α) = ½(‖b - Aα‖² - c²), every safe α' has
///   f(α') = f(α) + ∇f(α)ᵀz + ½zᵀHz ≥ f(α) - λᵀ(b - Aα) + νh(α) + min_z (ρᵀz + ½zᵀHz),
/// since λᵀAz ≤ λᵀ(b - Aα) and h is convex. The minimum is -½ρᵀH⁻¹ρ.
class Dual {
 public:
  Dual(const LossSum& sum, const SafeSet& set, const BlockSpectrum& spectrum,
       const Eigen::VectorXd& floored)
      : sum_(sum),
        set_(set),
        vectors_(transposed(spectrum.vectors)),
        inverse_(floored.cwiseInverse()) {}

  /// Multipliers of the given rows, and of the ball if it binds, that make ρ least.
  void certify(const std::vector<int>& rows, bool ball, ComparatorResult& result) const {
    const Eigen::VectorXd gradient = sum_.gradient(result.alpha);
    result.multipliers = Eigen::VectorXd::Zero(set_.rows());
    result.ball_multiplier = 0;
    Eigen::VectorXd residual = gradient;
    double lower = result.value;
    if (set_.rows() > 0) {
      const Eigen::VectorXd slack = set_.limits() - set_.coefficients() * result.alpha;
      std::vector<int> columns = rows;
      if (ball) columns.push_back(-1);
      const auto normal = [&](int column) -> Eigen::VectorXd {
        if (column >= 0) return set_.coefficients().row(column).transpose();
        return -set_.coefficients().transpose() * slack;
      };
      const Eigen::VectorXd found = least_residual(columns, normal, gradient);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const double multiplier = found(static_cast<Eigen::Index>(i));
        residual += multiplier * normal(columns[i]);
        if (columns[i] >= 0) {
          result.multipliers(columns[i]) = multiplier;
          lower -= multiplier * std::max(0.0, slack(columns[i]));
        } else {
          result.ball_multiplier = multiplier;
          const double limit = set_.slack_limit();
          lower += multiplier * 0.5 * std::min(0.0, slack.squaredNorm() - limit * limit);
        }
      }
    }
    const Eigen::VectorXd turned = blockwise(vectors_, residual);
    for (Eigen::Index i = 0; i < turned.size(); ++i) {
      lower -= 0.5 * turned(i) * turned(i) * inverse_(i % inverse_.size());
    }
    result.lower_bound = lower;
  }

 private:
  // Least squares in the norm √(ρᵀH⁻¹ρ); columns with negative multipliers leave.
  template <class Normal>
  Eigen::VectorXd least_residual(std::vector<int>& columns, const Normal& normal,
                                 const Eigen::VectorXd& gradient) const {
    const Eigen::VectorXd rhs = scaled(gradient);
    while (!columns.empty()) {
      Eigen::MatrixXd matrix(gradient.size(), static_cast<Eigen::Index>(columns.size()));
      for (std::size_t i = 0; i < columns.size(); ++i) {
        matrix.col(static_cast<Eigen::Index>(i)) = scaled(normal(columns[i]));
      }
      Eigen::VectorXd found = matrix.colPivHouseholderQr().solve(-rhs);
      Eigen::Index worst = 0;
      if (found.minCoeff(&worst) >= 0) return found;
      columns.erase(columns.begin() + worst);
    }
    return {};
  }

  Eigen::VectorXd scaled(const Eigen::VectorXd& x) const {
    Eigen::VectorXd turned = blockwise(vectors_, x);
    for (Eigen::Index i = 0; i < turned.size(); ++i) {
      turned(i) *= std::sqrt(inverse_(i % inverse_.size()));
    }
    return turned;
  }

  const LossSum& sum_;
  const SafeSet& set_;
  Eigen::MatrixXd vectors_;  // blocks whose rows are eigenvectors of those of G
  Eigen::VectorXd inverse_;  // of its eigenvalues, rounding errors of G excluded
};

ComparatorResult best_among_rows(const LossSum& sum, const SafeSet& set,
                                 const Eigen::VectorXd& interior);

/// A set of rows that holds `set`: its own rows, and the tangent planes.
SafeSet with_tangents(const SafeSet& set, const std::vector<GainInequality::Tangent>& tangents) {
  const auto count = static_cast<Eigen::Index>(tangents.size());
  Eigen::MatrixXd rows(set.rows() + count, set.parameters());
  Eigen::VectorXd limits(rows.rows());
  std::vector<std::string> names(set.names().begin(), set.names().begin() + set.rows());
  rows.topRows(set.rows()) = set.coefficients();
  limits.head(set.rows()) = set.limits();
  for (Eigen::Index i = 0; i < count; ++i) {
    const GainInequality::Tangent& tangent = tangents[static_cast<std::size_t>(i)];
    rows.row(set.rows() + i) = tangent.row.transpose();
    limits(set.rows() + i) = tangent.bound;
    names.push_back(fmt::format("tangent plane {} of the set", i));
  }
  return rows.rows() == 0 ? SafeSet(set.parameters())
                          : SafeSet(std::move(rows), std::move(limits), std::move(names));
}

}  // namespace

ComparatorResult best_in_hindsight(const LossSum& sum, const SafeSet& set,
                                   const Eigen::VectorXd& interior) {
  require_size("safe set", set.parameters(), sum.linear.size());
  require_size("interior", interior.size(), sum.linear.size());
  if (set.inequalities().empty()) return best_among_rows(sum, set, interior);
  // Tangent planes cut off what the best policy behind those before violates. Every safe policy
  // lies behind all of them, so what bounds the sum there bounds it here.
  const CurvedConstraints curved{set.inequalities(), set.coefficients(), set.limits(),
                                 set.slack_limit()};
  const double interior_ratio = curved.largest_ratio(interior);
  std::vector<GainInequality::Tangent> tangents;
  ComparatorResult best;
  for (int step = 0; step < kMostCuttingSteps; ++step) {
    ComparatorResult next = best_among_rows(sum, with_tangents(set, tangents), interior);
    const Eigen::VectorXd found = next.alpha;
    const double ratio = curved.largest_ratio(found);
    const double scale = convex_scale(interior_ratio, ratio, 1 - 1e-12);
    if (scale < 1) {
      next.alpha = interior + scale * (found - interior);
      next.value = sum.value(next.alpha);
    }
    next.multipliers.conservativeResize(set.rows());
    if (!tangents.empty()) next.status = ComparatorStatus::constrained;
    const double lower = next.lower_bound;
    if (step == 0 || next.value <= best.value) best = next;
    best.lower_bound = step == 0 ? lower : std::max(lower, best.lower_bound);
    if (ratio <= 1 + kRatioTolerance) break;
    curved.add_tangents(found, 1, tangents);
  }
  best.lower_bound = std::min(best.lower_bound, best.value);
  return best;
}

LossSum::LossSum(int features, int parameters)
    : curvature(Eigen::MatrixXd::Zero(features, features)),
      linear(Eigen::VectorXd::Zero(parameters)),
      reference(Eigen::VectorXd::Zero(parameters)) {}

double LossSum::value(const Eigen::VectorXd& alpha) const {
  const Eigen::VectorXd x = alpha - reference;
  return x.dot(0.5 * blockwise(curvature, x) - linear) + constant;
}

Eigen::VectorXd LossSum::gradient(const Eigen::VectorXd& alpha) const {
  return blockwise(curvature, alpha - reference) - linear;
}

namespace {

ComparatorResult best_among_rows(const LossSum& sum, const SafeSet& set,
                                 const Eigen::VectorXd& interior) {
  const Eigen::Index d = sum.linear.size();
  const Eigen::Index width = sum.curvature.cols();
  ComparatorResult best;
  best.multipliers = Eigen::VectorXd::Zero(set.rows());
  const BlockSpectrum spectrum(sum.curvature);
  const double largest = spectrum.values.maxCoeff();
  if (!(largest > 0)) {  // no round said anything: every policy is as good
    best.status = ComparatorStatus::unconstrained;
    best.alpha = interior;
    best.value = best.lower_bound = sum.constant;
    return best;
  }
  // Of each block by itself: another unit of an action changes all of its eigenvalues.
  Eigen::VectorXd damping(spectrum.values.size());
  Eigen::VectorXd floored(spectrum.values.size());
  for (Eigen::Index start = 0; start < damping.size(); start += width) {
    const auto own = spectrum.values.segment(start, width);
    damping.segment(start, width)
        .setConstant(std::max(0.0, kLeastCurvature * own.maxCoeff() - own.minCoeff()));
    floored.segment(start, width) = own.cwiseMax(1e-15 * own.maxCoeff());
  }
  const bool damped = damping.maxCoeff() > 0;
  // α = interior + W y, where the curvature, damping included, is the identity.
  const Eigen::VectorXd lengths = (spectrum.values + damping).cwiseSqrt();
  Eigen::MatrixXd to_policy(spectrum.vectors.rows(), width);
  for (Eigen::Index b = 0; b < different_blocks(to_policy); ++b) {
    to_policy.middleRows(b * width, width) =
        action_block(spectrum.vectors, b) *
        lengths.segment(b * width, width).cwiseInverse().asDiagonal();
  }
  const Eigen::MatrixXd from_policy = transposed(to_policy);
  const Dual dual(sum, set, spectrum, floored);

  RowMajorMatrix rows(set.rows(), d);
  for (Eigen::Index start = 0; start < d; start += width) {
    rows.middleCols(start, width) =
        set.coefficients().middleCols(start, width) * action_block(to_policy, start / width);
  }
  const Eigen::VectorXd limits = set.limits() - set.coefficients() * interior;
  const double slack_limit = set.slack_limit();
  const Eigen::VectorXd pull = -sum.gradient(interior);

  CoefficientStep solver;
  CoefficientMemory memory;
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(d);  // of the proximal term, from `interior`
  Eigen::VectorXd y(d);
  for (int pass = 0; pass < kProximalSteps; ++pass) {
    Eigen::VectorXd wanted = pull;
    for (Eigen::Index i = 0; i < d; ++i) wanted(i) += damping(i % damping.size()) * centre(i);
    const Eigen::VectorXd target = blockwise(from_policy, wanted);
    CoefficientPath path = CoefficientPath::inside;
    y = target;
    if (set.rows() > 0) path = solver.solve(rows, limits, slack_limit, target, memory, y);
    if (path == CoefficientPath::inside) memory.active_rows.clear();
    Eigen::VectorXd step = blockwise(to_policy, y);
    if (path != CoefficientPath::inside) {
      step *= longest_scale(set.coefficients() * step, limits, slack_limit);
    }
    ComparatorResult next;
    next.status = path == CoefficientPath::inside ? ComparatorStatus::unconstrained
                                                  : ComparatorStatus::constrained;
    next.alpha = interior + step;
    next.value = sum.value(next.alpha);
    dual.certify(memory.active_rows, path == CoefficientPath::ball, next);
    const double lower =
        pass == 0 ? next.lower_bound : std::max(next.lower_bound, best.lower_bound);
    if (pass == 0 || next.value <= best.value) best = next;
    best.lower_bound = lower;
    const double size = std::abs(sum.constant) + std::abs(best.value);
    if (!damped || best.value - best.lower_bound <= kGapTolerance * size) break;
    centre = step;
  }
  // Rounding may put the bound above the value it bounds.
  best.lower_bound = std::min(best.lower_bound, best.value);
  return best;
}

}  // namespace

}  // namespace lifeguard
