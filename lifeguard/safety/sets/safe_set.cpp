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
double unproven(const GainInequality& inequality,
                const Eigen::Ref<const Eigen::VectorXd>& parameters) {
  constexpr double kNotKnown = 1e-12;
  const double excess = inequality.ratio(parameters) - 1;
  return std::isfinite(excess) ? std::max(excess, 0.0) + kNotKnown : kInfinity;
}

}  // namespace

SafeSet::SafeSet(int parameters) {
  require(parameters > 0, "parameters", static_cast<double>(parameters), "must be at least 1");
  Data data;
  data.coefficients.resize(0, parameters);
  data.magnitudes.resize(0, parameters);
  data_ = std::make_shared<const Data>(std::move(data));
}

SafeSet::SafeSet(Eigen::MatrixXd coefficients, Eigen::VectorXd limits,
                 std::vector<std::string> names, double slack_limit) {
  Data data;
  data.coefficients = std::move(coefficients);
  data.magnitudes = data.coefficients.cwiseAbs();
  data.limits = std::move(limits);
  data.names = std::move(names);
  data.slack_limit = slack_limit;
  data_ = std::make_shared<const Data>(std::move(data));
  require(this->parameters() > 0, "parameters", this->parameters(), "must be at least 1");
  require_size("limits", this->limits().size(), rows());
  require_size("names", constraints(), rows());
  require_slack_limit(slack_limit);
  std::set<std::string> seen;
  for (int row = 0; row < rows(); ++row) {
    require(!name(row).empty(), indexed("names", row), "\"\"", "a row must have a name");
    require(seen.insert(name(row)).second, indexed("names", row), name(row),
            "names must differ from each other");
    for (int column = 0; column < this->parameters(); ++column) {
      require_finite(fmt::format("coefficients({}, {}) of \"{}\"", row, column, name(row)),
                     this->coefficients()(row, column));
    }
    require((this->coefficients().row(row).array() != 0).any(),
            fmt::format("coefficients of \"{}\"", name(row)), "0",
            "a row must have a coefficient that is not 0");
    require_finite(fmt::format("limit of \"{}\"", name(row)), this->limits()(row));
  }
}

SafeSet SafeSet::with_slack_limit(double slack_limit) const {
  require_slack_limit(slack_limit);
  Data data = *data_;
  data.slack_limit = slack_limit;
  return SafeSet(std::move(data));
}

SafeSet SafeSet::with_inequalities(const std::vector<GainInequality>& inequalities) const {
  Data data = *data_;
  std::set<std::string> seen(names().begin(), names().end());
  for (const GainInequality& inequality : inequalities) {
    require_size(fmt::format("parameters of \"{}\"", inequality.name()), inequality.parameters(),
                 parameters());
    require(seen.insert(inequality.name()).second, "name of an inequality", inequality.name(),
            "names must differ from each other");
    data.names.push_back(inequality.name());
    data.inequalities.push_back(inequality);
  }
  return SafeSet(std::move(data));
}

SafeSet SafeSet::with_meaning(std::shared_ptr<const ClosedLoop> closed_loop) const {
  for (const GainInequality& asked : closed_loop->inequalities()) {
    const bool known =
        std::any_of(inequalities().begin(), inequalities().end(),
                    [&](const GainInequality& has) { return has.renamed(asked.name()) == asked; });
    require(known, "closed loop", asked.name(), "must be among the inequalities of the set");
  }
  Data data = *data_;
  data.closed_loops.push_back(std::move(closed_loop));
  return SafeSet(std::move(data));
}

bool SafeSet::operator==(const SafeSet& other) const {
  if (data_ == other.data_) return true;
  return rows() == other.rows() && parameters() == other.parameters() &&
         coefficients() == other.coefficients() && limits() == other.limits() &&
         names() == other.names() && slack_limit() == other.slack_limit() &&
         inequalities() == other.inequalities() &&
         std::equal(closed_loops().begin(), closed_loops().end(), other.closed_loops().begin(),
                    other.closed_loops().end(),
                    [](const auto& a, const auto& b) { return a == b || *a == *b; });
}

SafeSet closed_loop_set(const ClosedLoop& closed_loop) {
  return SafeSet(closed_loop.plant.states() * closed_loop.plant.actions())
      .with_inequalities(closed_loop.inequalities())
      .with_meaning(std::make_shared<const ClosedLoop>(closed_loop));
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
  SafeSet::Data data = *set.with_inequalities(inequalities).data_;
  for (const SafeSet& part : parts) {
    data.closed_loops.insert(data.closed_loops.end(), part.closed_loops().begin(),
                             part.closed_loops().end());
  }
  return SafeSet(std::move(data));
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
  MarginWorkspace workspace;
  margins(set, parameters, error, workspace);
  return std::move(workspace.margins);
}

const Margins& margins(const SafeSet& set, const Eigen::VectorXd& parameters,
                       const Eigen::VectorXd& error, MarginWorkspace& workspace) {
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
  Margins& result = workspace.margins;
  result.rows.resize(set.constraints());
  workspace.sizes = parameters.cwiseAbs();
  workspace.products.noalias() = set.coefficients() * parameters;
  workspace.magnitude.noalias() = set.magnitudes() * workspace.sizes;
  workspace.spread.noalias() = set.magnitudes() * error;
  double squares = 0;
  for (int row = 0; row < set.rows(); ++row) {
    // Apart, so that b is not one of the summed terms.
    const double value = set.limits()(row) - workspace.products(row);
    const double bound = gamma * workspace.magnitude(row) + (1 + gamma) * workspace.spread(row) +
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
