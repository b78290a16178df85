#include "lifeguard/runs/statistics.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace lifeguard {

double student_quantile(int degrees) {
  return boost::math::quantile(boost::math::students_t_distribution<double>(degrees), 0.975);
}

MeanInterval mean_interval(const std::vector<double>& values) {
  MeanInterval result;
  if (values.empty()) return result;
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += v;
  result.mean = sum / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double v : values) squares += (v - result.mean) * (v - result.mean);
  result.ci95 =
      student_quantile(static_cast<int>(values.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  return result;
}

}  // namespace lifeguard
