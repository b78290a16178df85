#include "lifeguard/base_learners/trajectory_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/base_learners/noise_units.hpp"
#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

// log 10¹⁵: an alarm is a likelihood ratio beyond this.
constexpr double kLogSure = 34.53877639491069;
// Means of z other than 0, in both directions, and mean squares other than 1.
constexpr std::array kOtherMeans = {0.1, 0.3, 1.0, 3.0, 10.0};
constexpr std::array kLargerSquares = {1.2, 2.0, 10.0, 1e2, 1e4};
constexpr std::array kSmallerSquares = {1 / 1.2, 0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-12, 1e-18};
// Noise below a hundredth of σ is none.
constexpr double kNoNoiseSquare = 1e-4;

/// What the tests of the noise need.
struct Noise {
  double live = 0;      // steps
  double actions = 0;   // z at each
  double steps = 0;     // at which a z could have been drawn, live or not
  double dropped = 0;   // trajectories that may have lost the z that made them diverge
  double rounding = 0;  // how far rounding may have moved a z
  double unit = 1;      // that z is measured in, in σ; at least 1
  double sum = 0;       // of the action whose sum is the largest
  double squares = 0;   // over all actions
  double largest = 0;   // the largest sum of squares of a step

  double mean_square() const { return squares / (live * actions); }
};

/// With probability 1 - 10⁻¹⁵ no |z| of the batch is larger, drawn or lost: P(|z| > x) ≤
/// exp(-x²/2).
double largest_likely(const Noise& noise) {
  return std::sqrt(2 * (kLogSure + std::log(noise.steps * noise.actions)));
}

/// Likelihood ratio exp(μ Σz - N μ²/2) of N(μ, 1). A lost z could have lowered it by a factor of
/// exp(-μ |z| - μ²/2).
bool mean_is_off(const Noise& noise) {
  const double lost = largest_likely(noise);
  const double sum = std::max(0.0, std::abs(noise.sum) - noise.live * noise.rounding);
  const double needed = kLogSure + std::log(2.0 * kOtherMeans.size());
  return std::any_of(kOtherMeans.begin(), kOtherMeans.end(), [&](double mean) {
    const double half = 0.5 * mean * mean;
    return mean * sum - noise.live * half - noise.dropped * (mean * lost + half) > needed;
  });
}

/// log of the likelihood ratio c^{-N/2} exp((1 - 1/c) Σz² / 2) of N(0, c).
double log_ratio(double square, double count, double squares) {
  return 0.5 * ((1 - 1 / square) * squares - count * std::log(square));
}

const double kLogAlternatives =
    kLogSure + std::log(static_cast<double>(kLargerSquares.size() + kSmallerSquares.size()));

/// Rounding changes √Σz² by at most √N times that of one z.
double rounding_of_root(const Noise& noise) {
  return noise.rounding * std::sqrt(noise.live * noise.actions);
}

bool square_is_large(const Noise& noise) {
  const double squares =
      std::pow(std::max(0.0, std::sqrt(noise.squares) - rounding_of_root(noise)), 2);
  return std::any_of(kLargerSquares.begin(), kLargerSquares.end(), [&](double square) {
    const double lost = log_ratio(square, noise.dropped * noise.actions, 0.0);
    return log_ratio(square, noise.live * noise.actions, squares) + lost > kLogAlternatives;
  });
}

bool square_is_small(const Noise& noise) {
  const double squares =
      std::pow(noise.unit * (std::sqrt(noise.squares) + rounding_of_root(noise)), 2);
  const double lost_square = std::pow(largest_likely(noise), 2);
  const double dropped = noise.dropped * noise.actions;
  return std::any_of(kSmallerSquares.begin(), kSmallerSquares.end(), [&](double square) {
    const double lost = std::min(0.0, log_ratio(square, dropped, dropped * lost_square));
    return log_ratio(square, noise.live * noise.actions, squares) + lost > kLogAlternatives;
  });
}

/// P(χ²_a ≥ a + 2√(a t) + 2t) ≤ exp(-t) (Laurent and Massart 2000), for each step that might be.
bool largest_is_off(const Noise& noise) {
  const double t = kLogSure + std::log(noise.steps);
  const double limit = noise.actions + 2 * std::sqrt(noise.actions * t) + 2 * t;
  return std::sqrt(noise.largest) - noise.rounding * std::sqrt(noise.actions) > std::sqrt(limit);
}

bool is_too_large(const Noise& noise) {
  return mean_is_off(noise) || square_is_large(noise) || largest_is_off(noise);
}

bool square_is_off(const Noise& noise) { return square_is_large(noise) || square_is_small(noise); }

/// The noise of one of the actions.
Noise of_one_action(const Noise& all, double squares) {
  Noise own = all;
  own.actions = 1;
  own.squares = squares;
  return own;
}

Noise noise_of(const Trajectories& t, const TrajectoryCheck& check) {
  Noise noise;
  noise.live = static_cast<double>(check.live_steps);
  noise.actions = t.actions();
  noise.steps = static_cast<double>(t.count()) * t.steps();
  noise.dropped = t.diverged();
  return noise;
}

void set_wrong(TrajectoryCheck& check, TrajectoryStatus status, std::string field,
               std::string value, std::string rule) {
  check.status = status;
  check.field = std::move(field);
  check.value = std::move(value);
  check.rule = std::move(rule);
}

std::string entry_name(std::string_view name, int i, int m, int column) {
  return fmt::format("{} (trajectory {}, step {}, column {})", name, i, m, column);
}

/// The noise once more, action by action, with what rounding may have done to it and where the
/// largest is. Only if there is something to explain: this is slow.
struct CloseLook {
  Noise noise;
  std::vector<double> sums;     // of each action
  std::vector<double> squares;  // of each action
  int trajectory = 0;           // of the largest z of one action
  int step = 0;
  int action = 0;
  double largest = 0;

  CloseLook(const Trajectories& t, const GaussianPolicy& played, const TrajectoryCheck& check)
      : noise(noise_of(t, check)),
        sums(static_cast<std::size_t>(t.actions()), 0.0),
        squares(static_cast<std::size_t>(t.actions()), 0.0) {
    Eigen::VectorXd sizes = Eigen::VectorXd::Zero(t.actions());  // of the terms that are added up
    const auto noise_at = [&](int i, int m, int a) {
      double result = t.action(i, m, a);
      double terms = std::abs(result);
      for (int f = 0; f < t.features(); ++f) {
        const double term = played.gains()(a, f) * t.feature(i, m, f);
        result -= term;
        terms += std::abs(term);
      }
      sizes(a) = std::max(sizes(a), terms);
      return result;
    };
    const auto for_each_live = [&](const auto& body) {
      for (int m = 0; m < t.steps(); ++m) {
        for (int i = 0; i < t.count(); ++i) {
          if (m < t.length(i)) body(i, m);
        }
      }
    };
    for_each_live([&](int i, int m) {
      for (int a = 0; a < t.actions(); ++a) noise_at(i, m, a);
    });
    // Each of F products and F + 1 sums rounds by at most 2⁻⁵³ of the size of all terms, once where
    // the action was drawn and once here; twice that to be safe. Where this is more than σ, it is
    // the unit to measure noise in.
    Eigen::VectorXd units(t.actions());
    for (int a = 0; a < t.actions(); ++a) {
      const double error =
          2 * (2 * t.features() + 1) * std::numeric_limits<double>::epsilon() * sizes(a);
      units(a) = played.sigma(a) + error;
      noise.rounding = std::max(noise.rounding, error / units(a));
      noise.unit = std::max(noise.unit, units(a) / played.sigma(a));
    }
    for_each_live([&](int i, int m) {
      double all = 0;
      for (int a = 0; a < t.actions(); ++a) {
        const double z = noise_at(i, m, a) / units(a);
        sums[a] += z;
        squares[a] += z * z;
        all += z * z;
        if (std::abs(z) <= std::abs(largest)) continue;
        largest = z;
        trajectory = i;
        step = m;
        action = a;
      }
      noise.largest = std::max(noise.largest, all);
    });
    for (const double sum : sums) {
      if (std::abs(sum) > std::abs(noise.sum)) noise.sum = sum;
    }
    for (const double square : squares) noise.squares += square;
  }

  /// Whether all but the step of the largest z would pass.
  bool is_one_step() const {
    Noise rest = noise;
    rest.live -= 1;
    rest.squares = std::max(0.0, rest.squares - rest.largest);
    rest.sum = std::max(0.0, std::abs(rest.sum) - std::abs(largest));
    rest.largest = 0;
    return !is_too_large(rest) && !square_is_small(rest);
  }
};

constexpr const char* kActionRule =
    "must be a draw of the policy that was played, stored before it is limited, with the features "
    "that the policy saw";

/// If the actions have noises of their own: the first whose own mean square is not 1.
void explain_one_action(const CloseLook& look, TrajectoryCheck& check) {
  for (std::size_t a = 0; a < look.squares.size(); ++a) {
    const Noise own = of_one_action(look.noise, look.squares[a]);
    if (!square_is_off(own)) continue;
    set_wrong(check, TrajectoryStatus::other_policy, indexed("actions", static_cast<long>(a)),
              fmt::format("(u - KΦ)/σ with mean square {:.4g} over {} steps, where the policy "
                          "gives 1",
                          own.mean_square(), check.live_steps),
              kActionRule);
    return;
  }
}

void explain_noise(const Trajectories& t, const GaussianPolicy& played, TrajectoryCheck& check) {
  const CloseLook look(t, played, check);
  const double steps = look.noise.live;
  if (is_too_large(look.noise)) {
    if (look.is_one_step()) {
      set_wrong(check, TrajectoryStatus::other_policy,
                entry_name("action", look.trajectory, look.step, look.action),
                fmt::format("{:.6g}, {:.3g} σ from the policy's mean",
                            t.action(look.trajectory, look.step, look.action), look.largest),
                kActionRule);
      return;
    }
  } else if (square_is_small(look.noise)) {
    for (std::size_t a = 0; a < look.squares.size(); ++a) {
      if (look.squares[a] / steps > kNoNoiseSquare) continue;
      set_wrong(check, TrajectoryStatus::no_noise, indexed("actions", static_cast<long>(a)),
                fmt::format("the policy's mean, with a noise of {:.3g} σ",
                            std::sqrt(look.squares[a] / steps)),
                fmt::format("must have exploration noise of σ = {:.6g}",
                            played.sigma(static_cast<int>(a))));
      return;
    }
  } else if (!played.noise().is_common()) {
    explain_one_action(look, check);
    return;
  } else {
    return;  // it was rounding
  }
  set_wrong(check, TrajectoryStatus::other_policy, "actions",
            fmt::format("(u - KΦ)/σ with mean square {:.4g} and mean {:.3g} over {} steps, up to "
                        "{:.3g}, where the policy gives 1 and 0",
                        look.noise.mean_square(), look.noise.sum / steps, check.live_steps,
                        std::abs(look.largest)),
            kActionRule);
}

void check_numbers(const Trajectories& t, TrajectoryCheck& check) {
  const std::optional<BadEntry> bad = t.find_bad_entry();
  if (!bad) return;
  set_wrong(check,
            std::isfinite(bad->value) ? TrajectoryStatus::wrong_end : TrajectoryStatus::not_finite,
            bad->field, fmt::format("{}", bad->value), bad->rule);
}

/// Whether features and actions are zero, and the cost too after a cut.
bool is_empty(const Trajectories& t, int i, int m) {
  for (int f = 0; f < t.features(); ++f) {
    if (t.feature(i, m, f) != 0) return false;
  }
  for (int a = 0; a < t.actions(); ++a) {
    if (t.action(i, m, a) != 0) return false;
  }
  return t.end(i) == EndReason::failed || t.cost(i, m) == 0;
}

/// All but the numbers of live steps: those after an end at a few steps.
void check_lengths(const Trajectories& t, TrajectoryCheck& check) {
  bool any_known = false;
  bool clean = true;
  for (int i = 0; i < t.count(); ++i) {
    const int length = t.length(i);
    if (length < 0 || length > t.steps()) {
      check_numbers(t, check);
      return;
    }
    check.live_steps += length;
    if (length == t.steps()) {
      any_known = true;
      continue;
    }
    const bool cut = t.end(i) == EndReason::cut_short;
    check.failed += cut ? 0 : 1;
    check.cut_short += cut ? 1 : 0;
    any_known = any_known || !cut || length > 0;
    const int last = t.steps() - 1;
    clean = clean && is_empty(t, i, length) && is_empty(t, i, (length + last) / 2) &&
            is_empty(t, i, last);
    for (int f = 0; cut && f < t.features(); ++f) {
      clean = clean && std::isfinite(t.final_feature(i, f));
    }
  }
  if (!any_known) {
    set_wrong(check, TrajectoryStatus::wrong_end, "length", "0 for every trajectory, all cut short",
              "must be at least 1 for one of them");
  } else if (!clean) {
    check_numbers(t, check);
  }
}

/// The cost of every step that is known, or NaN if they differ.
double constant_cost(const Trajectories& t) {
  double first = kNaN;
  for (int i = 0; i < t.count(); ++i) {
    const int known = t.end(i) == EndReason::cut_short ? t.length(i) : t.steps();
    for (int m = 0; m < known; ++m) {
      if (std::isnan(first)) first = t.cost(i, m);
      if (t.cost(i, m) != first) return kNaN;
    }
  }
  return first;
}

}  // namespace

const char* to_string(TrajectoryStatus status) {
  switch (status) {
    case TrajectoryStatus::not_run:
      return "not run";
    case TrajectoryStatus::ok:
      return "ok";
    case TrajectoryStatus::no_live_step:
      return "no live step";
    case TrajectoryStatus::constant_costs:
      return "constant costs";
    case TrajectoryStatus::no_noise:
      return "no noise";
    case TrajectoryStatus::wrong_shape:
      return "wrong shape";
    case TrajectoryStatus::wrong_end:
      return "wrong end";
    case TrajectoryStatus::not_finite:
      return "not finite";
    case TrajectoryStatus::other_policy:
      return "other policy";
  }
  return "?";
}

std::string TrajectoryCheck::message() const {
  return field.empty() ? "" : fmt::format("{} = {}: {}", field, value, rule);
}

void TrajectoryCheck::require_usable() const {
  switch (status) {
    case TrajectoryStatus::wrong_shape:
    case TrajectoryStatus::wrong_end:
    case TrajectoryStatus::not_finite:
    case TrajectoryStatus::other_policy:
      throw InvalidInput(field, value, rule);
    case TrajectoryStatus::not_run:
    case TrajectoryStatus::ok:
    case TrajectoryStatus::no_live_step:
    case TrajectoryStatus::constant_costs:
    case TrajectoryStatus::no_noise:
      return;
  }
}

TrajectoryCheck check_ends(const Trajectories& t, const GaussianPolicy& played) {
  require_positive("sigma", played.noise());
  TrajectoryCheck check;
  check.status = TrajectoryStatus::ok;
  check.trajectories = t.count();
  if (t.count() < 1) {
    set_wrong(check, TrajectoryStatus::wrong_shape, "trajectories", "0", "must be at least 1");
  } else if (t.features() != played.features()) {
    set_wrong(check, TrajectoryStatus::wrong_shape, "features", fmt::format("{}", t.features()),
              fmt::format("must be {}, as many as the policy has", played.features()));
  } else if (t.actions() != played.actions()) {
    set_wrong(check, TrajectoryStatus::wrong_shape, "actions", fmt::format("{}", t.actions()),
              fmt::format("must be {}, as many as the policy has", played.actions()));
  } else {
    check_lengths(t, check);
  }
  return check;
}

void check_noise(const Trajectories& t, const GaussianPolicy& played, const PolicyGradient& sums,
                 const NoiseUnits& units, TrajectoryCheck& check) {
  if (check.live_steps == 0) return;
  // The sums of actions with noises of their own are in units of the first one's (NoiseUnits).
  const double sigma = played.sigma(0);
  Noise noise = noise_of(t, check);
  for (Eigen::Index a = 0; a < sums.noise_sums.size(); ++a) {
    if (std::abs(sums.noise_sums(a)) > std::abs(noise.sum)) noise.sum = sums.noise_sums(a);
  }
  // One division after the other: the square of σ may be out of range.
  noise.sum /= sigma;
  noise.squares = sums.noise_squares / sigma / sigma;
  noise.largest = sums.largest_noise_square / sigma / sigma;
  check.noise_mean_square = noise.mean_square();
  check.noise_mean = noise.sum / noise.live;
  check.largest_noise = std::sqrt(noise.largest);
  bool suspicious = !std::isfinite(noise.squares) || is_too_large(noise) || square_is_small(noise);
  if (!played.noise().is_common()) {
    for (const double squares : units.squares) {
      suspicious = suspicious || square_is_off(of_one_action(noise, squares / sigma / sigma));
    }
  }
  if (suspicious) explain_noise(t, played, check);
}

void explain_no_signal(const Trajectories& t, TrajectoryCheck& check) {
  if (check.live_steps == 0) {
    set_wrong(check, TrajectoryStatus::no_live_step, "length", "0 for every trajectory",
              "must be at least 1 for one of them to learn something");
    return;
  }
  const double cost = constant_cost(t);
  if (std::isnan(cost)) return;
  set_wrong(check, TrajectoryStatus::constant_costs, "cost",
            fmt::format("{:.6g} at every step", cost),
            "must differ between steps to learn something");
}

TrajectoryCheck check_trajectories(const Trajectories& trajectories, const GaussianPolicy& played) {
  TrajectoryCheck check = check_ends(trajectories, played);
  if (check.status != TrajectoryStatus::ok) return check;
  check_numbers(trajectories, check);
  if (check.status != TrajectoryStatus::ok) return check;
  const AlignedVector<double> none(
      static_cast<std::size_t>(trajectories.steps()) * trajectories.stride(), 0.0);
  PolicyGradient sums;
  NoiseUnits units;
  if (played.noise().is_common()) {
    compute_policy_gradient(trajectories, played, none.data(), sums);
  } else {
    units.assign(trajectories, played);
    compute_policy_gradient(units.trajectories, units.played, none.data(), sums);
  }
  check_noise(trajectories, played, sums, units, check);
  if (check.status == TrajectoryStatus::ok) explain_no_signal(trajectories, check);
  return check;
}

}  // namespace lifeguard
