#include "lifeguard/safety/sets/closed_loop.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void ClosedLoopSettings::validate(const UncertainPlant& plant) const {
  plant.validate();
  const int n = plant.states();
  const int m = plant.actions();
  require(decay > 0 && decay < 1, "decay", decay, "must lie between 0 and 1");
  require_size("start_low", start_low.size(), n);
  require_size("start_high", start_high.size(), n);
  // More corners than that, and nothing ends.
  constexpr int kMostStates = 12;
  require(n <= kMostStates, "states", n, "must be at most 12");
  for (int s = 0; s < n; ++s) {
    require_finite(indexed("start_low", s), start_low(s));
    require_finite(indexed("start_high", s), start_high(s));
    require(start_low(s) <= start_high(s), indexed("start_low", s), start_low(s),
            fmt::format("must not exceed start_high[{}] = {}", s, start_high(s)));
  }
  require(least_start_share > 0 && least_start_share <= 1, "least_start_share", least_start_share,
          "must be greater than 0 and at most 1");
  if (noise_limits.size() > 0) {
    require_size("noise_limits", noise_limits.size(), m);
    for (int a = 0; a < m; ++a) require_not_negative(indexed("noise_limits", a), noise_limits(a));
    for (Eigen::Index r = 0; r < plant.action_limits.size(); ++r) {
      const double noise = plant.action_directions.row(r).cwiseAbs().dot(noise_limits);
      require(noise < plant.action_limits(r), "noise_limits", noise,
              fmt::format("must leave something of the limit {} on {}", plant.action_limits(r),
                          plant.action_limit_names[static_cast<std::size_t>(r)]));
    }
  }
  const auto require_gains = [&](const std::string& field, const Eigen::MatrixXd& gains) {
    require_size(field + " (rows)", gains.rows(), m);
    require_size(field + " (columns)", gains.cols(), n);
    require(gains.allFinite(), field, "not finite", "must be finite");
  };
  for (std::size_t i = 0; i < required_gains.size(); ++i) {
    const std::string field = indexed("required_gains", static_cast<long>(i));
    require(!required_gains[i].name.empty(), field + ".name", "\"\"", "must not be empty");
    require_gains(field, required_gains[i].gains);
  }
  if (anchor) require_gains("anchor", *anchor);
}

std::vector<GainInequality> ClosedLoop::inequalities() const {
  std::vector<GainInequality> all = contractions;
  all.insert(all.end(), action_bounds.begin(), action_bounds.end());
  return all;
}

bool ClosedLoop::guarantees(const Eigen::VectorXd& deviation) const {
  // Above every rounding error of sums as short as here, in parts of the sum of magnitudes.
  constexpr double kRoundings = 1e-13;
  require_size("deviation", deviation.size(), p.rows());
  const double value = deviation.dot(p * deviation);
  const double size = deviation.cwiseAbs().dot(p.cwiseAbs() * deviation.cwiseAbs());
  return value <= 1 - kRoundings * (1 + size);
}

double ClosedLoop::largest_ratio(const Eigen::MatrixXd& gains) const {
  require_size("gains (rows)", gains.rows(), plant.actions());
  require_size("gains (columns)", gains.cols(), plant.states());
  const Eigen::VectorXd parameters = gains.transpose().reshaped();  // the rows, one after another
  double largest = 0;
  for (const auto* inequalities : {&contractions, &action_bounds}) {
    for (const GainInequality& inequality : *inequalities) {
      largest = std::max(largest, inequality.ratio(parameters));
    }
  }
  return largest;
}

bool ClosedLoop::operator==(const ClosedLoop& other) const {
  return plant == other.plant && decay == other.decay && p == other.p &&
         start_low == other.start_low && start_high == other.start_high &&
         start_share == other.start_share && noise_limits == other.noise_limits &&
         multipliers == other.multipliers && noise_multipliers == other.noise_multipliers &&
         inflated == other.inflated && contractions == other.contractions &&
         action_bounds == other.action_bounds && anchor == other.anchor;
}

const char* to_string(ClosedLoopStatus status) {
  switch (status) {
    case ClosedLoopStatus::found:
      return "found";
    case ClosedLoopStatus::infeasible:
      return "infeasible";
    case ClosedLoopStatus::solver_failed:
      return "solver failed";
    case ClosedLoopStatus::deadline_passed:
      return "deadline passed";
  }
  return "unknown";
}
}  // namespace lifeguard
