#pragma once

#include <limits>
#include <vector>

namespace lifeguard {

/// A mean over runs with the half width of its 95 % interval (Student's t); the half width of a
/// single value is NaN.
struct MeanInterval {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double ci95 = std::numeric_limits<double>::quiet_NaN();
};

MeanInterval mean_interval(const std::vector<double>& values);

/// The 97.5 % quantile of Student's t with `degrees` degrees of freedom.
double student_quantile(int degrees);

}  // namespace lifeguard
