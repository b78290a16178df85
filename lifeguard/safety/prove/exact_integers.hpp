#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "lifeguard/core/stop.hpp"

/// Linear algebra in integers, for the few questions about safe sets that no tolerance may decide.
/// Internal: not installed.
namespace lifeguard::exact_integers {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;
using Integers = std::vector<Integer>;

/// The e with value = odd · 2^e; 0 has none.
inline int lowest_bit(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  auto digits = static_cast<long long>(std::ldexp(mantissa, 53));
  exponent -= 53;
  for (; digits % 2 == 0; digits /= 2) ++exponent;
  return exponent;
}

/// The entries times one power of two: the smallest that makes all of them integers. A row of
/// constraints means the same after such a scaling.
inline Integers to_integers(const Eigen::VectorXd& values) {
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

inline Integer dot(const Integers& x, const Integers& y) {
  Integer sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

inline double ratio(const Integer& numerator, const Integer& denominator) {
  return Rational(numerator, denominator).convert_to<double>();
}

/// numerators / their largest magnitude.
inline Eigen::VectorXd scaled(const Integers& numerators) {
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

  /// Once the deadline has passed, replace() throws Deadline::Passed.
  explicit Basis(std::size_t size, const Deadline& deadline = {})
      : columns_(size, kUnit), inverse_(size, Integers(size, 0)), deadline_(deadline) {
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
      deadline_.check();
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
  Deadline deadline_;
};

/// Takes in every column that is independent of those before it.
inline Basis independent_columns(const std::vector<Integers>& columns,
                                 const Deadline& deadline = {}) {
  Basis basis(columns.front().size(), deadline);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Integers solved = basis.solve(columns[i]);
    const std::size_t position = basis.unit_to_replace(solved);
    if (position < basis.size()) basis.replace(position, static_cast<int>(i), solved);
  }
  return basis;
}

}  // namespace lifeguard::exact_integers
