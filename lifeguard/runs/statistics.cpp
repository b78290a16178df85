#include "lifeguard/runs/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "lifeguard/runs/verdict.hpp"

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

int values_below_median_interval(int n) {
  int below = 0;
  // P(X <= below) = P(X >= n - below): the interval may leave out one value more on either side.
  while (2 * below < n && probability_of_at_least(n - below, n) <= 0.025) ++below;
  return below;
}

OverSeeds over_seeds(const std::vector<double>& values, double never) {
  OverSeeds result;
  result.values = values;
  if (values.empty()) return result;
  std::vector<double> counted = values;
  for (double& value : counted) {
    if (value == kInfinity) value = never;
  }
  const MeanInterval mean = mean_interval(counted);
  result.mean = mean.mean;
  result.ci95 = mean.ci95;

  std::vector<double> sorted = values;
  // A run of which nothing can be said is none of the good ones.
  std::replace_if(
      sorted.begin(), sorted.end(), [](double value) { return std::isnan(value); }, kInfinity);
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<int>(sorted.size());
  const auto at = [&](int i) { return sorted[static_cast<std::size_t>(i)]; };
  const double lower = at((n - 1) / 2);
  const double upper = at(n / 2);
  result.median = lower == upper ? lower : lower / 2 + upper / 2;
  // The least value that so many values do not exceed.
  const auto quantile = [&](int tenths) { return at((tenths * n + 9) / 10 - 1); };
  result.low = quantile(1);
  result.high = quantile(9);
  result.worst = sorted.back();
  const int below = values_below_median_interval(n);
  if (below > 0) {
    result.median_low = at(below - 1);
    result.median_high = at(n - below);
  }
  return result;
}

}  // namespace lifeguard
