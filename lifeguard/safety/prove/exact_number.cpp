#include "lifeguard/safety/prove/exact_number.hpp"

#include <algorithm>
#include <cmath>

namespace lifeguard {

ExactNumber::ExactNumber(double value) {
  if (value == 0) return;
  const double mantissa = std::frexp(value, &exponent);  // value = mantissa · 2^exponent
  auto whole = static_cast<long long>(std::ldexp(mantissa, 53));
  for (exponent -= 53; whole % 2 == 0; whole /= 2) ++exponent;
  digits = whole;
}

ExactNumber operator+(const ExactNumber& x, const ExactNumber& y) {
  if (x.is_zero()) return y;
  if (y.is_zero()) return x;
  const int e = std::min(x.exponent, y.exponent);
  return {(x.digits << (x.exponent - e)) + (y.digits << (y.exponent - e)), e};
}
ExactNumber operator-(const ExactNumber& x) { return {-x.digits, x.exponent}; }
ExactNumber operator-(const ExactNumber& x, const ExactNumber& y) { return x + -y; }
ExactNumber operator*(const ExactNumber& x, const ExactNumber& y) {
  return {x.digits * y.digits, x.exponent + y.exponent};
}
bool operator<(const ExactNumber& x, const ExactNumber& y) { return (x - y).digits < 0; }
bool operator<=(const ExactNumber& x, const ExactNumber& y) { return (x - y).digits <= 0; }

ExactNumber magnitude(const ExactNumber& x) { return {abs(x.digits), x.exponent}; }

double approximate(const ExactNumber& x) {
  using Integer = ExactNumber::Integer;
  const Integer numerator = x.exponent > 0 ? Integer(x.digits << x.exponent) : x.digits;
  const Integer denominator = Integer(1) << std::max(0, -x.exponent);
  return boost::multiprecision::cpp_rational(numerator, denominator).convert_to<double>();
}

ExactVector exact(const Eigen::VectorXd& values) {
  ExactVector result;
  for (const double value : values) result.emplace_back(value);
  return result;
}

Definite definiteness(const ExactRows& matrix) {
  using Integer = ExactNumber::Integer;
  int lowest = 0;
  for (const ExactVector& row : matrix) {
    for (const ExactNumber& entry : row) {
      if (!entry.is_zero()) lowest = std::min(lowest, entry.exponent);
    }
  }
  const std::size_t n = matrix.size();
  std::vector<std::vector<Integer>> a(n, std::vector<Integer>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const ExactNumber& entry = matrix[i][j];
      if (!entry.is_zero()) a[i][j] = entry.digits << (entry.exponent - lowest);
      if (j < i && a[i][j] != a[j][i]) return Definite::no;  // not even symmetric
    }
  }
  Definite result = Definite::positive;
  Integer previous = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const Integer pivot = a[i][i];
    if (pivot < 0) return Definite::no;
    if (pivot == 0) {
      for (std::size_t j = i + 1; j < n; ++j) {
        if (a[i][j] != 0) return Definite::no;
      }
      result = Definite::semidefinite;
      continue;
    }
    for (std::size_t r = i + 1; r < n; ++r) {
      for (std::size_t c = i + 1; c < n; ++c) {
        a[r][c] = (a[r][c] * pivot - a[r][i] * a[i][c]) / previous;
      }
    }
    previous = pivot;
  }
  return result;
}

}  // namespace lifeguard
