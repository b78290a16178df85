#include "lifeguard/safety/exact_program.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace lifeguard {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;
using Integers = std::vector<Integer>;

/// The e with value = odd · 2^e; 0 has none.
int lowest_bit(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  auto digits = static_cast<long long>(std::ldexp(mantissa, 53));
  exponent -= 53;
  for (; digits % 2 == 0; digits /= 2) ++exponent;
  return exponent;
}

/// The entries times one power of two: the smallest that makes all of them integers. A row of
/// constraints means the same after such a scaling.
Integers to_integers(const Eigen::VectorXd& values) {
  int lowest = std::numeric_limits<int>::max();
  for (const double value : values) {
    if (value != 0) lowest = std::min(lowest, lowest_bit(value));
  }
  Integers result;
  for (const double value : values) {
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    Integer digits = static_cast<long long>(std::ldexp(mantissa, 53));
    const int shift = exponent - 53 - lowest;
    if (value == 0) digits = 0;
    // A shift below 0 only drops zeros.
    result.push_back(shift >= 0 ? Integer(digits << shift)
                                : Integer(digits / (Integer(1) << -shift)));
  }
  return result;
}

Integer dot(const Integers& x, const Integers& y) {
  Integer sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

double ratio(const Integer& numerator, const Integer& denominator) {
  return Rational(numerator, denominator).convert_to<double>();
}

/// numerators / their largest magnitude.
Eigen::VectorXd scaled(const Integers& numerators) {
  Integer largest = 0;
  for (const Integer& n : numerators) largest = std::max(largest, Integer(abs(n)));
  Eigen::VectorXd result(static_cast<long>(numerators.size()));
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    result(static_cast<long>(i)) = ratio(numerators[i], largest);
  }
  return result;
}

/// The inverse of a basis of integer columns, as integers over a common denominator > 0. It starts
/// with the unit columns, which stand for "no row": the position of a real column is its number.
class Basis {
 public:
  static constexpr int kUnit = -1;

  explicit Basis(std::size_t size) : columns_(size, kUnit), inverse_(size, Integers(size, 0)) {
    for (std::size_t i = 0; i < size; ++i) inverse_[i][i] = 1;
  }

  std::size_t size() const { return columns_.size(); }
  int column(std::size_t position) const { return columns_[position]; }
  const Integer& denominator() const { return denominator_; }
  const Integers& row(std::size_t position) const { return inverse_[position]; }

  /// B⁻¹ column, times the denominator.
  Integers solve(const Integers& column) const {
    Integers result;
    for (const Integers& row : inverse_) result.push_back(dot(row, column));
    return result;
  }

  /// costᵀ B⁻¹, times the denominator.
  Integers solve_transposed(const Integers& cost) const {
    Integers result(size(), 0);
    for (std::size_t i = 0; i < size(); ++i) {
      if (cost[i] == 0) continue;
      for (std::size_t j = 0; j < size(); ++j) result[j] += cost[i] * inverse_[i][j];
    }
    return result;
  }

  /// Puts a column in at a position; solved = solve(column), not 0 at the position. The divisions
  /// leave no remainder: all entries are determinants (Bareiss).
  void replace(std::size_t position, int column, const Integers& solved) {
    const Integer& pivot = solved[position];
    for (std::size_t i = 0; i < size(); ++i) {
      if (i == position) continue;
      for (std::size_t j = 0; j < size(); ++j) {
        Integer& entry = inverse_[i][j];
        entry *= pivot;
        if (solved[i] != 0) entry -= solved[i] * inverse_[position][j];
        entry /= denominator_;
      }
    }
    denominator_ = pivot;
    columns_[position] = column;
    if (denominator_ < 0) {
      denominator_ = -denominator_;
      for (Integers& row : inverse_) {
        for (Integer& entry : row) entry = -entry;
      }
    }
  }

  /// The first unit column that the solved column can take the place of; size() if none.
  std::size_t unit_to_replace(const Integers& solved) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (columns_[i] == kUnit && solved[i] != 0) return i;
    }
    return size();
  }

 private:
  std::vector<int> columns_;
  std::vector<Integers> inverse_;
  Integer denominator_ = 1;
};

/// Rows a_iᵀα + n_i r ≤ b_i as columns (a_i, n_i) with cost b_i. The last one is r ≤ max_radius.
struct Program {
  std::vector<Integers> columns;
  Integers costs;

  void add(Integers row_and_limit) {
    costs.push_back(std::move(row_and_limit.back()));
    row_and_limit.pop_back();
    columns.push_back(std::move(row_and_limit));
  }
};

struct Solution {
  Basis basis;
  Integers point;  // (α, r) times the denominator of the basis
};

/// The simplex method on min costᵀy with Σ y_i column_i = (0, …, 0, 1), y ≥ 0. It starts with
/// r = max_radius at α = 0 and takes violated rows in until none is left; the unit columns leave
/// first, at y = 0, so there is no first phase. Bland's rule ends every run of steps that do not
/// change y.
Solution solve(const Program& program) {
  const std::size_t size = program.columns.front().size();
  const std::size_t count = program.columns.size();
  Basis basis(size);
  basis.replace(size - 1, static_cast<int>(count) - 1, basis.solve(program.columns.back()));
  std::size_t still = 0;  // steps since y last changed
  while (true) {
    Integers cost(size, 0);
    for (std::size_t i = 0; i < size; ++i) {
      if (basis.column(i) != Basis::kUnit) {
        cost[i] = program.costs[static_cast<std::size_t>(basis.column(i))];
      }
    }
    Integers point = basis.solve_transposed(cost);
    // The entering row: the one violated most, in units of its n_i, or under Bland's rule the
    // first.
    std::size_t entering = count;
    Integer worst = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Integer slack = program.costs[i] * basis.denominator() - dot(program.columns[i], point);
      if (slack >= 0) continue;
      if (entering == count ||
          slack * program.columns[entering].back() < worst * program.columns[i].back()) {
        entering = i;
        worst = slack;
      }
      if (still > 2 * size) break;
    }
    if (entering == count) return {std::move(basis), std::move(point)};

    const Integers solved = basis.solve(program.columns[entering]);
    std::size_t leaving = basis.unit_to_replace(solved);
    if (leaving == size) {
      for (std::size_t i = 0; i < size; ++i) {
        if (solved[i] <= 0) continue;
        if (leaving == size) {
          leaving = i;
          continue;
        }
        const Integer left = basis.row(i).back() * solved[leaving];
        const Integer right = basis.row(leaving).back() * solved[i];
        if (left < right || (left == right && basis.column(i) < basis.column(leaving))) leaving = i;
      }
      // r can always be lowered until all rows hold, so the dual is bounded and one leaves.
      assert(leaving < size);
    }
    still = basis.row(leaving).back() == 0 ? still + 1 : 0;
    basis.replace(leaving, static_cast<int>(entering), solved);
  }
}

Integers joined(const Eigen::VectorXd& row, double norm, double limit) {
  Eigen::VectorXd values(row.size() + 2);
  values << row, norm, limit;
  return to_integers(values);
}

/// Takes in every column that is independent of those before it.
Basis independent_columns(const std::vector<Integers>& columns) {
  Basis basis(columns.front().size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Integers solved = basis.solve(columns[i]);
    const std::size_t position = basis.unit_to_replace(solved);
    if (position < basis.size()) basis.replace(position, static_cast<int>(i), solved);
  }
  return basis;
}

}  // namespace

DeepestPoint deepest_point(const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                           const Eigen::VectorXd& norms, double max_radius) {
  Program program;
  for (long i = 0; i < a.rows(); ++i) program.add(joined(a.row(i), norms(i), b(i)));
  program.add(joined(Eigen::VectorXd::Zero(a.cols()), 1, max_radius));
  const Solution solution = solve(program);

  DeepestPoint result;
  const Integer& denominator = solution.basis.denominator();
  result.radius_sign = solution.point.back().sign();
  result.radius = ratio(solution.point.back(), denominator);
  result.point.resize(a.cols());
  for (long i = 0; i < a.cols(); ++i) {
    result.point(i) = ratio(solution.point[static_cast<std::size_t>(i)], denominator);
  }
  // y_i of the row as given is y_i of its integer form times the scale 2^e between the two; the
  // scale is read off an entry that is not 0.
  std::vector<std::pair<int, Rational>> multipliers;
  for (std::size_t p = 0; p < solution.basis.size(); ++p) {
    const int row = solution.basis.column(p);
    if (row == Basis::kUnit || row == a.rows() || solution.basis.row(p).back() == 0) continue;
    const Rational scale =
        Rational(program.columns[static_cast<std::size_t>(row)].back()) / Rational(norms(row));
    multipliers.emplace_back(row, scale * Rational(solution.basis.row(p).back()));
  }
  std::sort(multipliers.begin(), multipliers.end());
  Integer denominators = 1;
  for (const auto& [row, y] : multipliers) {
    denominators = lcm(denominators, Integer(boost::multiprecision::denominator(y)));
  }
  Integers integers;
  Integer divisor = 0;
  for (const auto& [row, y] : multipliers) {
    result.rows.push_back(row);
    integers.emplace_back(boost::multiprecision::numerator(Rational(y * Rational(denominators))));
    divisor = gcd(divisor, integers.back());
  }
  for (Integer& y : integers) {
    y /= divisor;
    result.exact_multipliers.push_back(y.str());
  }
  result.multipliers = scaled(integers);
  return result;
}

Eigen::VectorXd null_direction(const Eigen::MatrixXd& a) {
  if (a.rows() == 0) return Eigen::VectorXd::Unit(a.cols(), 0);
  std::vector<Integers> columns;
  for (long i = 0; i < a.rows(); ++i) columns.push_back(to_integers(a.row(i)));
  const Basis basis = independent_columns(columns);
  for (std::size_t p = 0; p < basis.size(); ++p) {
    // This row of the inverse is orthogonal to every column, for none could replace the unit.
    if (basis.column(p) == Basis::kUnit) return scaled(basis.row(p));
  }
  return {};
}

Eigen::VectorXd endless_direction(const Eigen::MatrixXd& a) {
  Eigen::VectorXd null = null_direction(a);
  if (null.size() > 0) return null;
  // Stiemke: A v ≤ 0, A v ≠ 0 has a solution if and only if A v ≤ 0, wᵀv ≤ -1 has one, with w the
  // sum of the rows (after any scaling by positive numbers).
  const auto size = static_cast<std::size_t>(a.cols());
  Program program;
  Integers sum(size + 2, 0);
  for (long i = 0; i < a.rows(); ++i) {
    Integers row = joined(a.row(i), 1, 0);
    for (std::size_t j = 0; j < size; ++j) sum[j] += row[j];
    program.add(std::move(row));
  }
  sum[size] = 1;
  sum[size + 1] = -1;
  program.add(std::move(sum));
  Integers cap(size + 2, 0);
  cap[size] = cap[size + 1] = 1;
  program.add(std::move(cap));
  Solution solution = solve(program);
  if (solution.point.back() < 0) return {};
  solution.point.pop_back();
  return scaled(solution.point);
}

bool proves_slack_above(const Eigen::MatrixXd& a, const Eigen::VectorXd& b, double c,
                        Eigen::VectorXd& y) {
  // Independent rows far from parallel, so that the change of y stays near rounding. The pivoting
  // only chooses; which rows are independent is decided in integers.
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(a.transpose());
  std::vector<int> order;
  std::vector<Integers> columns;
  std::vector<Rational> scales;  // integer column / given row
  for (long i = 0; i < a.rows(); ++i) {
    const int row = qr.colsPermutation().indices()(i);
    order.push_back(row);
    columns.push_back(to_integers(a.row(row)));
    long entry = 0;
    a.row(row).cwiseAbs().maxCoeff(&entry);
    scales.push_back(Rational(columns.back()[static_cast<std::size_t>(entry)]) /
                     Rational(a(row, entry)));
  }
  const Basis basis = independent_columns(columns);
  std::vector<bool> replaced(order.size(), false);
  for (std::size_t p = 0; p < basis.size(); ++p) {
    if (basis.column(p) != Basis::kUnit) replaced[static_cast<std::size_t>(basis.column(p))] = true;
  }
  // B y_B = -Σ over the other rows of y_i a_i, an exact right-hand side.
  std::vector<Rational> exact(order.size(), 0);
  std::vector<Rational> right(basis.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (replaced[i]) continue;
    exact[i] = Rational(y(order[i]));
    for (std::size_t j = 0; j < basis.size(); ++j) {
      right[j] -= exact[i] * Rational(a(order[i], static_cast<long>(j)));
    }
  }
  for (std::size_t p = 0; p < basis.size(); ++p) {
    if (basis.column(p) == Basis::kUnit) continue;
    Rational sum = 0;
    for (std::size_t j = 0; j < basis.size(); ++j) sum += Rational(basis.row(p)[j]) * right[j];
    const auto i = static_cast<std::size_t>(basis.column(p));
    exact[i] = sum / Rational(basis.denominator()) * scales[i];
  }
  Rational product = 0;
  Rational squares = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    product += exact[i] * Rational(b(order[i]));
    if (exact[i] > 0) squares += exact[i] * exact[i];
  }
  const Rational limit = Rational(c) * Rational(c) * squares;
  if (product <= 0 || product * product <= limit) return false;
  for (std::size_t i = 0; i < order.size(); ++i) y(order[i]) = exact[i].convert_to<double>();
  return true;
}

}  // namespace lifeguard
