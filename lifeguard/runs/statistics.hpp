#pragma once

#include <vector>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// A mean over runs with the half width of its 95 % interval (Student's t); the half width of a
/// single value is NaN. Heavy tails break the interval: OverSeeds has what survives them.
struct MeanInterval {
  double mean = kNaN;
  double ci95 = kNaN;
};

MeanInterval mean_interval(const std::vector<double>& values);

/// The 97.5 % quantile of Student's t with `degrees` degrees of freedom.
double student_quantile(int degrees);

/// A quantity over seeds, of which less is better. Everything but `mean` and `ci95` is made of
/// order statistics, which one seed that went wrong cannot move far.
struct OverSeeds {
  std::vector<double> values;  // one for each seed, infinity for "never"
  double mean = kNaN;
  double ci95 = kNaN;  // half width of Student's 95 % interval of the mean
  double median = kNaN;
  /// The two values that hold the median with a probability of at least 95 % whatever the
  /// distribution; NaN for fewer than six seeds, of which no two do.
  double median_low = kNaN;
  double median_high = kNaN;
  double low = kNaN;   // at most this on 10 % of the seeds
  double high = kNaN;  // at most this on 90 % of the seeds
  double worst = kNaN;
};

/// All NaN without values. In the mean an infinite value counts as `never`.
OverSeeds over_seeds(const std::vector<double>& values, double never = kInfinity);

/// How many of the least of n values are below every 95 % interval of the median: P(X < this)
/// <= 2.5 % for X ~ Bin(n, 1/2), the largest such number.
int values_below_median_interval(int n);

}  // namespace lifeguard
