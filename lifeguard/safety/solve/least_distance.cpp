#include "lifeguard/safety/solve/least_distance.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

// A row whose squared distance from the span of the active rows, relative to its own square, is
// below this counts as dependent: smaller pivots are rounding errors of the Gram matrix.
constexpr double kDependent = 1e-13;

}  // namespace

void DualActiveSet::reset(long capacity) {
  size_ = 0;
  capacity_ = capacity;
  if (multipliers_.size() >= capacity) return;
  rows_.resize(static_cast<std::size_t>(capacity));
  multipliers_.resize(capacity);
  rhs_.resize(capacity);
  column_.resize(capacity);
  direction_.resize(capacity);
  products_.resize(capacity);
  factor_.resize(capacity, capacity);
}

bool DualActiveSet::factor_column(const Eigen::Ref<const Eigen::VectorXd>& products,
                                  double square) {
  const auto upper = factor_.topLeftCorner(size_, size_).triangularView<Eigen::Upper>();
  column_.head(size_) = products;
  upper.transpose().solveInPlace(column_.head(size_));
  pivot_ = square - column_.head(size_).squaredNorm();
  return size_ < capacity_ && pivot_ > kDependent * square;
}

bool DualActiveSet::append(int row, const Eigen::Ref<const Eigen::VectorXd>& products,
                           double square) {
  if (!factor_column(products, square)) return false;
  factor_.col(size_).head(size_) = column_.head(size_);
  factor_(size_, size_) = std::sqrt(pivot_);
  rows_[static_cast<std::size_t>(size_)] = row;
  multipliers_[size_] = 0;
  ++size_;
  return true;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): a Ref is the reference.
void DualActiveSet::solve(Eigen::Ref<Eigen::VectorXd> residual) const {
  assert(residual.size() == size_);
  const auto upper = factor_.topLeftCorner(size_, size_).triangularView<Eigen::Upper>();
  upper.transpose().solveInPlace(residual);
  upper.solveInPlace(residual);
}

void DualActiveSet::settle(const Eigen::Ref<const Eigen::VectorXd>& violations_at_target) {
  assert(violations_at_target.size() == size_);
  rhs_.head(size_) = violations_at_target;
  while (size_ > 0) {
    multipliers_.head(size_) = rhs_.head(size_);
    solve(multipliers_.head(size_));
    Eigen::Index worst = 0;
    if (multipliers_.head(size_).minCoeff(&worst) >= 0) return;
    for (long i = worst; i + 1 < size_; ++i) rhs_[i] = rhs_[i + 1];
    drop(worst);
  }
}

void DualActiveSet::drop(long position) {
  // Without its column the factor has one entry below the diagonal in each later column; plane
  // rotations of neighbouring rows remove them.
  for (long j = position; j + 1 < size_; ++j) {
    factor_.col(j).head(j + 2) = factor_.col(j + 1).head(j + 2);
    rows_[static_cast<std::size_t>(j)] = rows_[static_cast<std::size_t>(j + 1)];
    multipliers_[j] = multipliers_[j + 1];
  }
  --size_;
  for (long j = position; j < size_; ++j) {
    const double a = factor_(j, j);
    const double b = factor_(j + 1, j);
    const double length = std::hypot(a, b);
    const double c = a / length;
    const double s = b / length;
    factor_(j, j) = length;
    for (long i = j + 1; i < size_; ++i) {
      const double top = factor_(j, i);
      const double below = factor_(j + 1, i);
      factor_(j, i) = c * top + s * below;
      factor_(j + 1, i) = c * below - s * top;
    }
  }
}

DualActiveSet::Outcome DualActiveSet::enforce(int row,
                                              const Eigen::Ref<const Eigen::VectorXd>& products,
                                              double square, double violation) {
  products_.head(size_) = products;
  double multiplier = 0;
  while (true) {
    const bool independent = factor_column(products_.head(size_), square);
    direction_.head(size_) = column_.head(size_);
    factor_.topLeftCorner(size_, size_)
        .triangularView<Eigen::Upper>()
        .solveInPlace(direction_.head(size_));
    // The full step makes the row hold; the partial step ends where a multiplier reaches 0.
    const double full = independent ? violation / pivot_ : kInfinity;
    double step = full;
    long leaving = -1;
    for (long i = 0; i < size_; ++i) {
      if (direction_[i] <= 0) continue;
      const double limit = multipliers_[i] / direction_[i];
      if (limit < step) {
        step = limit;
        leaving = i;
      }
    }
    if (!std::isfinite(step)) return Outcome::contradictory;
    for (long i = 0; i < size_; ++i) {
      multipliers_[i] = std::max(0.0, multipliers_[i] - step * direction_[i]);
    }
    multiplier += step;
    if (leaving < 0) break;
    if (independent) violation -= step * pivot_;
    for (long i = leaving; i + 1 < size_; ++i) products_[i] = products_[i + 1];
    drop(leaving);
  }
  append(row, products_.head(size_), square);
  multipliers_[size_ - 1] = multiplier;
  return Outcome::added;
}

}  // namespace lifeguard
