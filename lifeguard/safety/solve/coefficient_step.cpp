#include "lifeguard/safety/solve/coefficient_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// A row holds when it is violated by no more than this part of its bound (beside rounding).
constexpr double kRowTolerance = 1e-13;
// The ball search ends when the slack is this near to its limit, from inside.
constexpr double kBallTolerance = 1e-11;
constexpr int kRefinements = 8;
constexpr int kBallEvaluations = 100;
// The ball's multiplier without rows, a first guess for the search.
constexpr double kSecularTolerance = 1e-14;
constexpr int kSecularSteps = 60;
// Up to this many variables as many rows may be active; beyond, memory goes by the rows.
constexpr long kSmallSize = 256;

}  // namespace

double longest_scale(const Eigen::Ref<const Eigen::VectorXd>& image,
                     const Eigen::Ref<const Eigen::VectorXd>& bounds, double slack_limit) {
  double scale = 1;
  for (Eigen::Index i = 0; i < image.size(); ++i) {
    if (image[i] * scale > bounds[i]) scale = bounds[i] / image[i];
  }
  if (!std::isfinite(slack_limit)) return scale;
  // ‖r − τ y‖² = c² is a quadratic in τ; its value at 0 is negative, so it has one positive root.
  const double a = image.squaredNorm();
  const double half_b = image.dot(bounds);
  const double c = bounds.squaredNorm() - slack_limit * slack_limit;
  if (a * scale * scale - 2 * half_b * scale + c <= 0) return scale;
  const double root = std::sqrt(std::max(0.0, half_b * half_b - a * c));
  const double crossing = half_b >= 0 ? (half_b + root) / a : -c / (root - half_b);
  return std::clamp(crossing, 0.0, scale);
}

void CoefficientStep::reserve(long rows, long size) {
  capacity_ = size > kSmallSize ? std::min(size, rows) : size;
  rows_.resize(rows, size);
  bounds_.resize(rows);
  target_.resize(size);
  nearest_.resize(size);
  violations_.resize(rows);
  products_.resize(std::max(size, rows));
}

void CoefficientStep::load_rows(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds) {
  for (Eigen::Index i = 0; i < b_rows.rows(); ++i) {
    // A row of zeros can never be violated, since its bound is positive.
    const double length = b_rows.row(i).norm();
    const double scale = length > std::numeric_limits<double>::min() ? 1 / length : 0.0;
    rows_.row(i) = scale * b_rows.row(i);
    bounds_[i] = scale > 0 ? bounds[i] * scale : 1.0;
  }
}

void CoefficientStep::collect_products(int row) {
  const auto active = active_set_.rows();
  for (std::size_t i = 0; i < active.size(); ++i) {
    products_[static_cast<Eigen::Index>(i)] = rows_.row(active[i]).dot(rows_.row(row));
  }
}

// nearest_ = the point nearest to target_ with rows_ x ≤ bounds_.
bool CoefficientStep::nearest(CoefficientMemory& memory) {
  const Eigen::Index size = target_.size();
  active_set_.reset(capacity_);
  for (const int row : memory.active_rows) {
    if (row >= rows_.rows() || rows_.row(row).squaredNorm() < 0.5) continue;
    collect_products(row);
    active_set_.append(row, products_.head(active_set_.size()), 1.0);
  }
  for (long i = 0; i < active_set_.size(); ++i) {
    const int row = active_set_.rows()[static_cast<std::size_t>(i)];
    products_[i] = rows_.row(row).dot(target_) - bounds_[row];
  }
  active_set_.settle(products_.head(active_set_.size()));

  const long limit = 50 + 4 * (rows_.rows() + size);
  for (long iteration = 0; iteration < limit; ++iteration) {
    const auto active = active_set_.rows();
    const long count = active_set_.size();
    nearest_ = target_;
    for (long i = 0; i < count; ++i) {
      nearest_ -=
          active_set_.multipliers()[i] * rows_.row(active[static_cast<std::size_t>(i)]).transpose();
    }
    // x̃ may be far away and the rows nearly parallel; corrections on x itself bring the active rows
    // to equality within the rounding of x, not of x̃.
    double previous = kInfinity;
    for (int pass = 0; pass < kRefinements && count > 0; ++pass) {
      double largest = 0;
      for (long i = 0; i < count; ++i) {
        const int row = active[static_cast<std::size_t>(i)];
        products_[i] = rows_.row(row).dot(nearest_) - bounds_[row];
        largest = std::max(largest, std::fabs(products_[i]) - kRowTolerance * bounds_[row]);
      }
      if (largest <= 4 * kEpsilon * nearest_.norm() || largest > 0.5 * previous) break;
      previous = largest;
      active_set_.solve(products_.head(count));
      for (long i = 0; i < count; ++i) {
        nearest_ -= products_[i] * rows_.row(active[static_cast<std::size_t>(i)]).transpose();
      }
    }
    violations_.noalias() = rows_ * nearest_;
    const double rounding = 8 * kEpsilon * nearest_.norm();
    if (!std::isfinite(rounding)) return false;
    int worst = -1;
    double most = 0;
    for (Eigen::Index i = 0; i < rows_.rows(); ++i) {
      const double excess = violations_[i] - bounds_[i] * (1 + kRowTolerance) - rounding;
      if (excess > most && std::find(active.begin(), active.end(), i) == active.end()) {
        most = excess;
        worst = static_cast<int>(i);
      }
    }
    if (worst < 0) {
      memory.active_rows.assign(active.begin(), active.end());
      return true;
    }
    if (deadline_.passed()) return false;
    ++iterations_;
    collect_products(worst);
    const auto outcome =
        active_set_.enforce(worst, products_.head(count), 1.0, violations_[worst] - bounds_[worst]);
    if (outcome == DualActiveSet::Outcome::contradictory) return false;
  }
  return false;
}

CoefficientPath CoefficientStep::solve(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds,
                                       double slack_limit,
                                       const Eigen::Ref<const Eigen::VectorXd>& target,
                                       CoefficientMemory& memory,
                                       Eigen::Ref<Eigen::VectorXd> solution) {
  iterations_ = 0;
  reserve(b_rows.rows(), b_rows.cols());
  const bool has_ball = std::isfinite(slack_limit);

  violations_.noalias() = b_rows * target;
  if ((violations_.array() <= bounds.array()).all() &&
      (!has_ball || (bounds - violations_).norm() <= slack_limit)) {
    solution = target;
    return CoefficientPath::inside;
  }

  load_rows(b_rows, bounds);
  target_ = target;
  bool solved = nearest(memory);
  CoefficientPath path = CoefficientPath::rows;
  solution = nearest_;
  if (solved && has_ball) {
    residual_ = bounds;
    residual_.noalias() -= b_rows * nearest_;
    if (residual_.norm() > slack_limit) {
      path = CoefficientPath::ball;
      solved = solve_ball(b_rows, bounds, slack_limit, target, memory, solution);
    }
  }
  if (solved) return path;
  // Whatever the iterate is, the way from 0 to it starts strictly inside. With no iterate at all
  // the way to the target serves.
  if (!solution.allFinite()) solution = target;
  if (!solution.allFinite()) solution.setZero();
  violations_.noalias() = b_rows * solution;
  solution *= longest_scale(violations_, bounds, slack_limit);
  memory.active_rows.clear();
  return CoefficientPath::scaled;
}

// ‖r − B s(ν)‖ − c for the minimiser s(ν) of ‖s − s̃‖² + ν‖r − B s‖² over the rows. In the
// eigenvectors W of BᵀB = W E Wᵀ, scaled by √(1 + νE), this is a least-distance program again.
double CoefficientStep::ball_excess(const Eigen::VectorXd& bounds, double slack_limit,
                                    double multiplier, CoefficientMemory& memory) {
  contraction_ = (1 + multiplier * eigen_.eigenvalues().array().max(0.0)).sqrt().inverse();
  scaled_ = rotated_.array().rowwise() * contraction_.transpose().array();
  load_rows(scaled_, bounds);
  target_ = (rotated_target_ + multiplier * rotated_bounds_).array() * contraction_.array();
  if (!nearest(memory)) return kNaN;
  residual_ = bounds;
  residual_.noalias() -= scaled_ * nearest_;
  return residual_.norm() - slack_limit;
}

// The root ν of ‖r − B s(ν)‖ = limit for the s(ν) of ball_excess() without rows:
// y = (Wᵀs̃ + ν g)/(1 + νE) with g = WᵀBᵀr, and ‖r − B s‖² = ‖r‖² − 2 gᵀy + yᵀE y. Newton's method
// on 1/‖r − B s‖, which is nearly linear in ν.
double CoefficientStep::ball_multiplier_without_rows(const Eigen::VectorXd& bounds,
                                                     double limit) const {
  const Eigen::VectorXd& values = eigen_.eigenvalues();
  const double bounds_square = bounds.squaredNorm();
  double multiplier = 0;
  for (int iteration = 0; iteration < kSecularSteps; ++iteration) {
    double square = bounds_square;
    double half_slope = 0;
    for (Eigen::Index i = 0; i < values.size(); ++i) {
      const double e = std::max(0.0, values[i]);
      const double g = rotated_bounds_[i];
      const double inverse = 1 / (1 + multiplier * e);
      const double y = (rotated_target_[i] + multiplier * g) * inverse;
      square += y * (e * y - 2 * g);
      half_slope -= (g - e * y) * (g - e * y) * inverse;
    }
    const double length = std::sqrt(std::max(0.0, square));
    if (length <= limit * (1 + kSecularTolerance) || !(half_slope < 0)) break;
    multiplier += square * (1 - length / limit) / half_slope;
  }
  return multiplier;
}

bool CoefficientStep::solve_ball(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds,
                                 double slack_limit,
                                 const Eigen::Ref<const Eigen::VectorXd>& target,
                                 CoefficientMemory& memory, Eigen::Ref<Eigen::VectorXd> solution) {
  gram_.noalias() = b_rows.transpose() * b_rows;
  // Tasks with the same rows and other bounds, as boxes have, share the decomposition.
  if (gram_.size() != decomposed_.size() || gram_ != decomposed_) {
    eigen_.compute(gram_);
    decomposed_ = gram_;
  }
  if (eigen_.info() != Eigen::Success) return false;
  const auto& vectors = eigen_.eigenvectors();
  rotated_.noalias() = b_rows * vectors;
  rotated_target_.noalias() = vectors.transpose() * target;
  rotated_bounds_.noalias() = rotated_.transpose() * bounds;
  const double largest = eigen_.eigenvalues()[eigen_.eigenvalues().size() - 1];
  if (!(largest > 0)) return false;

  // The excess falls with ν. Without rows it is known in closed form, which gives the first guess,
  // and the answer if no row binds there. Else grow or shrink from it to a bracket.
  double high = ball_multiplier_without_rows(bounds, slack_limit * (1 - 0.5 * kBallTolerance));
  if (!(high > 0)) high = 1 / largest;
  double low = 0;
  double low_value = residual_.norm() - slack_limit;
  double high_value = ball_excess(bounds, slack_limit, high, memory);
  for (int i = 0; i < 60 && high_value > 0; ++i) {
    low = high;
    low_value = high_value;
    high *= i < 4 ? 1.5 : 8.0;
    high_value = ball_excess(bounds, slack_limit, high, memory);
  }
  if (!(high_value <= 0)) return false;
  // Then the secant on 1/‖r‖, which is nearly linear in ν, kept inside the bracket (Illinois).
  const auto merit = [&](double excess) { return excess / (slack_limit + excess); };
  double low_merit = merit(low_value);
  double high_merit = merit(high_value);
  double evaluated = high;
  for (int i = 0; i < kBallEvaluations && high_value < -kBallTolerance * slack_limit; ++i) {
    // Aim at the inside, half a tolerance deep, so that the search ends on the feasible side.
    const double aim = 0.5 * kBallTolerance;
    double next = low + (high - low) * (low_merit + aim) / (low_merit - high_merit);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (!(next > low && next < high)) break;
    evaluated = next;
    const double value = ball_excess(bounds, slack_limit, next, memory);
    if (!std::isfinite(value)) return false;
    if (value <= 0) {
      high = next;
      high_value = value;
      high_merit = merit(value);
      low_merit *= 0.5;
    } else {
      low = next;
      low_merit = merit(value);
      high_merit *= 0.5;
    }
  }
  if (evaluated != high) high_value = ball_excess(bounds, slack_limit, high, memory);
  if (!(high_value <= 0)) return false;
  nearest_.array() *= contraction_.array();
  solution.noalias() = vectors * nearest_;
  return true;
}

}  // namespace lifeguard
