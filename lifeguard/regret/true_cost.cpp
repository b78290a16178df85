#include "lifeguard/regret/true_cost.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/tangents.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {

namespace {

/// The nearest safe policy, in coordinates scaled by `units`.
class SafeProjection {
 public:
  SafeProjection(const SafeSet& set, const Eigen::VectorXd& units) : set_(set), units_(units) {
    const Anchor anchor = choose_anchor(set);
    require(anchor.source != AnchorSource::none, "safe set", to_string(anchor.feasibility.status),
            anchor.feasibility.message());
    interior_ = anchor.parameters;
    rows_ = set.coefficients() * units.asDiagonal();
    limits_ = limits_from_anchor(set, interior_);
  }

  /// Whether α was safe already.
  bool apply(Eigen::VectorXd& alpha) {
    if (!set_.constrained()) return true;
    const Eigen::VectorXd target = (alpha - interior_).cwiseQuotient(units_);
    Eigen::VectorXd nearest = target;
    if (!set_.inequalities().empty()) return apply_tangents(target, alpha);
    const CoefficientPath path =
        solver_.solve(rows_, limits_, set_.slack_limit(), target, memory_, nearest);
    if (path == CoefficientPath::inside) return true;
    // A little inside, so that rounding does not put it outside.
    constexpr double kInside = 1 - 1e-12;
    nearest *= kInside * longest_scale(rows_ * nearest, limits_, set_.slack_limit());
    alpha = interior_ + units_.cwiseProduct(nearest);
    return false;
  }

 private:
  // Tangent planes once found stay among the rows, since all safe policies lie behind them.
  bool apply_tangents(const Eigen::VectorXd& target, Eigen::VectorXd& alpha) {
    if (strictly_safe(set_, alpha)) return true;
    const CurvedConstraints curved{set_.inequalities(), set_.coefficients(), set_.limits(),
                                   set_.slack_limit()};
    Eigen::VectorXd nearest = target;
    for (int step = 0; step < kMostCuttingSteps; ++step) {
      std::vector<GainInequality::Tangent> tangents;
      curved.add_tangents(interior_ + units_.cwiseProduct(nearest), 1, tangents);
      Eigen::Index row = rows_.rows();
      rows_.conservativeResize(row + static_cast<Eigen::Index>(tangents.size()), set_.parameters());
      limits_.conservativeResize(rows_.rows());
      for (const GainInequality::Tangent& tangent : tangents) {
        rows_.row(row) = tangent.row.cwiseProduct(units_).transpose();
        limits_(row++) = std::max(0.0, tangent.bound - tangent.row.dot(interior_));
      }
      memory_.active_rows.clear();
      solver_.solve(rows_, limits_, kInfinity, target, memory_, nearest);
      if (curved.largest_ratio(interior_ + units_.cwiseProduct(nearest)) <= 1 + kRatioTolerance) {
        break;
      }
    }
    constexpr double kInside = 1 - 1e-10;
    const double ratio = curved.largest_ratio(interior_ + units_.cwiseProduct(nearest));
    nearest *= kInside * longest_scale(rows_ * nearest, limits_, kInfinity) *
               convex_scale(curved.largest_ratio(interior_), ratio, kInside);
    alpha = interior_ + units_.cwiseProduct(nearest);
    return false;
  }

  const SafeSet& set_;
  Eigen::VectorXd units_;
  Eigen::VectorXd interior_;
  RowMajorMatrix rows_;
  Eigen::VectorXd limits_;
  CoefficientStep solver_;
  CoefficientMemory memory_;
};

}  // namespace

void TrueCostSettings::validate() const {
  require(start_states > 0, "start_states", start_states, "must be at least 1");
  require(steps > 0, "steps", steps, "must be at least 1");
}

double true_cost(const Task& task, const Eigen::VectorXd& alpha, const TrueCostSettings& settings) {
  settings.validate();
  RolloutSettings rollouts;
  rollouts.trajectories = settings.start_states;
  rollouts.steps = settings.steps;
  rollouts.seed = settings.seed;
  rollouts.features = settings.features;
  const PerAction sigma = settings.exploration ? task.settings.sigma : PerAction(0.0);
  return evaluate(task, GaussianPolicy::from_parameters(alpha, task.actions(), sigma), rollouts)
      .mean_cost;
}

BestPolicy best_known_policy(const Task& task, const SafeSet& set,
                             const std::vector<Eigen::VectorXd>& candidates,
                             const BestPolicySettings& settings) {
  require(settings.trials >= 0, "trials", settings.trials, "must not be negative");
  require_positive("first_step", settings.first_step);
  std::vector<Eigen::VectorXd> starts = candidates;
  const Eigen::Index d = set.parameters();
  if (const auto lqr = find_lqr_policy_gains(task, settings.cost.features)) {
    starts.push_back(parameters_from_gains(*lqr));
  } else if (starts.empty()) {
    starts.emplace_back(Eigen::VectorXd::Zero(d));
  }
  Eigen::VectorXd units = Eigen::VectorXd::Zero(d);
  for (const Eigen::VectorXd& start : starts) {
    require_size("candidate", start.size(), d);
    units = units.cwiseMax(start.cwiseAbs());
  }
  // Without LQR and candidates nothing is known of the sizes of gains.
  if (units.isZero(0)) units.setOnes();
  units = units.cwiseMax(1e-3 * units.maxCoeff());

  SafeProjection projection(set, units);
  BestPolicy best;
  for (Eigen::VectorXd& start : starts) {
    const bool safe = projection.apply(start);
    const double cost = true_cost(task, start, settings.cost);
    if (best.status == BestPolicyStatus::not_run || cost < best.cost) {
      best.status = safe ? BestPolicyStatus::from_candidate : BestPolicyStatus::from_projection;
      best.alpha = start;
      best.cost = cost;
    }
  }
  best.candidate_cost = best.cost;

  double step = settings.first_step;
  for (int trial = 0; trial < settings.trials; ++trial) {
    const CounterRandom random(settings.seed, RandomStream::user,
                               static_cast<std::uint64_t>(trial));
    Eigen::VectorXd next = best.alpha;
    for (Eigen::Index i = 0; i < d; ++i) {
      next(i) += step * units(i) * random.normal(static_cast<std::uint32_t>(i));
    }
    projection.apply(next);
    const double cost = true_cost(task, next, settings.cost);
    if (cost < best.cost) {
      best.alpha = next;
      best.cost = cost;
      step *= 1.5;
    } else {
      step *= std::pow(1.5, -0.25);
    }
  }
  return best;
}

double integrated_regret(const std::vector<long>& rounds, const std::vector<double>& gaps,
                         long last) {
  require(!rounds.empty(), "rounds", 0, "must not be empty");
  require_size("gaps", static_cast<long>(gaps.size()), static_cast<long>(rounds.size()));
  require(last >= 1 && last <= rounds.back(), "last", static_cast<double>(last),
          "must lie between 1 and the last measured round");
  double sum = 0;
  std::size_t next = 0;  // the first measured round at or after j
  for (long j = 1; j <= last; ++j) {
    while (rounds[next] < j) ++next;
    if (next == 0) {
      sum += gaps[0];
      continue;
    }
    const double share = static_cast<double>(j - rounds[next - 1]) /
                         static_cast<double>(rounds[next] - rounds[next - 1]);
    sum += (1 - share) * gaps[next - 1] + share * gaps[next];
  }
  return sum;
}

std::vector<long> log_spaced_rounds(long last, int per_decade) {
  require(last >= 1, "last", static_cast<double>(last), "must be at least 1");
  require(per_decade >= 1, "per_decade", per_decade, "must be at least 1");
  std::vector<long> rounds;
  for (int i = 0;; ++i) {
    const long round = std::lround(std::pow(10.0, static_cast<double>(i) / per_decade));
    if (round >= last) break;
    if (rounds.empty() || round > rounds.back()) rounds.push_back(round);
  }
  rounds.push_back(last);
  return rounds;
}

}  // namespace lifeguard
