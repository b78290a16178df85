#pragma once

#include <Eigen/Core>
#include <boost/multiprecision/cpp_int.hpp>

#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard::test {

/// A double is a rational number, so what tests compare against has no rounding at all.
using Rational = boost::multiprecision::cpp_rational;

inline Rational exact(double value) { return Rational(value); }

/// b_i - a_iᵀα.
inline Rational exact_margin(const SafeSet& set, int row, const Eigen::VectorXd& parameters) {
  Rational margin = exact(set.limits()(row));
  for (int i = 0; i < set.parameters(); ++i) {
    margin -= exact(set.coefficients()(row, i)) * exact(parameters(i));
  }
  return margin;
}

/// ‖b - A α‖².
inline Rational exact_squared_slack(const SafeSet& set, const Eigen::VectorXd& parameters) {
  Rational sum = 0;
  for (int row = 0; row < set.rows(); ++row) {
    const Rational margin = exact_margin(set, row, parameters);
    sum += margin * margin;
  }
  return sum;
}

}  // namespace lifeguard::test
