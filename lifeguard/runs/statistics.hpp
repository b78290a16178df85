#pragma once

#include <vector>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// A mean over runs with the half width of its 95 % interval (Student's t); the half width of a
/// single value is NaN.
struct MeanInterval {
  double mean = kNaN;
  double ci95 = kNaN;
};

MeanInterval mean_interval(const std::vector<double>& values);

/// The 97.5 % quantile of Student's t with `degrees` degrees of freedom.
double student_quantile(int degrees);

}  // namespace lifeguard
