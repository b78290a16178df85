#include "lifeguard/safety/sets/feasibility.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/prove/exact_program.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {
namespace {

double smallest_distance(const SafeSet& set, const Eigen::VectorXd& norms,
                         const Eigen::VectorXd& point) {
  return (margins(set, point).rows.head(set.rows()).array() / norms.array()).minCoeff();
}

Contradiction contradiction_of(const SafeSet& set, const DeepestPoint& deepest) {
  Contradiction result;
  result.rows = deepest.rows;
  result.multipliers = deepest.multipliers;
  result.exact_multipliers = deepest.exact_multipliers;
  for (const int row : deepest.rows) result.names.push_back(set.name(row));
  result.combined_limit = 0;
  if (deepest.radius_sign < 0) {
    for (std::size_t i = 0; i < deepest.rows.size(); ++i) {
      result.combined_limit +=
          deepest.multipliers(static_cast<long>(i)) * set.limits()(deepest.rows[i]);
    }
  }
  return result;
}

Contradiction slack_contradiction(const SafeSet& set, const Eigen::VectorXd& proof) {
  Contradiction result;
  result.combined_limit = proof.dot(set.limits()) / proof.cwiseMax(0).norm();
  const double largest = proof.cwiseAbs().maxCoeff();
  std::vector<double> multipliers;
  for (int row = 0; row < set.rows(); ++row) {
    if (std::abs(proof(row)) < 1e-9 * largest) continue;
    result.rows.push_back(row);
    result.names.push_back(set.name(row));
    multipliers.push_back(proof(row) / largest);
  }
  result.multipliers =
      Eigen::Map<Eigen::VectorXd>(multipliers.data(), static_cast<long>(multipliers.size()));
  return result;
}

/// The minimum of ½ ‖s‖² - μ Σ log s_i over α, s = b - A α, by Newton steps from a point with s >
/// 0.
void move_to_centre(const SafeSet& set, double mu, Eigen::VectorXd& point,
                    const Deadline& deadline) {
  constexpr int kMaxSteps = 50;
  const Eigen::MatrixXd& a = set.coefficients();
  const auto value = [&](const Eigen::VectorXd& s) {
    return 0.5 * s.squaredNorm() - mu * s.array().log().sum();
  };
  for (int step = 0; step < kMaxSteps; ++step) {
    deadline.check();
    const Eigen::VectorXd slack = set.limits() - a * point;
    const Eigen::VectorXd inverse = slack.cwiseInverse();
    const Eigen::VectorXd gradient = a.transpose() * (mu * inverse - slack);
    const Eigen::VectorXd weights = 1 + mu * inverse.array().square();
    const Eigen::MatrixXd hessian = a.transpose() * weights.asDiagonal() * a;
    const Eigen::VectorXd newton = -hessian.completeOrthogonalDecomposition().solve(gradient);
    if (!(-gradient.dot(newton) > 1e-16 * mu)) return;
    // No slack shrinks by more than 90 % in a step; then the step is halved until the value falls.
    const Eigen::VectorXd change = -(a * newton);
    const double fastest = -change.cwiseQuotient(slack).minCoeff();
    double length = fastest > 0.9 ? 0.9 / fastest : 1.0;
    while (!(value(slack + length * change) < value(slack))) {
      length /= 2;
      if (length < 1e-12) return;
    }
    const Eigen::VectorXd next = point + length * newton;
    if (!((set.limits() - a * next).minCoeff() > 0)) return;  // rounding has the last word
    point = next;
  }
}

/// From a point strictly inside the rows towards the least ‖b - A α‖, along the centres above for
/// smaller and smaller μ. It ends past the centre with the largest margin, or with a proof that the
/// slack limit excludes all: y = s - μ / s has Aᵀy = 0 at each centre, and bᵀy comes near ‖s‖².
FeasibilityResult fit_slack_limit(const SafeSet& set, Eigen::VectorXd point,
                                  const Deadline& deadline) {
  constexpr int kMaxCentres = 60;
  constexpr double kShrink = 0.3;
  const Eigen::VectorXd start_slack = set.limits() - set.coefficients() * point;
  double mu = start_slack.squaredNorm() / static_cast<double>(set.rows());
  FeasibilityResult result;
  result.status = FeasibilityStatus::too_thin;
  double best = 0;
  for (int centre = 0; centre < kMaxCentres; ++centre, mu *= kShrink) {
    move_to_centre(set, mu, point, deadline);
    const double margin = margins(set, point).worst();
    if (margin > best) {
      best = margin;
      result.status = FeasibilityStatus::strictly_feasible;
      result.point = point;
    } else if (best > 0) {
      return result;
    }
    const Eigen::VectorXd slack = set.limits() - set.coefficients() * point;
    Eigen::VectorXd proof = slack - mu * slack.cwiseInverse();
    if (best == 0 && proof.dot(set.limits()) > set.slack_limit() * proof.cwiseMax(0).norm() &&
        proves_slack_above(set.coefficients(), set.limits(), set.slack_limit(), proof, deadline)) {
      result.status = FeasibilityStatus::slack_limit_excludes_all;
      result.contradiction = slack_contradiction(set, proof);
      return result;
    }
  }
  return result;
}

/// A policy that obeys the matrix inequalities and everything else, from one that obeys the rows.
/// The largest ratio of all constraints is convex; steps of Polyak's length towards where its
/// tangent reaches a level below 1 end where it does, if there is such a place.
FeasibilityResult fit_inequalities(const SafeSet& set, Eigen::VectorXd point,
                                   const Eigen::VectorXd& norms, const Deadline& deadline) {
  constexpr int kSteps = 4000;
  constexpr double kLevels[] = {0.9, 0.99, 0.999, 0.9999, 0.999999};
  FeasibilityResult result;
  result.status = FeasibilityStatus::too_thin;
  const double unit = std::max(1.0, point.norm());
  std::vector<GainInequality::Tangent> tangents;
  for (const double level : kLevels) {
    for (int step = 0; step < kSteps / static_cast<int>(std::size(kLevels)); ++step) {
      deadline.check();
      // The constraint that is furthest from the level; rows in units of the parameters.
      double worst = 0;
      Eigen::VectorXd slope;
      for (int row = 0; row < set.rows(); ++row) {
        const double excess =
            (set.coefficients().row(row).dot(point) - set.limits()(row)) / (norms(row) * unit) + 1 -
            level;
        if (excess <= worst) continue;
        worst = excess;
        slope = set.coefficients().row(row).transpose() / (norms(row) * unit);
      }
      for (const GainInequality& inequality : set.inequalities()) {
        tangents.clear();
        inequality.add_tangents(point, std::max(level, 0.5), tangents);
        if (tangents.empty()) continue;
        const GainInequality::Tangent& tangent = tangents.front();
        const double excess = 1 - tangent.bound + tangent.row.dot(point) - level;
        if (excess <= worst) continue;
        worst = excess;
        slope = tangent.row;
      }
      if (worst == 0) break;
      point -= worst / slope.squaredNorm() * slope;
    }
    if (strictly_safe(set, point)) {
      result.status = FeasibilityStatus::strictly_feasible;
      result.point = point;
      result.radius = 0;
      return result;
    }
  }
  return result;
}

FeasibilityResult find_strictly_safe(const SafeSet& set, const Deadline& deadline) {
  FeasibilityResult result;
  if (!set.constrained()) {
    result.status = FeasibilityStatus::strictly_feasible;
    result.point = Eigen::VectorXd::Zero(set.parameters());
    result.radius = kInfinity;
    return result;
  }
  if (set.rows() == 0) {
    return fit_inequalities(set, Eigen::VectorXd::Zero(set.parameters()), {}, deadline);
  }
  // Any positive numbers keep the question the same, so those that overflow are cut.
  constexpr double kLargest = 1e300;
  const Eigen::VectorXd norms = set.coefficients().rowwise().stableNorm().cwiseMin(kLargest);
  const double farthest = (set.limits().array().abs() / norms.array()).maxCoeff();
  const double max_radius = 2 * std::clamp(farthest, 1.0, kLargest);
  const DeepestPoint deepest =
      deepest_point(set.coefficients(), set.limits(), norms, max_radius, deadline);
  if (deepest.radius_sign <= 0) {
    result.status =
        deepest.radius_sign < 0 ? FeasibilityStatus::empty : FeasibilityStatus::no_interior;
    result.contradiction = contradiction_of(set, deepest);
    return result;
  }
  if (!(margins(set, deepest.point).rows.head(set.rows()).minCoeff() > 0)) {
    result.status = FeasibilityStatus::too_thin;
    return result;
  }
  if (strictly_safe(set, deepest.point)) {
    result.status = FeasibilityStatus::strictly_feasible;
    result.point = deepest.point;
  } else if (!set.inequalities().empty()) {
    return fit_inequalities(set, deepest.point, norms, deadline);
  } else {
    result = fit_slack_limit(set, deepest.point, deadline);
  }
  if (result.status == FeasibilityStatus::strictly_feasible) {
    result.radius = smallest_distance(set, norms, result.point);
  }
  return result;
}

/// Whether rows in one gain each bound every gain on both sides: the usual case, seen at once.
bool has_box(const SafeSet& set) {
  std::vector<bool> above(static_cast<std::size_t>(set.parameters()), false);
  std::vector<bool> below = above;
  for (int row = 0; row < set.rows(); ++row) {
    if ((set.coefficients().row(row).array() != 0).count() != 1) continue;
    long gain = 0;
    set.magnitudes().row(row).maxCoeff(&gain);
    const auto i = static_cast<std::size_t>(gain);
    (set.coefficients()(row, gain) > 0 ? above[i] : below[i]) = true;
  }
  const auto all = [](const std::vector<bool>& v) {
    return std::all_of(v.begin(), v.end(), [](bool b) { return b; });
  };
  return all(above) && all(below);
}

/// Whether the matrix inequalities bound every gain: together they limit every direction of the
/// actions.
bool actions_are_bounded(const SafeSet& set) {
  if (set.inequalities().empty()) return false;
  const int actions = set.inequalities().front().actions();
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(actions, actions);
  for (const GainInequality& inequality : set.inequalities()) {
    const Eigen::MatrixXd block = inequality.theta().bottomRightCorner(actions, actions);
    sum += block / block.trace();
  }
  const Eigen::VectorXd eigenvalues =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(sum, Eigen::EigenvaluesOnly).eigenvalues();
  constexpr double kRank = 1e-10;
  return eigenvalues(0) > kRank * eigenvalues(actions - 1);
}

}  // namespace

const char* to_string(FeasibilityStatus status) {
  switch (status) {
    case FeasibilityStatus::not_run:
      return "not run";
    case FeasibilityStatus::strictly_feasible:
      return "strictly feasible";
    case FeasibilityStatus::empty:
      return "empty";
    case FeasibilityStatus::no_interior:
      return "no interior";
    case FeasibilityStatus::slack_limit_excludes_all:
      return "slack limit excludes all";
    case FeasibilityStatus::too_thin:
      return "too thin";
    case FeasibilityStatus::out_of_time:
      return "out of time";
  }
  return "unknown";
}

const char* to_string(AnchorSource source) {
  switch (source) {
    case AnchorSource::none:
      return "none";
    case AnchorSource::given:
      return "given";
    case AnchorSource::closed_loop:
      return "closed loop";
    case AnchorSource::origin:
      return "origin";
    case AnchorSource::centre:
      return "centre";
  }
  return "unknown";
}

std::string FeasibilityResult::message() const {
  std::vector<std::string> terms;
  for (std::size_t i = 0; i < contradiction.names.size(); ++i) {
    terms.push_back(fmt::format("{:.6g} x \"{}\"", contradiction.multipliers(static_cast<long>(i)),
                                contradiction.names[i]));
  }
  const std::string sum = fmt::format("{}", fmt::join(terms, " + "));
  switch (status) {
    case FeasibilityStatus::not_run:
      return "The safe set was not checked.";
    case FeasibilityStatus::strictly_feasible:
      return fmt::format("The safe set has strictly safe policies; radius {:.6g}.", radius);
    case FeasibilityStatus::empty:
      return fmt::format(
          "The safe set is empty: these rows contradict each other, for {} gives 0 <= {:.6g}.", sum,
          contradiction.combined_limit);
    case FeasibilityStatus::no_interior:
      return fmt::format(
          "The safe set has no interior: these rows leave each other no margin, for {} gives "
          "0 <= 0.",
          sum);
    case FeasibilityStatus::slack_limit_excludes_all:
      return fmt::format(
          "The slack limit excludes every policy that obeys the rows: the slack is at least {:.6g} "
          "long, as {} proves.",
          contradiction.combined_limit, sum);
    case FeasibilityStatus::too_thin:
      return "The safe set is too thin: no strictly safe policy was found, and no contradiction.";
    case FeasibilityStatus::out_of_time:
      return "The time was over before it was known whether the safe set has strictly safe "
             "policies.";
  }
  return "unknown";
}

FeasibilityResult check_feasibility(const SafeSet& set, const Deadline& deadline) {
  try {
    return find_strictly_safe(set, deadline);
  } catch (const Deadline::Passed&) {
    FeasibilityResult result;
    result.status = FeasibilityStatus::out_of_time;
    return result;
  }
}

BoundednessResult check_boundedness(const SafeSet& set) {
  BoundednessResult result;
  if (has_box(set) || actions_are_bounded(set)) {
    result.status = BoundednessStatus::bounded;
    return result;
  }
  result.direction = set.has_slack_limit() ? null_direction(set.coefficients())
                                           : unbounded_direction(set.coefficients());
  result.status =
      result.direction.size() == 0 ? BoundednessStatus::bounded : BoundednessStatus::unbounded;
  return result;
}

Anchor choose_anchor(const SafeSet& set, const std::optional<Eigen::VectorXd>& given,
                     const Deadline& deadline) {
  Anchor anchor;
  if (given.has_value()) {
    require_size("given", given->size(), set.parameters());
    if (strictly_safe(set, *given)) {
      anchor.source = AnchorSource::given;
      anchor.parameters = *given;
      return anchor;
    }
  }
  for (const auto& closed_loop : set.closed_loops()) {
    const Eigen::VectorXd controller = parameters_from_gains(closed_loop->anchor);
    if (!strictly_safe(set, controller)) continue;
    anchor.source = AnchorSource::closed_loop;
    anchor.parameters = controller;
    return anchor;
  }
  const Eigen::VectorXd origin = Eigen::VectorXd::Zero(set.parameters());
  if (strictly_safe(set, origin)) {
    anchor.source = AnchorSource::origin;
    anchor.parameters = origin;
    return anchor;
  }
  anchor.feasibility = check_feasibility(set, deadline);
  if (anchor.feasibility.status == FeasibilityStatus::strictly_feasible) {
    anchor.source = AnchorSource::centre;
    anchor.parameters = anchor.feasibility.point;
  }
  return anchor;
}

}  // namespace lifeguard
