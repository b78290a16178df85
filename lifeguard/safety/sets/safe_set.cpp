#include "lifeguard/safety/sets/safe_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {
namespace {

// The largest absolute error of one product that underflows.
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

double below(double value) { return std::nextafter(value, -kInfinity); }

void require_slack_limit(double slack_limit) {
  require(slack_limit > 0, "slack_limit", slack_limit, "must be greater than 0 (or infinity)");
}

// By how much an inequality that could not be proven is broken: at least a little.
double unproven(const GainInequality& inequality, const Eigen::VectorXd& parameters) {
  constexpr double kNotKnown = 1e-12;
  const double excess = inequality.ratio(parameters) - 1;
  return std::isfinite(excess) ? std::max(excess, 0.0) + kNotKnown : kInfinity;
}

}  // namespace

SafeSet::SafeSet(int parameters)
    : inequalities_(std::make_shared<const std::vector<GainInequality>>()) {
  require(parameters > 0, "parameters", static_cast<double>(parameters), "must be at least 1");
  coefficients_.resize(0, parameters);
  magnitudes_.resize(0, parameters);
}

SafeSet::SafeSet(Eigen::MatrixXd coefficients, Eigen::VectorXd limits,
                 std::vector<std::string> names, double slack_limit)
    : coefficients_(std::move(coefficients)),
      magnitudes_(coefficients_.cwiseAbs()),
      limits_(std::move(limits)),
      names_(std::move(names)),
      slack_limit_(slack_limit),
      inequalities_(std::make_shared<const std::vector<GainInequality>>()) {
  require(coefficients_.cols() > 0, "parameters", static_cast<double>(coefficients_.cols()),
          "must be at least 1");
  require_size("limits", limits_.size(), coefficients_.rows());
  require_size("names", static_cast<long>(names_.size()), coefficients_.rows());
  require_slack_limit(slack_limit_);
  std::set<std::string> seen;
  for (int row = 0; row < rows(); ++row) {
    require(!name(row).empty(), indexed("names", row), "\"\"", "a row must have a name");
    require(seen.insert(name(row)).second, indexed("names", row), name(row),
            "names must differ from each other");
    for (int column = 0; column < this->parameters(); ++column) {
      require_finite(fmt::format("coefficients({}, {}) of \"{}\"", row, column, name(row)),
                     coefficients_(row, column));
    }
    require((coefficients_.row(row).array() != 0).any(),
            fmt::format("coefficients of \"{}\"", name(row)), "0",
            "a row must have a coefficient that is not 0");
    require_finite(fmt::format("limit of \"{}\"", name(row)), limits_(row));
  }
}

SafeSet SafeSet::with_slack_limit(double slack_limit) const {
  require_slack_limit(slack_limit);
  SafeSet result = *this;
  result.slack_limit_ = slack_limit;
  return result;
}

SafeSet SafeSet::with_inequalities(const std::vector<GainInequality>& inequalities) const {
  SafeSet result = *this;
  std::vector<GainInequality> all = *inequalities_;
  std::set<std::string> seen(names_.begin(), names_.end());
  for (const GainInequality& inequality : inequalities) {
    require_size(fmt::format("parameters of \"{}\"", inequality.name()), inequality.parameters(),
                 parameters());
    require(seen.insert(inequality.name()).second, "name of an inequality", inequality.name(),
            "names must differ from each other");
    result.names_.push_back(inequality.name());
    all.push_back(inequality);
  }
  result.inequalities_ = std::make_shared<const std::vector<GainInequality>>(std::move(all));
  return result;
}

SafeSet SafeSet::with_meaning(std::shared_ptr<const ClosedLoop> closed_loop) const {
  for (const GainInequality& asked : closed_loop->inequalities()) {
    const bool known =
        std::any_of(inequalities_->begin(), inequalities_->end(),
                    [&](const GainInequality& has) { return has.renamed(asked.name()) == asked; });
    require(known, "closed loop", asked.name(), "must be among the inequalities of the set");
  }
  SafeSet result = *this;
  result.closed_loops_.push_back(std::move(closed_loop));
  return result;
}

SafeSet closed_loop_set(const ClosedLoop& closed_loop) {
  return SafeSet(closed_loop.plant.states() * closed_loop.plant.actions())
      .with_inequalities(closed_loop.inequalities())
      .with_meaning(std::make_shared<const ClosedLoop>(closed_loop));
}

bool SafeSet::operator==(const SafeSet& other) const {
  return coefficients_.rows() == other.coefficients_.rows() &&
         coefficients_.cols() == other.coefficients_.cols() &&
         coefficients_ == other.coefficients_ && limits_ == other.limits_ &&
         names_ == other.names_ && slack_limit_ == other.slack_limit_ &&
         *inequalities_ == *other.inequalities_ &&
         std::equal(closed_loops_.begin(), closed_loops_.end(), other.closed_loops_.begin(),
                    other.closed_loops_.end(),
                    [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

SafeSet intersect(const std::vector<SafeSet>& parts) {
  require(!parts.empty(), "parts", "0 sets", "must have at least 1");
  const int parameters = parts.front().parameters();
  int rows = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string field = indexed("parts", static_cast<long>(i));
    require(parts[i].parameters() == parameters, field + ".parameters",
            static_cast<double>(parts[i].parameters()),
            fmt::format("must be {}, as in the first set", parameters));
    require(!parts[i].has_slack_limit(), field + ".slack_limit", parts[i].slack_limit(),
            "must be infinity: intersect first, then limit the slack of all rows");
    rows += parts[i].rows();
  }
  Eigen::MatrixXd coefficients(rows, parameters);
  Eigen::VectorXd limits(rows);
  std::vector<std::string> names;
  std::set<std::string> taken;
  const auto unique = [&](const std::string& name) {
    std::string result = name;
    for (int n = 2; !taken.insert(result).second; ++n) result = fmt::format("{} ({})", name, n);
    return result;
  };
  for (const SafeSet& part : parts) {
    const int first = static_cast<int>(names.size());
    coefficients.middleRows(first, part.rows()) = part.coefficients();
    limits.segment(first, part.rows()) = part.limits();
    for (int row = 0; row < part.rows(); ++row) names.push_back(unique(part.name(row)));
  }
  std::vector<GainInequality> inequalities;
  for (const SafeSet& part : parts) {
    for (const GainInequality& inequality : part.inequalities()) {
      inequalities.push_back(inequality.renamed(unique(inequality.name())));
    }
  }
  SafeSet set = rows == 0 ? SafeSet(parameters)
                          : SafeSet(std::move(coefficients), std::move(limits), std::move(names));
  if (inequalities.empty()) return set;
  SafeSet result = set.with_inequalities(inequalities);
  for (const SafeSet& part : parts) {
    for (const auto& closed_loop : part.closed_loops()) {
      result.closed_loops_.push_back(closed_loop);
    }
  }
  return result;
}

int Margins::worst_row() const {
  if (rows.size() == 0) return -1;
  Eigen::Index row = 0;
  rows.minCoeff(&row);
  return static_cast<int>(row);
}

double Margins::worst() const {
  return rows.size() == 0 ? slack : std::min(rows.minCoeff(), slack);
}

Margins margins(const SafeSet& set, const Eigen::VectorXd& parameters) {
  return margins(set, parameters, Eigen::VectorXd::Zero(parameters.size()));
}

Margins margins(const SafeSet& set, const Eigen::VectorXd& parameters,
                const Eigen::VectorXd& error) {
  require_size("parameters", parameters.size(), set.parameters());
  require_size("error", error.size(), set.parameters());
  // With v = fl(b - fl(aᵀα)), in whatever order the sum is taken (Higham §3.1),
  //   |v - (b - aᵀα)| ≤ γ_d |a|ᵀ|α| + u |v| (1 + 2u) + d tiny.
  // |a|ᵀ|α| and |a|ᵀ error are themselves rounded: with M = |a|ᵀ|α| and its rounded value m,
  //   M ≤ (m + d tiny) (1 + γ_{d+1}), and γ_d (1 + γ_{d+1}) ≤ γ_{d+1} while d² u ≤ 1.
  // The six roundings in `bound` below are covered by γ_{d+8}.
  const int d = set.parameters();
  const double gamma = rounding_gamma(d + 8);
  const double tiny = (4.0 * d + 16.0) * kSmallest;
  Margins result;
  const Eigen::VectorXd products = set.coefficients() * parameters;
  result.rows = set.limits() - products;  // apart, so that b is not one of the summed terms
  const Eigen::VectorXd magnitude = set.magnitudes() * parameters.cwiseAbs();
  const Eigen::VectorXd spread = set.magnitudes() * error;
  double squares = 0;
  for (int row = 0; row < set.rows(); ++row) {
    const double value = result.rows(row);
    const double bound = gamma * magnitude(row) + (1 + gamma) * spread(row) +
                         2 * kUnitRoundoff * std::abs(value) + tiny;
    const double lower = below(value - bound);
    // Not finite: something overflowed and nothing is known.
    result.rows(row) = std::isfinite(lower) && std::isfinite(bound) ? lower : -kInfinity;
    const double slack = std::abs(value) + bound;  // at least |b - aᵀα|, but for its own rounding
    squares += slack * slack + kSmallest;
  }
  if (set.has_slack_limit()) {
    // m squares and sums, the rounding of each slack, the root and the product below.
    const double norm = std::sqrt(squares) * (1 + rounding_gamma(set.rows() + 12L));
    const double lower = below(set.slack_limit() - norm);
    result.slack = std::isfinite(norm) ? lower : -kInfinity;
  } else {
    result.slack = kInfinity;
  }
  if (!set.inequalities().empty()) {
    const double distance = error.norm() * (1 + rounding_gamma(d + 4));
    result.rows.conservativeResize(set.constraints());
    for (int row = set.rows(); row < set.constraints(); ++row) {
      const GainInequality& inequality = set.inequalities()[row - set.rows()];
      const double lower = below(1 - inequality.proven_ratio(parameters, distance));
      // What is not proven to hold is told by its size, a little more than it.
      result.rows(row) = std::isfinite(lower) ? lower : -unproven(inequality, parameters);
    }
  }
  return result;
}

bool obeys(const SafeSet& set, const Eigen::Ref<const Eigen::VectorXd>& parameters) {
  double square = 0;
  for (int row = 0; row < set.rows(); ++row) {
    const double slack = set.limits()(row) - set.coefficients().row(row).dot(parameters);
    if (!(slack >= 0)) return false;
    square += slack * slack;
  }
  for (const GainInequality& inequality : set.inequalities()) {
    if (!std::isfinite(inequality.proven_ratio(parameters, 0))) return false;
  }
  return !set.has_slack_limit() || square <= set.slack_limit() * set.slack_limit();
}

std::string why_not_safe(const SafeSet& set, const Eigen::VectorXd& parameters) {
  for (Eigen::Index i = 0; i < parameters.size(); ++i) {
    if (!std::isfinite(parameters(i))) {
      return fmt::format("has {} as parameter {}", parameters(i), i);
    }
  }
  const Margins found = margins(set, parameters);
  if (found.worst() > 0) return "";
  const int row = found.worst_row();
  if (row >= 0 && found.rows(row) <= found.slack) {
    if (row >= set.rows()) {
      return fmt::format("exceeds \"{}\" by {:.4g} %", set.name(row), -100 * found.rows(row));
    }
    // On the limit itself, but for rounding.
    if (found.rows(row) > -1e-12 * std::max(1.0, std::abs(set.limits()(row)))) {
      return fmt::format("lies on the limit of \"{}\"", set.name(row));
    }
    return fmt::format("breaks \"{}\" by {:.4g}", set.name(row), -found.rows(row));
  }
  return fmt::format("exceeds the slack limit {:.4g} by {:.4g}", set.slack_limit(), -found.slack);
}

bool strictly_safe(const SafeSet& set, const Eigen::VectorXd& parameters) {
  return parameters.allFinite() && margins(set, parameters).worst() > 0;
}

Eigen::VectorXd limits_from_anchor(const SafeSet& set, const Eigen::VectorXd& anchor) {
  return margins(set, anchor).rows.head(set.rows());
}

double rounding_gamma(long n) {
  const double roundings = static_cast<double>(n) * kUnitRoundoff;
  return std::nextafter(roundings / (1 - roundings), kInfinity);
}

}  // namespace lifeguard
