#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/prove/exact_number.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {
namespace closed_loop_check {

using Number = ExactNumber;

/// A matrix of exact numbers.
struct Exact {
  std::vector<std::vector<Number>> rows;

  Exact(Eigen::Index r, Eigen::Index c)
      : rows(static_cast<std::size_t>(r), std::vector<Number>(static_cast<std::size_t>(c))) {}
  explicit Exact(const Eigen::MatrixXd& m) : Exact(m.rows(), m.cols()) {
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
      for (Eigen::Index j = 0; j < m.cols(); ++j) at(i, j) = Number(m(i, j));
    }
  }
  Number& at(Eigen::Index i, Eigen::Index j) {
    return rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  const Number& at(Eigen::Index i, Eigen::Index j) const {
    return rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  Eigen::Index height() const { return static_cast<Eigen::Index>(rows.size()); }
  Eigen::Index width() const {
    return rows.empty() ? 0 : static_cast<Eigen::Index>(rows.front().size());
  }
};

Exact transposed(const Exact& m) {
  Exact result(m.width(), m.height());
  for (Eigen::Index i = 0; i < m.height(); ++i) {
    for (Eigen::Index j = 0; j < m.width(); ++j) result.at(j, i) = m.at(i, j);
  }
  return result;
}

Exact operator*(const Exact& x, const Exact& y) {
  Exact result(x.height(), y.width());
  for (Eigen::Index i = 0; i < x.height(); ++i) {
    for (Eigen::Index j = 0; j < y.width(); ++j) {
      for (Eigen::Index k = 0; k < x.width(); ++k) {
        if (x.at(i, k).is_zero() || y.at(k, j).is_zero()) continue;
        result.at(i, j) = result.at(i, j) + x.at(i, k) * y.at(k, j);
      }
    }
  }
  return result;
}

Exact operator*(const Number& factor, const Exact& m) {
  Exact result = m;
  for (auto& row : result.rows) {
    for (Number& entry : row) entry = factor * entry;
  }
  return result;
}

Exact operator-(const Exact& x, const Exact& y) {
  Exact result = x;
  for (Eigen::Index i = 0; i < x.height(); ++i) {
    for (Eigen::Index j = 0; j < x.width(); ++j) result.at(i, j) = x.at(i, j) - y.at(i, j);
  }
  return result;
}

Number quadratic_form(const Exact& m, const std::vector<Number>& x) {
  Number sum;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) sum = sum + x[i] * x[j] * m.rows[i][j];
  }
  return sum;
}

bool not_negative(const Exact& m) { return definiteness(m.rows) != Definite::no; }

/// Calls visit(corner) for every corner of a box.
template <class Visit>
void for_each_corner(const Eigen::VectorXd& low, const Eigen::VectorXd& high, const Visit& visit) {
  const auto n = static_cast<std::size_t>(low.size());
  for (std::size_t bits = 0; bits < std::size_t{1} << n; ++bits) {
    std::vector<Number> corner;
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      corner.emplace_back((bits >> i & 1U) != 0 ? high(at) : low(at));
    }
    visit(corner);
  }
}

bool sizes_agree(const ClosedLoop& loop) {
  const UncertainPlant& plant = loop.plant;
  const Eigen::Index n = plant.states();
  const Eigen::Index m = plant.actions();
  const auto square = [](const Eigen::MatrixXd& matrix, Eigen::Index size) {
    return matrix.rows() == size && matrix.cols() == size && matrix.allFinite();
  };
  bool agree = square(loop.p, n) && loop.start_low.size() == n && loop.start_high.size() == n &&
               loop.start_low.allFinite() && loop.start_high.allFinite() &&
               loop.noise_limits.size() == m && loop.noise_limits.allFinite() &&
               std::isfinite(loop.decay);
  agree = agree && loop.inflated.size() == plant.corners.size() &&
          loop.multipliers.size() == plant.corners.size() &&
          loop.noise_multipliers.size() == plant.corners.size();
  for (std::size_t i = 0; agree && i < plant.corners.size(); ++i) {
    agree = square(loop.inflated[i], n) && loop.multipliers[i].size() == plant.channels() &&
            loop.multipliers[i].allFinite() && loop.noise_multipliers[i].allFinite();
  }
  for (const auto* list : {&loop.contractions, &loop.action_bounds}) {
    for (const GainInequality& inequality : *list) {
      agree = agree && inequality.features() == n && inequality.actions() == m;
    }
  }
  return agree;
}

class Check {
 public:
  explicit Check(const ClosedLoop& loop)
      : loop_(loop), plant_(loop.plant), p_(loop.p), decay_(loop.decay) {}

  std::vector<ClosedLoopFinding> run() {
    if (definiteness(p_.rows) != Definite::positive) {
      found("P is not positive definite");
      return findings_;
    }
    if (!(loop_.decay > 0 && loop_.decay < 1)) found("the decay does not lie between 0 and 1");
    state_limits();
    start_box();
    if (loop_.noise_limits.minCoeff() < 0) found("a noise limit is negative");
    contractions();
    action_bounds();
    return findings_;
  }

 private:
  void found(std::string message) { findings_.push_back({std::move(message)}); }

  void state_limits() {
    for (Eigen::Index s = 0; s < plant_.states(); ++s) {
      const double limit = plant_.state_limits(s);
      if (!std::isfinite(limit)) continue;
      Exact left = Number(limit) * Number(limit) * p_;  // l² P − e eᵀ ⪰ 0
      left.at(s, s) = left.at(s, s) - Number(1.0);
      if (!not_negative(left)) {
        found(fmt::format("the set reaches beyond the limit {:.9g} of state {}", limit, s));
      }
    }
  }

  void start_box() {
    int outside = 0;
    for (Eigen::Index i = 0; i < loop_.start_low.size(); ++i) {
      if (!(loop_.start_low(i) <= loop_.start_high(i))) {
        found("the start box has no inside");
        return;
      }
    }
    for_each_corner(loop_.start_low, loop_.start_high, [&](const std::vector<Number>& corner) {
      if (!(quadratic_form(p_, corner) <= Number(1.0))) ++outside;
    });
    if (outside > 0) found(fmt::format("{} corners of the start box lie outside", outside));
  }

  /// What noise at its limits adds to a step at a corner, as ClosedLoop says.
  std::vector<std::vector<Number>> noise_columns(const UncertainPlant::Corner& corner) const {
    std::vector<std::vector<Number>> columns;
    for (Eigen::Index a = 0; a < plant_.actions(); ++a) {
      const Number size(loop_.noise_limits(a));
      if (size.is_zero() || corner.b.col(a).isZero(0)) continue;
      columns.emplace_back();
      for (const double entry : corner.b.col(a)) columns.back().push_back(size * Number(entry));
    }
    for (Eigen::Index j = 0; j < plant_.channels(); ++j) {
      Number size;
      for (Eigen::Index a = 0; a < plant_.actions(); ++a) {
        size =
            size + magnitude(Number(plant_.action_factors(j, a))) * Number(loop_.noise_limits(a));
      }
      if (size.is_zero()) continue;
      columns.emplace_back();
      for (const double entry : plant_.spreads.col(j)) {
        columns.back().push_back(size * Number(entry));
      }
    }
    return columns;
  }

  void contractions() {
    if (loop_.contractions.size() != plant_.corners.size()) {
      found(fmt::format("there are {} inequalities for {} corners", loop_.contractions.size(),
                        plant_.corners.size()));
      return;
    }
    const Eigen::Index n = plant_.states();
    const Eigen::Index m = plant_.actions();
    const Eigen::Index c = plant_.channels();
    const Exact scaled_p = decay_ * decay_ * p_;
    for (std::size_t i = 0; i < plant_.corners.size(); ++i) {
      const UncertainPlant::Corner& corner = plant_.corners[i];
      const Exact w(loop_.inflated[i]);
      const Eigen::VectorXd& d = loop_.multipliers[i];
      const Eigen::VectorXd& alpha = loop_.noise_multipliers[i];
      const std::vector<std::vector<Number>> noise = noise_columns(corner);
      const auto k = static_cast<Eigen::Index>(noise.size());
      if (alpha.size() != k) {
        found(fmt::format("there are {} multipliers for {} columns of noise at {}", alpha.size(), k,
                          corner.name));
        continue;
      }
      Number budget = decay_ * decay_;
      for (const double part : alpha) budget = budget + Number(part);
      if (!(budget <= Number(1.0))) {
        found(fmt::format("noise within its limits can leave the set at {}", corner.name));
      }
      // [[W − P, −P N], [−Nᵀ P, diag(d, α) − Nᵀ P N]] ⪰ 0.
      Exact pushes(n, c + k);
      for (Eigen::Index r = 0; r < n; ++r) {
        for (Eigen::Index j = 0; j < c; ++j) pushes.at(r, j) = Number(plant_.spreads(r, j));
        for (Eigen::Index j = 0; j < k; ++j) {
          pushes.at(r, c + j) = noise[static_cast<std::size_t>(j)][static_cast<std::size_t>(r)];
        }
      }
      Exact relation(n + c + k, n + c + k);
      for (Eigen::Index r = 0; r < n; ++r) {
        for (Eigen::Index s = 0; s < n; ++s) relation.at(r, s) = w.at(r, s) - p_.at(r, s);
      }
      const Exact pn = p_ * pushes;
      const Exact npn = transposed(pushes) * pn;
      for (Eigen::Index j = 0; j < c + k; ++j) {
        for (Eigen::Index r = 0; r < n; ++r) {
          relation.at(r, n + j) = relation.at(n + j, r) = -pn.at(r, j);
        }
        for (Eigen::Index l = 0; l < c + k; ++l) relation.at(n + j, n + l) = -npn.at(j, l);
        const double multiplier = j < c ? d(j) : alpha(j - c);
        if (!(multiplier > 0))
          found(fmt::format("a multiplier at {} is not positive", corner.name));
        relation.at(n + j, n + j) = relation.at(n + j, n + j) + Number(multiplier);
      }
      if (!not_negative(relation)) {
        found(fmt::format("the bound on channels and noise does not hold at {}", corner.name));
      }
      // Θ − [A B]ᵀ W [A B] − [F H]ᵀ D [F H] ⪰ 0.
      Exact model(n, n + m);
      for (Eigen::Index r = 0; r < n; ++r) {
        for (Eigen::Index s = 0; s < n; ++s) model.at(r, s) = Number(corner.a(r, s));
        for (Eigen::Index a = 0; a < m; ++a) model.at(r, n + a) = Number(corner.b(r, a));
      }
      const GainInequality& inequality = loop_.contractions[i];
      Exact rest = Exact(inequality.theta()) - transposed(model) * (w * model);
      for (Eigen::Index j = 0; j < c; ++j) {
        Exact factor(1, n + m);
        for (Eigen::Index s = 0; s < n; ++s) factor.at(0, s) = Number(plant_.state_factors(j, s));
        for (Eigen::Index a = 0; a < m; ++a) {
          factor.at(0, n + a) = Number(plant_.action_factors(j, a));
        }
        rest = rest - Number(d(j)) * (transposed(factor) * factor);
      }
      if (!not_negative(rest)) {
        found(fmt::format("\"{}\" asks for less than the plant at {}", inequality.name(),
                          corner.name));
      }
      if (!not_negative(scaled_p - Exact(inequality.limit()))) {
        found(fmt::format("\"{}\" allows more than the decay", inequality.name()));
      }
    }
  }

  void action_bounds() {
    if (static_cast<Eigen::Index>(loop_.action_bounds.size()) != plant_.action_limits.size()) {
      found(fmt::format("there are {} inequalities for {} action limits",
                        loop_.action_bounds.size(), plant_.action_limits.size()));
      return;
    }
    const Eigen::Index n = plant_.states();
    const Eigen::Index m = plant_.actions();
    for (Eigen::Index r = 0; r < plant_.action_limits.size(); ++r) {
      const GainInequality& inequality = loop_.action_bounds[static_cast<std::size_t>(r)];
      Number left(plant_.action_limits(r));
      Exact rest(inequality.theta());  // Θ − diag(0, w wᵀ) ⪰ 0
      for (Eigen::Index a = 0; a < m; ++a) {
        const Number weight(plant_.action_directions(r, a));
        left = left - magnitude(weight) * Number(loop_.noise_limits(a));
        for (Eigen::Index b = 0; b < m; ++b) {
          rest.at(n + a, n + b) =
              rest.at(n + a, n + b) - weight * Number(plant_.action_directions(r, b));
        }
      }
      if (left <= Number(0.0)) {
        found(fmt::format("noise leaves nothing of the limit on {}", inequality.name()));
      }
      if (!not_negative(rest)) {
        found(fmt::format("\"{}\" asks for less than its action limit", inequality.name()));
      }
      if (!not_negative(left * left * p_ - Exact(inequality.limit()))) {
        found(fmt::format("\"{}\" allows more than its action limit", inequality.name()));
      }
    }
  }

  const ClosedLoop& loop_;
  const UncertainPlant& plant_;
  const Exact p_;
  const Number decay_;
  std::vector<ClosedLoopFinding> findings_;
};

}  // namespace closed_loop_check

std::vector<ClosedLoopFinding> check_closed_loop(const ClosedLoop& closed_loop) {
  closed_loop.plant.validate();
  if (!closed_loop_check::sizes_agree(closed_loop)) {
    return {{"a number is not finite, or sizes do not agree"}};
  }
  return closed_loop_check::Check(closed_loop).run();
}

}  // namespace lifeguard
