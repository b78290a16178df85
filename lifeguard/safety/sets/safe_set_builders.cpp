#include "lifeguard/safety/sets/safe_set_builders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {
namespace {

/// Collects rows one by one.
class Rows {
 public:
  explicit Rows(int parameters) : parameters_(parameters) {}

  /// A row without coefficients is left out if it holds, and refused if it cannot.
  void add(const Eigen::VectorXd& coefficients, double limit, const std::string& name) {
    if ((coefficients.array() == 0).all()) {
      require(limit >= 0, fmt::format("limit of \"{}\"", name), limit,
              "must be at least 0, because no gain has an effect here");
      return;
    }
    coefficients_.push_back(coefficients);
    limits_.push_back(limit);
    names_.push_back(name);
  }

  SafeSet set() && {
    if (names_.empty()) return SafeSet(parameters_);
    Eigen::MatrixXd a(static_cast<long>(names_.size()), parameters_);
    for (std::size_t i = 0; i < names_.size(); ++i) a.row(static_cast<long>(i)) = coefficients_[i];
    return SafeSet(std::move(a),
                   Eigen::Map<Eigen::VectorXd>(limits_.data(), static_cast<long>(limits_.size())),
                   std::move(names_));
  }

 private:
  int parameters_;
  std::vector<Eigen::VectorXd> coefficients_;
  std::vector<double> limits_;
  std::vector<std::string> names_;
};

/// x - y rounded towards +infinity (direction > 0) or -infinity, exact when the difference is.
double subtract_outwards(double x, double y, double direction) {
  const double difference = x - y;
  // Knuth's two-sum gives the rounding error of the difference exactly.
  const double back = difference - x;
  const double error = (x - (difference - back)) + (-y - back);
  return error * direction > 0 ? std::nextafter(difference, direction * kInfinity) : difference;
}

/// The corners of a box of features: entry i is `low` or `high`, or both at once where they agree.
struct FeatureBox {
  Eigen::VectorXd low;
  Eigen::VectorXd high;
  std::vector<int> varying;

  Eigen::VectorXd corner(unsigned long pattern) const {
    Eigen::VectorXd features = low;
    for (std::size_t bit = 0; bit < varying.size(); ++bit) {
      if ((pattern >> bit) & 1UL) features(varying[bit]) = high(varying[bit]);
    }
    return features;
  }
  /// "+" where the state is at its upper end, "-" at its lower, "." where it does not vary.
  std::string corner_name(unsigned long pattern, int states) const {
    std::string name(static_cast<std::size_t>(states), '.');
    for (std::size_t bit = 0; bit < varying.size(); ++bit) {
      name[static_cast<std::size_t>(varying[bit])] = ((pattern >> bit) & 1UL) ? '+' : '-';
    }
    return name;
  }
};

FeatureBox feature_box(const ActionLimits& limits) {
  const long states = limits.state_low.size();
  FeatureBox box;
  box.low.resize(limits.features.count(static_cast<int>(states)));
  box.high.resize(box.low.size());
  for (int i = 0; i < states; ++i) {
    box.low(i) = subtract_outwards(limits.state_low(i), limits.goal(i), -1);
    box.high(i) = subtract_outwards(limits.state_high(i), limits.goal(i), 1);
    if (box.low(i) < box.high(i)) box.varying.push_back(i);
  }
  if (limits.features.bias) box.low(states) = box.high(states) = 1;
  return box;
}

/// Which of the two rows of an orthant of gains (k_i ≥ 0 where the pattern has a 1, else ≤ 0) are
/// needed. There the largest action is z + t and the smallest z - t, with z = cᵀk, t = Σ h_i |k_i|,
/// c the centre and h the half widths of the box of features. Of z + t ≤ high and z - t ≥ low, both
/// with 0 inside, the first implies the second if z / t ≥ ρ = (high + low) / (high - low) in all of
/// the orthant, and the second the first if z / t ≤ ρ. The range of z / t over the orthant is
/// spanned by ± c_i / h_i. Doubtful cases keep both.
struct NeededRows {
  bool upper = true;
  bool lower = true;
};

NeededRows needed_rows(const FeatureBox& box, unsigned long pattern, double low, double high) {
  if (!(low < 0 && high > 0)) return {};
  double smallest = kInfinity;
  double largest = -kInfinity;
  for (int i = 0, bit = 0; i < box.low.size(); ++i) {
    if (box.low(i) == box.high(i)) {
      if (box.low(i) != 0) return {};  // t can vanish while z does not
      continue;
    }
    const double sign = ((pattern >> bit++) & 1UL) ? 1 : -1;
    const double ratio = sign * (box.high(i) + box.low(i)) / (box.high(i) - box.low(i));
    smallest = std::min(smallest, ratio);
    largest = std::max(largest, ratio);
  }
  const double rho = (high + low) / (high - low);
  constexpr double kDoubt = 1e-12;
  // Symmetric box and limits: the two rows of opposite orthants are the same row.
  if (smallest == 0 && largest == 0 && rho == 0) return {.upper = true, .lower = false};
  return {.upper = !(largest < rho - kDoubt), .lower = !(smallest > rho + kDoubt)};
}

}  // namespace

std::vector<std::string> default_gain_names(int actions, int features) {
  std::vector<std::string> names;
  for (int a = 0; a < actions; ++a) {
    for (int f = 0; f < features; ++f) names.push_back(fmt::format("gain({}, {})", a, f));
  }
  return names;
}

SafeSet gain_box(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                 const std::vector<std::string>& gain_names) {
  const int d = static_cast<int>(lower.size());
  require(d > 0, "lower", "0 entries", "must have at least 1 entry");
  require_size("upper", upper.size(), d);
  require_size("gain_names", static_cast<long>(gain_names.size()), d);
  Rows rows(d);
  for (int i = 0; i < d; ++i) {
    const std::string& name = gain_names[static_cast<std::size_t>(i)];
    require(!std::isnan(lower(i)) && lower(i) < kInfinity, indexed("lower", i), lower(i),
            "must be a number or -infinity");
    require(!std::isnan(upper(i)) && upper(i) > -kInfinity, indexed("upper", i), upper(i),
            "must be a number or infinity");
    const Eigen::VectorXd unit = Eigen::VectorXd::Unit(d, i);
    if (upper(i) < kInfinity) rows.add(unit, upper(i), name + " upper limit");
    if (lower(i) > -kInfinity) rows.add(-unit, -lower(i), name + " lower limit");
  }
  return std::move(rows).set();
}

SafeSet gain_box_towards(const Eigen::VectorXd& best, double reach, double from,
                         const std::vector<std::string>& gain_names) {
  require_finite("reach", reach);
  require(from < reach, "from", from, "must be less than reach");
  require(best.size() > 0, "best", "0 entries", "must have at least 1 entry");
  for (Eigen::Index i = 0; i < best.size(); ++i) require_finite(indexed("best", i), best(i));
  const double least = 0.05 * best.cwiseAbs().maxCoeff();
  Eigen::VectorXd lower(best.size());
  Eigen::VectorXd upper(best.size());
  for (Eigen::Index i = 0; i < best.size(); ++i) {
    const bool small = std::abs(best(i)) < least;
    const double one_end = small ? -least : from * best(i);
    const double other_end = small ? least : reach * best(i);
    lower(i) = std::min(one_end, other_end);
    upper(i) = std::max(one_end, other_end);
  }
  return gain_box(lower, upper, gain_names);
}

SafeSet half_space(const Eigen::VectorXd& normal, double limit, const std::string& name) {
  return SafeSet(normal.transpose(), Eigen::VectorXd::Constant(1, limit), {name});
}

SafeSet action_limits(const ActionLimits& limits) {
  const int states = static_cast<int>(limits.state_low.size());
  const int actions = static_cast<int>(limits.action_low.size());
  require(states > 0, "state_low", "0 entries", "must have at least 1 entry");
  require(actions > 0, "action_low", "0 entries", "must have at least 1 entry");
  require_size("state_high", limits.state_high.size(), states);
  require_size("goal", limits.goal.size(), states);
  require_size("action_high", limits.action_high.size(), actions);
  require(!limits.features.second_order, "features.second_order", "true",
          "must be false: products of states need not be extreme at the corners of a box");
  for (int i = 0; i < states; ++i) {
    require_finite(indexed("state_low", i), limits.state_low(i));
    require_finite(indexed("state_high", i), limits.state_high(i));
    require_finite(indexed("goal", i), limits.goal(i));
    require(limits.state_low(i) <= limits.state_high(i), indexed("state_low", i),
            limits.state_low(i), "must not be above state_high");
  }
  std::vector<std::string> names = limits.action_names;
  if (names.empty()) {
    for (int a = 0; a < actions; ++a) names.push_back(fmt::format("action {}", a));
  }
  require_size("action_names", static_cast<long>(names.size()), actions);

  const FeatureBox box = feature_box(limits);
  const double most_rows = 2.0 * actions * std::ldexp(1.0, static_cast<int>(box.varying.size()));
  require(most_rows <= static_cast<double>(limits.max_rows), "max_rows",
          static_cast<double>(limits.max_rows),
          fmt::format("must be at least {}: 2 rows for each of {} actions and each corner of the "
                      "box in {} states that vary",
                      most_rows, actions, box.varying.size()));
  const unsigned long corners = 1UL << box.varying.size();
  const long features = box.low.size();
  Rows rows(static_cast<int>(actions * features));
  for (int a = 0; a < actions; ++a) {
    const double low = limits.action_low(a);
    const double high = limits.action_high(a);
    require_finite(indexed("action_low", a), low);
    require_finite(indexed("action_high", a), high);
    for (unsigned long pattern = 0; pattern < corners; ++pattern) {
      // In the orthant `pattern` the action is largest at the corner of the same pattern and
      // smallest at the opposite one.
      const NeededRows needed = needed_rows(box, pattern, low, high);
      Eigen::VectorXd row = Eigen::VectorXd::Zero(actions * features);
      if (needed.upper) {
        row.segment(a * features, features) = box.corner(pattern);
        rows.add(row, high,
                 fmt::format("{} upper limit at state corner {}",
                             names[static_cast<std::size_t>(a)], box.corner_name(pattern, states)));
      }
      if (needed.lower) {
        const unsigned long opposite = corners - 1 - pattern;
        row.segment(a * features, features) = -box.corner(opposite);
        rows.add(
            row, -low,
            fmt::format("{} lower limit at state corner {}", names[static_cast<std::size_t>(a)],
                        box.corner_name(opposite, states)));
      }
    }
  }
  return std::move(rows).set();
}

SafeSet mass_stability(const MassStability& plant) {
  require_finite("spring_newtons_per_metre", plant.spring_newtons_per_metre);
  require_finite("damping_newton_seconds_per_metre", plant.damping_newton_seconds_per_metre);
  require_positive("mass_kilograms", plant.mass_kilograms);
  require_finite("actuator_gain", plant.actuator_gain);
  require_not_negative("decay_rate_per_second", plant.decay_rate_per_second);
  require_not_negative("time_step_seconds", plant.time_step_seconds);
  require(!plant.features.second_order, "features.second_order", "true",
          "must be false: the closed loop would not be linear");
  const double k = plant.spring_newtons_per_metre;
  const double d = plant.damping_newton_seconds_per_metre;
  const double m = plant.mass_kilograms;
  const double g = plant.actuator_gain;
  const double rho = plant.decay_rate_per_second;
  const double h = plant.time_step_seconds;

  const int parameters = plant.features.count(2);
  Eigen::VectorXd row = Eigen::VectorXd::Zero(parameters);
  Rows rows(parameters);
  row(1) = g;
  rows.add(row, d - 2 * m * rho, "damping of the closed loop");
  row(0) = g;
  row(1) = -g * rho;
  rows.add(row, k - rho * d + m * rho * rho, "stiffness of the closed loop");
  if (h > 0) {
    row(0) = -h * g;
    row(1) = -2 * g;
    rows.add(row, 4 * m / h - 2 * d - h * k, "stability of the time step");
  }
  return std::move(rows).set();
}

SafeSet barrier_rows(const std::vector<BarrierCondition>& conditions, const Features& features,
                     const Eigen::VectorXd& goal) {
  require(!conditions.empty(), "conditions", "0 entries", "must have at least 1 entry");
  const long actions = conditions.front().direction.size();
  require(actions > 0, "conditions[0].direction", "0 entries", "must have at least 1 entry");
  const long count = features.count(static_cast<int>(goal.size()));
  Rows rows(static_cast<int>(actions * count));
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const BarrierCondition& condition = conditions[i];
    const std::string field = indexed("conditions", static_cast<long>(i));
    require_size(field + ".state", condition.state.size(), goal.size());
    require_size(field + ".direction", condition.direction.size(), actions);
    const Eigen::VectorXd phi = features.evaluate(condition.state, goal);
    Eigen::VectorXd row(actions * count);
    for (long a = 0; a < actions; ++a) row.segment(a * count, count) = condition.direction(a) * phi;
    rows.add(row, condition.limit, condition.name);
  }
  return std::move(rows).set();
}

}  // namespace lifeguard
