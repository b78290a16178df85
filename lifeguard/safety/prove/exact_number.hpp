#pragma once

#include <Eigen/Core>
#include <boost/multiprecision/cpp_int.hpp>
#include <utility>
#include <vector>

/// The arithmetic of the checkers: nothing is rounded, and what makes policies, sets and
/// certificates has no part in it. Internal: not installed.
namespace lifeguard {

/// digits · 2^exponent: every finite double, and all sums and products of them.
struct ExactNumber {
  using Integer = boost::multiprecision::cpp_int;

  Integer digits = 0;
  int exponent = 0;

  ExactNumber() = default;
  ExactNumber(Integer d, int e) : digits(std::move(d)), exponent(e) {}
  explicit ExactNumber(double value);

  bool is_zero() const { return digits == 0; }
};

ExactNumber operator+(const ExactNumber& x, const ExactNumber& y);
ExactNumber operator-(const ExactNumber& x);
ExactNumber operator-(const ExactNumber& x, const ExactNumber& y);
ExactNumber operator*(const ExactNumber& x, const ExactNumber& y);
bool operator<(const ExactNumber& x, const ExactNumber& y);
bool operator<=(const ExactNumber& x, const ExactNumber& y);
/// |x|, and the double that is nearest to x, for messages and for first guesses.
ExactNumber magnitude(const ExactNumber& x);
double approximate(const ExactNumber& x);

using ExactVector = std::vector<ExactNumber>;
using ExactRows = std::vector<ExactVector>;  // a matrix, row by row

ExactVector exact(const Eigen::VectorXd& values);

/// What the eigenvalues of a matrix are: some below 0 (or the matrix is not symmetric), none, or
/// all above 0.
enum class Definite { no, semidefinite, positive };

/// Symmetric elimination without fractions: the divisions leave no remainder (Bareiss 1968), and
/// the pivots are the leading determinants. A pivot of 0 must have zeros beside it.
Definite definiteness(const ExactRows& matrix);

}  // namespace lifeguard
