#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/sets/closed_loop_programs.hpp"
#include "lifeguard/safety/solve/semidefinite_program.hpp"

namespace lifeguard {
namespace closed_loop_synthesis {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Above every rounding error of sums as short as here, in parts of the sum of magnitudes.
constexpr double kRoundings = 1e-13;
// Elimination loses more of them.
constexpr double kRoundingsOfElimination = 100;
// Of the largest share of the start box, if that is below 1.
constexpr double kShareForRoom = 0.95;

/// A matrix above `exact` in the order ⪰ whatever the rounding errors of the latter are: of the
/// entries, as parts of `magnitudes`. (A diagonally dominant matrix has no negative eigenvalue.)
MatrixXd rounded_up(const MatrixXd& value, const MatrixXd& magnitudes) {
  MatrixXd result = symmetric_part(value);
  result.diagonal() += kRoundings * magnitudes.rowwise().sum();
  return result;
}
MatrixXd rounded_down(const MatrixXd& value, const MatrixXd& magnitudes) {
  MatrixXd result = symmetric_part(value);
  result.diagonal() -= kRoundings * magnitudes.rowwise().sum();
  return result;
}

/// The loop with everything that follows from P, the multipliers and the settings; nothing if a
/// matrix that must be positive definite is not.
std::optional<ClosedLoop> closed_loop_from(const UncertainPlant& plant,
                                           const ClosedLoopSettings& settings, const MatrixXd& p,
                                           std::vector<VectorXd> multipliers,
                                           std::vector<VectorXd> noise_multipliers, double share) {
  ClosedLoop loop;
  loop.plant = plant;
  loop.decay = settings.decay;
  loop.p = p;
  loop.start_share = share;
  loop.start_low = share * settings.start_low;
  loop.start_high = share * settings.start_high;
  loop.noise_limits = noise_or_zero(plant, settings.noise_limits);
  const Index n = plant.states();
  const Index m = plant.actions();
  const Index c = plant.channels();
  if (!p.allFinite() || Eigen::LLT<MatrixXd>(p).info() != Eigen::Success) return std::nullopt;
  const MatrixXd magnitudes = p.cwiseAbs();
  const MatrixXd q = rounded_down(settings.decay * settings.decay * p, magnitudes);
  if (Eigen::LLT<MatrixXd>(q).info() != Eigen::Success) return std::nullopt;
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    const UncertainPlant::Corner& corner = plant.corners[i];
    MatrixXd w = p;
    const MatrixXd noise = noise_columns(plant, corner, loop.noise_limits);
    if (c + noise.cols() > 0) {
      MatrixXd pushes(n, c + noise.cols());
      pushes << plant.spreads, noise;
      VectorXd d(c + noise.cols());
      d << multipliers[i], noise_multipliers[i];
      if (!d.allFinite() || !(d.minCoeff() > 0)) return std::nullopt;
      const MatrixXd pg = p * pushes;
      // In units in which the multipliers are 1, however different they are.
      const VectorXd roots = d.cwiseSqrt().cwiseInverse();
      const MatrixXd scaled_pg = pg * roots.asDiagonal();
      const MatrixXd inner = symmetric_part(MatrixXd::Identity(d.size(), d.size()) -
                                            roots.asDiagonal() * pushes.transpose() * scaled_pg);
      const Eigen::LLT<MatrixXd> factor(inner);
      if (factor.info() != Eigen::Success) return std::nullopt;
      w = p + scaled_pg * factor.solve(scaled_pg.transpose());
      w = rounded_up(w, kRoundingsOfElimination * w.cwiseAbs());
    }
    MatrixXd model(n, n + m);
    model << corner.a, corner.b;
    MatrixXd theta = model.transpose() * w * model;
    MatrixXd sizes = model.cwiseAbs().transpose() * w.cwiseAbs() * model.cwiseAbs();
    if (c > 0) {
      MatrixXd factors(c, n + m);
      factors << plant.state_factors, plant.action_factors;
      theta += factors.transpose() * multipliers[i].asDiagonal() * factors;
      sizes += factors.cwiseAbs().transpose() * multipliers[i].asDiagonal() * factors.cwiseAbs();
    }
    theta = rounded_up(theta, sizes);
    if (!theta.allFinite()) return std::nullopt;
    loop.contractions.emplace_back("contraction at " + corner.name, theta, q);
    loop.inflated.push_back(std::move(w));
  }
  loop.multipliers = std::move(multipliers);
  loop.noise_multipliers = std::move(noise_multipliers);
  const VectorXd left = limits_without_noise(plant, loop.noise_limits);
  for (Index r = 0; r < left.size(); ++r) {
    const VectorXd direction = plant.action_directions.row(r).transpose();
    MatrixXd theta = MatrixXd::Zero(n + m, n + m);
    const MatrixXd square = direction * direction.transpose();
    theta.bottomRightCorner(m, m) = rounded_up(square, square.cwiseAbs());
    // A direction of one action has a square without rounding errors.
    if ((direction.array() != 0).count() == 1) theta.bottomRightCorner(m, m) = square;
    const MatrixXd limit = left(r) * left(r) * p;
    loop.action_bounds.emplace_back(plant.action_limit_names[static_cast<std::size_t>(r)], theta,
                                    rounded_down(limit, limit.cwiseAbs()));
  }
  return loop;
}

/// What does not hold of all that does not depend on gains, with room for rounding; empty if all
/// does.
std::string first_problem(const ClosedLoop& loop) {
  constexpr double kSure = 1 - 1e-9;
  const Eigen::LLT<MatrixXd> factor(loop.p);
  const MatrixXd y = factor.solve(MatrixXd::Identity(loop.p.rows(), loop.p.cols()));
  for (Index s = 0; s < y.rows(); ++s) {
    const double limit = loop.plant.state_limits(s);
    if (!(y(s, s) <= kSure * limit * limit)) {
      return fmt::format("state limit {}: the set reaches {:.9g}", s, std::sqrt(y(s, s)));
    }
  }
  for (const VectorXd& corner : box_corners(loop.start_low, loop.start_high)) {
    const double value = corner.dot(loop.p * corner);
    if (!(value <= kSure)) return fmt::format("a corner of the start box has xᵀPx = {:.9g}", value);
  }
  for (const VectorXd& multipliers : loop.noise_multipliers) {
    const double sum = multipliers.sum();
    if (!(sum <= kSure * (1 - loop.decay * loop.decay))) {
      return fmt::format("noise adds {:.9g} to a square that shrinks by {:.9g}", sum,
                         1 - loop.decay * loop.decay);
    }
  }
  return {};
}

/// The gains with the smallest of the largest ratios of all inequalities.
std::optional<MatrixXd> deepest_gains(const ClosedLoop& loop, const Deadline& deadline) {
  const Index n = loop.plant.states();
  const Index m = loop.plant.actions();
  // Gains are measured as actions over states, in what E and the action limits allow.
  const Eigen::LLT<MatrixXd> p(loop.p);
  const MatrixXd root = p.matrixL().solve(MatrixXd::Identity(n, n)).transpose();  // P^-½
  SemidefiniteProgram program(static_cast<int>(m * n + 1));
  program.maximise(-VectorXd::Unit(m * n + 1, m * n));
  // Actions too have scales: those of their limits, else what they do to the state.
  VectorXd action_scale(m);
  for (Index a = 0; a < m; ++a) {
    double size = 0;
    for (const GainInequality& g : loop.inequalities()) {
      size = std::max(size, g.theta()(n + a, n + a) / (g.limit().trace() / loop.p.trace()));
    }
    action_scale(a) = 1 / std::sqrt(size);
  }
  const auto gains_of = [&](const VectorXd& v) {
    return MatrixXd(action_scale.asDiagonal() * Eigen::Map<const MatrixXd>(v.data(), m, n) *
                    p.matrixL().transpose().toDenseMatrix());
  };
  for (const GainInequality& inequality : loop.inequalities()) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(inequality.theta());
    const VectorXd& values = eigen.eigenvalues();
    std::vector<Index> kept;
    for (Index i = 0; i < values.size(); ++i) {
      if (values(i) > 1e-12 * values(values.size() - 1)) kept.push_back(i);
    }
    MatrixXd u(static_cast<Index>(kept.size()), n + m);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      u.row(static_cast<Index>(i)) =
          std::sqrt(values(kept[i])) * eigen.eigenvectors().col(kept[i]).transpose();
    }
    const MatrixXd limit = root.transpose() * inequality.limit() * root;
    const double size = limit.trace() / static_cast<double>(n);
    program.require_semidefinite([&](const VectorXd& v) {
      const Index k = u.rows();
      MatrixXd block(n + k, n + k);
      MatrixXd z(n + m, n);
      z << MatrixXd::Identity(n, n), gains_of(v);
      const MatrixXd moved = u * z * root / std::sqrt(size);
      block << v(m * n) * limit / size, moved.transpose(), moved, MatrixXd::Identity(k, k);
      return block;
    });
  }
  const SemidefiniteResult result = program.solve(deadline);
  if (!result.has_candidate()) return std::nullopt;
  return gains_of(result.y);
}

struct Attempt {
  std::optional<ClosedLoop> loop;
  std::string problem;
  MatrixXd free_gains;
};

/// Verifies an answer as it is.
Attempt attempt(const UncertainPlant& plant, const ClosedLoopSettings& settings,
                const Programs& programs, const Programs::Answer& answer, double share) {
  Attempt result;
  if (answer.y.size() == 0) {
    result.problem = to_string(answer.status);
    return result;
  }
  std::vector<VectorXd> multipliers;
  std::vector<VectorXd> noise_multipliers;
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    multipliers.push_back(programs.multipliers_of(answer, i));
    noise_multipliers.push_back(programs.noise_multipliers_of(answer, i));
  }
  result.loop = closed_loop_from(plant, settings, programs.p_of(answer), std::move(multipliers),
                                 std::move(noise_multipliers), share);
  result.free_gains = answer.free_gains;
  if (!result.loop) {
    result.problem = "a matrix that must be positive definite is not";
    return result;
  }
  result.problem = first_problem(*result.loop);
  std::vector<RequiredGains> gains = settings.required_gains;
  if (gains.empty()) gains.push_back({"gains of the program", answer.free_gains});
  for (const RequiredGains& required : gains) {
    if (!result.problem.empty()) break;
    const double ratio = result.loop->largest_ratio(required.gains);
    if (!(ratio < 1)) {
      result.problem =
          fmt::format("{}: an inequality is at {:.9g} of its limit", required.name, ratio);
    }
  }
  if (!result.problem.empty()) result.loop.reset();
  return result;
}

/// A controller that was asked for may be all that stands in the way.
std::string without_anchor(const UncertainPlant& plant, const ClosedLoopSettings& settings,
                           const Deadline& deadline) {
  if (!settings.anchor) return "";
  ClosedLoopSettings free = settings;
  free.anchor.reset();
  free.required_gains.pop_back();
  const Programs::Answer answer =
      Programs(plant, free)
          .solve(Programs::Objective::start_share, inner_decay(free), 0, 1, nullptr, deadline);
  if (answer.status != SemidefiniteStatus::solved || answer.objective < free.least_start_share) {
    return "";
  }
  return fmt::format(
      "; without the anchor there is a set with {:.3g} of the start box: it is the anchor that "
      "cannot be proven",
      std::min(1.0, answer.objective));
}

/// What would be feasible instead, and what stands in the way.
void explain(const UncertainPlant& plant, const ClosedLoopSettings& settings,
             const Programs& programs, ClosedLoopResult& result, const Deadline& deadline) {
  const auto share_at = [&](double noise_share) {
    const Programs::Answer answer = programs.solve(
        Programs::Objective::start_share, inner_decay(settings), 0, noise_share, nullptr, deadline);
    return answer.status == SemidefiniteStatus::solved ? answer.objective : 0.0;
  };
  const double least = settings.least_start_share;
  const double share = share_at(1);
  // Less is what the solver makes of nothing.
  constexpr double kSmallestShare = 0.01;
  if (share > kSmallestShare) result.largest_start_share = share;
  constexpr int kBisections = 12;
  const bool noisy = settings.noise_limits.size() > 0 && !settings.noise_limits.isZero(0);
  if (noisy && share_at(0) >= least) {
    double works = 0;
    double fails = 1;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (works + fails);
      (share_at(middle) >= least ? works : fails) = middle;
    }
    result.largest_noise_share = works;
  }
  // The noise's budget 1 − λ² goes with λ.
  const auto feasible_at = [&](double decay) {
    ClosedLoopSettings slower = settings;
    slower.decay = decay;
    const Programs others(plant, slower);
    const Programs::Answer answer = others.solve(Programs::Objective::start_share,
                                                 inner_decay(slower), 0, 1, nullptr, deadline);
    return answer.status == SemidefiniteStatus::solved && answer.objective >= least;
  };
  // Noise may forbid a slow decay while limits forbid a fast one: look for any that works, then for
  // the border.
  double works = kNaN;
  for (const double part : {0.5, 0.25, 0.1, 0.03, 0.01, 0.001}) {
    const double decay = 1 - part * (1 - settings.decay);
    if (!feasible_at(decay)) continue;
    works = decay;
    break;
  }
  if (std::isfinite(works)) {
    double fails = settings.decay;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (works + fails);
      (feasible_at(middle) ? works : fails) = middle;
    }
    result.smallest_decay = works;
  }
  // Without limits and noise: how well can all contract around the start box, and which pairs hold
  // it up?
  UncertainPlant unlimited = plant;
  unlimited.state_limits.setConstant(kInfinity);
  unlimited.action_limits.resize(0);
  unlimited.action_directions.resize(0, plant.actions());
  unlimited.action_limit_names.clear();
  ClosedLoopSettings quiet = settings;
  quiet.noise_limits.resize(0);
  const Programs without(unlimited, quiet);
  Programs::Answer unit;
  unit.y = Eigen::MatrixXd::Identity(plant.states(), plant.states());
  unit.multipliers.assign(plant.corners.size(), VectorXd::Constant(plant.channels(), 0.1));
  unit.noise_multipliers.assign(plant.corners.size(), VectorXd());
  const Programs::Answer answer =
      without.solve(Programs::Objective::contraction, inner_decay(settings), 1, 0, &unit, deadline);
  if (answer.status == SemidefiniteStatus::solved && answer.objective < 0 &&
      !settings.required_gains.empty()) {
    const double largest = *std::max_element(answer.weights.begin(), answer.weights.end());
    std::vector<std::pair<double, std::string>> pairs;
    std::size_t next = 0;
    for (const UncertainPlant::Corner& corner : plant.corners) {
      for (const RequiredGains& required : settings.required_gains) {
        const double weight = answer.weights[next++];
        if (weight > 0.1 * largest) {
          pairs.emplace_back(-weight, fmt::format("{} at {}", required.name, corner.name));
        }
      }
    }
    std::sort(pairs.begin(), pairs.end());
    constexpr std::size_t kMostConflicts = 6;
    pairs.resize(std::min(pairs.size(), kMostConflicts));
    for (auto& [weight, name] : pairs) result.conflicts.push_back(std::move(name));
  }
  std::vector<std::string> ways;
  if (std::isfinite(result.largest_start_share)) {
    ways.push_back(fmt::format("{:.3g} of the start box", result.largest_start_share));
  }
  if (std::isfinite(result.largest_noise_share)) {
    ways.push_back(fmt::format("{:.3g} of the noise", result.largest_noise_share));
  }
  if (std::isfinite(result.smallest_decay)) {
    ways.push_back(fmt::format("a decay of {:.5g}", result.smallest_decay));
  }
  result.message = fmt::format("no set found: with all else as asked for, {}",
                               ways.empty() ? std::string("nothing that was tried works")
                                            : fmt::format("{} would do", fmt::join(ways, ", or ")));
  result.message += without_anchor(plant, settings, deadline);
  if (!result.conflicts.empty()) {
    result.message +=
        fmt::format("; against each other stand {}", fmt::join(result.conflicts, ", "));
  }
}

}  // namespace
}  // namespace closed_loop_synthesis

ClosedLoopResult make_closed_loop(const UncertainPlant& given, const ClosedLoopSettings& asked,
                                  const Deadline& deadline) {
  using closed_loop_synthesis::Attempt;
  using closed_loop_synthesis::Programs;
  asked.validate(given);
  const UncertainPlant plant = given.with_sizes();
  ClosedLoopSettings settings = asked;
  // A set that is not made for the anchor need not hold it.
  if (settings.anchor) settings.required_gains.push_back({"anchor", *settings.anchor});
  ClosedLoopResult result;
  const Programs programs(plant, settings);
  const double inner_decay = closed_loop_synthesis::inner_decay(settings);

  // First as much of the start box as can be, then as much room as the share that is asked for
  // leaves.
  Programs::Answer answer =
      programs.solve(Programs::Objective::start_share, inner_decay, 0, 1, nullptr, deadline);
  const auto passed = [&] {
    if (!deadline.passed()) return false;
    result.status = ClosedLoopStatus::deadline_passed;
    result.message = "the deadline passed";
    return true;
  };
  if (passed()) return result;
  double share = answer.objective;
  if (answer.status == SemidefiniteStatus::infeasible ||
      (answer.status == SemidefiniteStatus::solved && share < settings.least_start_share)) {
    result.status = ClosedLoopStatus::infeasible;
    closed_loop_synthesis::explain(plant, settings, programs, result, deadline);
    passed();
    return result;
  }
  if (answer.y.size() == 0) {
    result.message = fmt::format("the program for P: {}", to_string(answer.status));
    return result;
  }
  // The largest share leaves no room at all: a little less of it does.
  share = std::min(
      1.0, std::max(settings.least_start_share, closed_loop_synthesis::kShareForRoom * share));
  Attempt best = closed_loop_synthesis::attempt(plant, settings, programs, answer, share);
  constexpr int kSteps = 4;
  double mu = inner_decay * inner_decay;
  for (int step = 0; step < kSteps; ++step) {
    const Programs::Answer next = programs.solve(Programs::Objective::contraction, std::sqrt(mu),
                                                 share, 1, &answer, deadline);
    if (passed()) return result;
    if (next.y.size() == 0 || !(next.objective > 0)) break;
    Attempt better = closed_loop_synthesis::attempt(plant, settings, programs, next, share);
    if (!better.loop) break;
    best = std::move(better);
    answer = next;
    const double gained = next.objective;
    mu -= gained;
    if (gained < 1e-2 * (1 - settings.decay)) break;
  }
  if (!best.loop) {
    result.message = fmt::format("the program's answer does not hold: {}", best.problem);
    return result;
  }
  ClosedLoop& loop = *best.loop;
  if (settings.anchor) {
    loop.anchor = *settings.anchor;
  } else {
    const std::optional<Eigen::MatrixXd> deepest =
        closed_loop_synthesis::deepest_gains(loop, deadline);
    if (passed()) return result;
    if (!deepest) {
      result.message = "the program for the anchor failed";
      return result;
    }
    loop.anchor = *deepest;
  }
  const double ratio = loop.largest_ratio(loop.anchor);
  if (!(ratio < 1)) {
    result.message =
        fmt::format("the anchor is not inside: an inequality is at {:.9g} of its limit", ratio);
    return result;
  }
  result.status = ClosedLoopStatus::found;
  result.message =
      fmt::format("decay {:.6g}, {:.3g} of the start box, anchor at {:.4g} of the nearest limit",
                  loop.decay, loop.start_share, ratio);
  result.closed_loop = std::move(best.loop);
  return result;
}
double largest_noise_share(const UncertainPlant& given, const ClosedLoopSettings& asked,
                           double start_share, const Deadline& deadline) {
  using closed_loop_synthesis::Programs;
  asked.validate(given);
  const UncertainPlant plant = given.with_sizes();
  ClosedLoopSettings settings = asked;
  if (settings.anchor) settings.required_gains.push_back({"anchor", *settings.anchor});
  if (settings.noise_limits.size() == 0 || settings.noise_limits.isZero(0)) return kNaN;
  const Programs::Answer most =
      Programs(plant, settings)
          .solve(Programs::Objective::noise, closed_loop_synthesis::inner_decay(settings),
                 start_share, 1, nullptr, deadline);
  const bool solved = most.status == SemidefiniteStatus::solved && most.objective < 0;
  return solved ? 1 / std::sqrt(-most.objective) : kNaN;
}

}  // namespace lifeguard
