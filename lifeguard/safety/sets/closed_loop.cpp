#include "lifeguard/safety/sets/closed_loop.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/safety/solve/semidefinite_program.hpp"

namespace lifeguard {
namespace closed_loop_synthesis {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// The programs are solved with this much room in every condition, so that what comes out holds
// after rounding and to the solver's accuracy.
constexpr double kProgramRoom = 1e-4;
// Required gains contract by at most λ less this share of 1 - λ,
constexpr double kGainRoom = 0.01;
// and use at most this share less of every action limit.
constexpr double kActionRoom = 0.02;
// Above every rounding error of sums as short as here, in parts of the sum of magnitudes.
constexpr double kRoundings = 1e-13;
// Elimination loses more of them.
constexpr double kRoundingsOfElimination = 100;
// In units of the state limits: no set needs to be larger.
constexpr double kLargestSet = 1e4;
constexpr double kLargestShare = 10;
// Of the largest share of the start box, if that is below 1.
constexpr double kShareForRoom = 0.95;

MatrixXd symmetric_part(const MatrixXd& m) { return 0.5 * (m + m.transpose()); }

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

/// All corners of a box; of two that are opposite only one, since E is symmetric.
std::vector<VectorXd> box_corners(const VectorXd& low, const VectorXd& high) {
  std::vector<VectorXd> corners;
  const bool symmetric = low == -high;
  const Index n = low.size();
  // Directions without a width have one end only.
  std::vector<Index> wide;
  for (Index i = 0; i < n; ++i) {
    if (low(i) < high(i)) wide.push_back(i);
  }
  const std::size_t count = std::size_t{1} << wide.size();
  for (std::size_t bits = 0; bits < count; ++bits) {
    if (symmetric && !wide.empty() && (bits & 1U) != 0) continue;
    VectorXd corner = low;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      if ((bits >> i & 1U) != 0) corner(wide[i]) = high(wide[i]);
    }
    corners.push_back(std::move(corner));
  }
  return corners;
}

/// What noise within its limits adds to the state at a corner: these columns times any numbers from
/// -1 to 1. The actions' own, and what the channels make of it.
MatrixXd noise_columns(const UncertainPlant& plant, const UncertainPlant::Corner& corner,
                       const VectorXd& noise) {
  std::vector<VectorXd> columns;
  for (Index a = 0; a < noise.size(); ++a) {
    if (noise(a) > 0 && !corner.b.col(a).isZero(0)) {
      columns.emplace_back(noise(a) * corner.b.col(a));
    }
  }
  for (Index j = 0; j < plant.channels(); ++j) {
    const double size = plant.action_factors.row(j).cwiseAbs().dot(noise);
    if (size > 0) columns.emplace_back(size * plant.spreads.col(j));
  }
  MatrixXd result(plant.states(), static_cast<Index>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) result.col(static_cast<Index>(i)) = columns[i];
  return result;
}

VectorXd noise_or_zero(const UncertainPlant& plant, const VectorXd& noise) {
  return noise.size() > 0 ? noise : VectorXd(VectorXd::Zero(plant.actions()));
}

/// What is left of each action limit for the policy itself.
VectorXd limits_without_noise(const UncertainPlant& plant, const VectorXd& noise) {
  VectorXd left = plant.action_limits;
  for (Index r = 0; r < left.size(); ++r) {
    left(r) -= plant.action_directions.row(r).cwiseAbs().dot(noise);
  }
  return left;
}

double ratio_of(const GainInequality& inequality, const MatrixXd& gains) {
  MatrixXd z(inequality.theta().rows(), gains.cols());
  z << MatrixXd::Identity(gains.cols(), gains.cols()), gains;
  const MatrixXd left = symmetric_part(z.transpose() * inequality.theta() * z);
  const Eigen::GeneralizedSelfAdjointEigenSolver<MatrixXd> pencil(left, inequality.limit(),
                                                                  Eigen::EigenvaluesOnly);
  return pencil.eigenvalues().maxCoeff();
}

/// The programs for P, in states scaled by their limits. Y = P⁻¹, T the inverse multipliers.
class Programs {
 public:
  Programs(const UncertainPlant& plant, const ClosedLoopSettings& settings)
      : plant_(plant), settings_(settings), noise_(noise_or_zero(plant, settings.noise_limits)) {
    const Index n = plant.states();
    scale_.resize(n);
    for (Index s = 0; s < n; ++s) {
      const double start =
          std::max(std::fabs(settings.start_low(s)), std::fabs(settings.start_high(s)));
      const double usual = start > 0 ? 5 * start : 1;
      scale_(s) =
          1 / (std::isfinite(plant.state_limits(s)) ? std::min(plant.state_limits(s), 20 * usual)
                                                    : usual);
    }
    spreads_ = scale_.asDiagonal() * plant.spreads;
    strengths_ = spreads_.colwise().norm().transpose();
    for (Index j = 0; j < spreads_.cols(); ++j) spreads_.col(j) /= strengths_(j);
  }

  /// What is left for noise: λ² + Σ α ≤ 1.
  double noise_budget() const {
    return (1 - settings_.decay * settings_.decay) * (1 - kProgramRoom);
  }
  /// The columns of the noise in scaled states, of a length for which multipliers add up to 1.
  MatrixXd scaled_noise(std::size_t corner, double noise_share) const {
    return scale_.asDiagonal() *
           noise_columns(plant_, plant_.corners[corner], noise_share * noise_) /
           std::sqrt(noise_budget());
  }

  /// What comes out of a program, in the plant's own units.
  struct Answer {
    SemidefiniteStatus status = SemidefiniteStatus::not_run;
    double objective = kNaN;
    MatrixXd y;                         // scaled
    std::vector<VectorXd> multipliers;  // scaled: T
    std::vector<VectorXd> noise_multipliers;
    MatrixXd free_gains;          // plant's units; if no gains are required
    std::vector<double> weights;  // of the contraction of gains j at corner i, i first
  };

  enum class Objective { start_share, contraction, noise };

  /// start_share: the largest share of the start box at this decay.
  /// contraction: with this share, the largest e with μ·N − e·N_last ⪰ the squares of the closed
  /// loop, where N is the answer's and N_last that of `last`: a step of Dinkelbach's method for the
  /// smallest contraction.
  /// noise: with this share, minus the smallest part of the noise's budget that will do.
  Answer solve(Objective objective, double decay, double share, double noise_share,
               const Answer* last, const Deadline& deadline) const {
    const Index n = plant_.states();
    const Index m = plant_.actions();
    const Index c = plant_.channels();
    const auto corners = static_cast<Index>(plant_.corners.size());
    const bool free_gains = settings_.required_gains.empty();
    const Index packed = n * (n + 1) / 2;
    const Index at_t = packed;
    // Of the noise: for each corner and column an inverse multiplier, and its part of the budget.
    const VectorXd noise = noise_share * noise_;
    std::vector<MatrixXd> noise_columns_of;
    std::vector<Index> at_noise;
    Index next_variable = at_t + corners * c;
    for (std::size_t i = 0; i < plant_.corners.size(); ++i) {
      noise_columns_of.push_back(scaled_noise(i, noise_share));
      at_noise.push_back(next_variable);
      next_variable += 2 * noise_columns_of.back().cols();
    }
    const Index at_z = next_variable;
    const Index at_last = at_z + (free_gains ? m * n : 0);
    const Index variables = at_last + 1;

    const auto y_of = [&](const VectorXd& v) {
      MatrixXd y(n, n);
      Index next = 0;
      for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i <= j; ++i) y(i, j) = y(j, i) = v(next++);
      }
      return y;
    };
    const auto t_of = [&](const VectorXd& v, Index corner) {
      return VectorXd(v.segment(at_t + corner * c, c));
    };
    const auto noise_t_of = [&](const VectorXd& v, std::size_t corner) {
      return VectorXd(v.segment(at_noise[corner], noise_columns_of[corner].cols()));
    };
    const auto after_of = [&](const MatrixXd& y, const VectorXd& t, const VectorXd& noise_t,
                              std::size_t corner) {  // diag(Y − G T Gᵀ − noise, T)
      MatrixXd block = MatrixXd::Zero(n + c, n + c);
      const MatrixXd& columns = noise_columns_of[corner];
      block.topLeftCorner(n, n) = y - spreads_ * t.asDiagonal() * spreads_.transpose() -
                                  columns * noise_t.asDiagonal() * columns.transpose();
      block.bottomRightCorner(c, c) = t.asDiagonal();
      return block;
    };
    const auto z_of = [&](const VectorXd& v) {
      return MatrixXd(Eigen::Map<const MatrixXd>(v.data() + at_z, m, n));
    };

    SemidefiniteProgram program(static_cast<int>(variables));
    const VectorXd unit_last = VectorXd::Unit(variables, at_last);
    program.maximise(unit_last);
    const bool for_share = objective == Objective::start_share;
    const double mu = decay * decay;
    // The last variable: the share, e, or minus the budget of the noise.
    const double less = objective == Objective::contraction ? 1 : 0;

    std::vector<int> places;
    for (Index i = 0; i < corners; ++i) {
      const UncertainPlant::Corner& corner = plant_.corners[static_cast<std::size_t>(i)];
      const auto at = static_cast<std::size_t>(i);
      const auto after = [&, i, at](const VectorXd& v) {
        return after_of(y_of(v), t_of(v, i), noise_t_of(v, at), at);
      };
      MatrixXd last_after = MatrixXd::Zero(n + c, n + c);
      if (less > 0) {
        last_after = after_of(last->y, last->multipliers[at], last->noise_multipliers[at], at);
      }
      for (const RequiredGains& required : settings_.required_gains) {
        MatrixXd loop(n + c, n);
        loop.topRows(n) = scaled(corner.a + corner.b * required.gains);
        loop.bottomRows(c) = scaled_factors(required.gains);
        places.push_back(program.require_semidefinite([&](const VectorXd& v) {
          return MatrixXd(mu * after(v) - less * v(at_last) * last_after -
                          loop * y_of(v) * loop.transpose());
        }));
      }
      if (free_gains) {
        const MatrixXd a = scaled(corner.a);
        const MatrixXd b = scale_.asDiagonal() * corner.b;
        const MatrixXd f = scaled_factors(MatrixXd::Zero(m, n));
        const MatrixXd h = strengths_.asDiagonal() * plant_.action_factors;
        places.push_back(program.require_semidefinite([&](const VectorXd& v) {
          MatrixXd block(n + n + c, n + n + c);
          MatrixXd moved(n + c, n);
          const MatrixXd y = y_of(v);
          const MatrixXd z = z_of(v);
          moved << a * y + b * z, f * y + h * z;
          block << y, moved.transpose(), moved, mu * after(v) - less * v(at_last) * last_after;
          return block;
        }));
      }
    }

    const double state_room = 1 - kProgramRoom;
    for (Index s = 0; s < n; ++s) {
      const double limit = plant_.state_limits(s) * scale_(s) * state_room;
      const double most = std::isfinite(limit) ? std::min(limit * limit, kLargestSet) : kLargestSet;
      VectorXd factors = VectorXd::Zero(variables);
      factors(s * (s + 1) / 2 + s) = -1 / most;
      program.require_not_negative(1, factors);
    }
    const VectorXd left = limits_without_noise(plant_, noise);
    for (Index r = 0; r < left.size(); ++r) {
      const Eigen::RowVectorXd w = plant_.action_directions.row(r);
      const double limit = left(r) * (1 - kActionRoom);
      for (const RequiredGains& required : settings_.required_gains) {
        const VectorXd k = (w * required.gains * scale_.cwiseInverse().asDiagonal()).transpose();
        VectorXd factors = VectorXd::Zero(variables);
        Index next = 0;
        for (Index j = 0; j < n; ++j) {
          for (Index i = 0; i <= j; ++i) {
            factors(next++) = -(i == j ? 1 : 2) * k(i) * k(j) / (limit * limit);
          }
        }
        program.require_not_negative(1, factors);
      }
      if (free_gains) {
        program.require_semidefinite([&](const VectorXd& v) {
          MatrixXd block(n + 1, n + 1);
          const Eigen::RowVectorXd row = w * z_of(v) / limit;
          block << MatrixXd::Identity(1, 1), row, row.transpose(), y_of(v);
          return block;
        });
      }
    }
    for (const VectorXd& corner : box_corners(settings_.start_low, settings_.start_high)) {
      const VectorXd x = (1 + kProgramRoom) * scale_.cwiseProduct(corner);
      if (x.isZero(0)) continue;
      program.require_semidefinite([&](const VectorXd& v) {
        MatrixXd block(n + 1, n + 1);
        const VectorXd at = (for_share ? v(at_last) : share) * x;
        block << MatrixXd::Identity(1, 1), at.transpose(), at, y_of(v);
        return block;
      });
    }
    if (for_share) program.require_not_negative(kLargestShare, -unit_last);
    // The multipliers 1 / T of the noise add up to at most 1 at every corner.
    for (std::size_t i = 0; i < plant_.corners.size(); ++i) {
      const Index count = noise_columns_of[i].cols();
      if (count == 0) continue;
      VectorXd sum = VectorXd::Zero(variables);
      for (Index k = 0; k < count; ++k) {
        const Index t = at_noise[i] + k;
        const Index part = t + count;
        sum(part) = -1;
        program.require_semidefinite([&](const VectorXd& v) {
          MatrixXd block(2, 2);
          block << v(part), 1, 1, v(t);
          return block;
        });
      }
      if (objective == Objective::noise) {
        program.require_not_negative(0, sum - unit_last);
      } else {
        program.require_not_negative(1, sum);
      }
    }

    const SemidefiniteResult result = program.solve(deadline);
    Answer answer;
    answer.status = result.status;
    if (!result.has_candidate()) return answer;
    answer.objective = result.objective;
    answer.y = y_of(result.y);
    for (Index i = 0; i < corners; ++i) {
      answer.multipliers.push_back(t_of(result.y, i));
      answer.noise_multipliers.push_back(noise_t_of(result.y, static_cast<std::size_t>(i)));
    }
    if (free_gains) {
      answer.free_gains = z_of(result.y) * answer.y.inverse() * scale_.asDiagonal();
    }
    for (const int place : places) {
      answer.weights.push_back(result.weights[static_cast<std::size_t>(place)]);
    }
    return answer;
  }

  MatrixXd p_of(const Answer& answer) const {
    return symmetric_part(scale_.asDiagonal() * answer.y.inverse() * scale_.asDiagonal());
  }
  VectorXd multipliers_of(const Answer& answer, std::size_t corner) const {
    return strengths_.cwiseAbs2().cwiseQuotient(answer.multipliers[corner]);
  }
  VectorXd noise_multipliers_of(const Answer& answer, std::size_t corner) const {
    return noise_budget() * answer.noise_multipliers[corner].cwiseInverse();
  }

 private:
  MatrixXd scaled(const MatrixXd& a) const {
    return scale_.asDiagonal() * a * scale_.cwiseInverse().asDiagonal();
  }
  MatrixXd scaled_factors(const MatrixXd& gains) const {
    if (plant_.channels() == 0) return MatrixXd(0, plant_.states());
    return strengths_.asDiagonal() * (plant_.state_factors + plant_.action_factors * gains) *
           scale_.cwiseInverse().asDiagonal();
  }

  const UncertainPlant& plant_;
  const ClosedLoopSettings& settings_;
  VectorXd noise_;
  VectorXd scale_;    // 1 / unit of each state
  MatrixXd spreads_;  // scaled, of length 1
  VectorXd strengths_;
};

/// Everything that follows from P, the multipliers and the settings; nothing if a matrix that must
/// be positive definite is not.
std::optional<ClosedLoop> complete(const UncertainPlant& plant, const ClosedLoopSettings& settings,
                                   const MatrixXd& p, std::vector<VectorXd> multipliers,
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
    const VectorXd values = eigen.eigenvalues();
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
  result.loop = complete(plant, settings, programs.p_of(answer), std::move(multipliers),
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
      result.problem = fmt::format("{}: an inequality is at {:.9g} of its limit", required.name,
                                   std::sqrt(ratio));
    }
  }
  if (!result.problem.empty()) result.loop.reset();
  return result;
}

}  // namespace closed_loop_synthesis

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
  require_size("deviation", deviation.size(), p.rows());
  const double value = deviation.dot(p * deviation);
  const double size = deviation.cwiseAbs().dot(p.cwiseAbs() * deviation.cwiseAbs());
  return value <= 1 - closed_loop_synthesis::kRoundings * (1 + size);
}

double ClosedLoop::largest_ratio(const Eigen::MatrixXd& gains) const {
  double largest = 0;
  for (const GainInequality& inequality : contractions) {
    largest = std::max(largest, closed_loop_synthesis::ratio_of(inequality, gains));
  }
  for (const GainInequality& inequality : action_bounds) {
    largest = std::max(largest, closed_loop_synthesis::ratio_of(inequality, gains));
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

namespace closed_loop_synthesis {

/// What required gains contract by at most.
double inner_decay(const ClosedLoopSettings& settings) {
  return settings.decay - kGainRoom * (1 - settings.decay);
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
  if (!result.conflicts.empty()) {
    result.message +=
        fmt::format("; against each other stand {}", fmt::join(result.conflicts, ", "));
  }
}

}  // namespace closed_loop_synthesis

ClosedLoopResult make_closed_loop(const UncertainPlant& plant, const ClosedLoopSettings& asked,
                                  const Deadline& deadline) {
  using closed_loop_synthesis::Attempt;
  using closed_loop_synthesis::Programs;
  asked.validate(plant);
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
    if (gained < 1e-4 * (1 - settings.decay)) break;
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
    result.message = fmt::format(
        "the anchor is not inside: an inequality is at {:.9g} of its limit", std::sqrt(ratio));
    return result;
  }
  if (!loop.noise_limits.isZero(0)) {
    const Programs::Answer most = programs.solve(Programs::Objective::noise, inner_decay,
                                                 loop.start_share, 1, nullptr, deadline);
    if (passed()) return result;
    if (most.status == SemidefiniteStatus::solved && most.objective < 0) {
      result.largest_noise_share = 1 / std::sqrt(-most.objective);
    }
  }
  result.status = ClosedLoopStatus::found;
  result.message =
      fmt::format("decay {:.6g}, {:.3g} of the start box, anchor at {:.4g} of the nearest limit",
                  loop.decay, loop.start_share, std::sqrt(ratio));
  result.closed_loop = std::move(best.loop);
  return result;
}

namespace closed_loop_synthesis {

void write_inequality(StateWriter& writer, const GainInequality& inequality) {
  writer.field("inequality", inequality.name());
  writer.field("theta", inequality.theta());
  writer.field("limit", inequality.limit());
}

GainInequality read_inequality(StateReader& reader) {
  std::string name;
  MatrixXd theta, limit;
  reader.field("inequality", name);
  reader.field("theta", theta);
  reader.field("limit", limit);
  return {name, theta, limit};
}

int read_count(StateReader& reader, std::string_view name) {
  int count = 0;
  reader.field(name, count);
  require(count >= 0 && count <= 100000, name, count, "must lie in [0, 100000]");
  return count;
}

}  // namespace closed_loop_synthesis

void write_closed_loop(StateWriter& writer, const ClosedLoop& loop) {
  const UncertainPlant& plant = loop.plant;
  writer.field("corners", static_cast<int>(plant.corners.size()));
  for (const UncertainPlant::Corner& corner : plant.corners) {
    writer.field("corner", corner.name);
    writer.field("a", corner.a);
    writer.field("b", corner.b);
  }
  writer.field("channels", plant.channels());
  if (plant.channels() > 0) {
    writer.field("spreads", plant.spreads);
    writer.field("state_factors", plant.state_factors);
    writer.field("action_factors", plant.action_factors);
  }
  for (const double limit : plant.state_limits) writer.field("state_limit", limit);
  writer.field("action_limits", static_cast<int>(plant.action_limits.size()));
  for (Eigen::Index r = 0; r < plant.action_limits.size(); ++r) {
    writer.field("action_limit", plant.action_limit_names[static_cast<std::size_t>(r)]);
    writer.field("direction", Eigen::VectorXd(plant.action_directions.row(r).transpose()));
    writer.field("limit", plant.action_limits(r));
  }
  writer.field("nonlinear", plant.statement == PlantStatement::nonlinear);
  writer.field("decay", loop.decay);
  writer.field("p", loop.p);
  writer.field("start_low", loop.start_low);
  writer.field("start_high", loop.start_high);
  writer.field("start_share", loop.start_share);
  writer.field("noise_limits", loop.noise_limits);
  const bool noisy = !loop.noise_limits.isZero(0);
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    if (plant.channels() > 0) writer.field("multipliers", loop.multipliers[i]);
    if (noisy) writer.field("noise_multipliers", loop.noise_multipliers[i]);
    writer.field("inflated", loop.inflated[i]);
    closed_loop_synthesis::write_inequality(writer, loop.contractions[i]);
  }
  for (const GainInequality& inequality : loop.action_bounds) {
    closed_loop_synthesis::write_inequality(writer, inequality);
  }
  writer.field("anchor", loop.anchor);
}

ClosedLoop read_closed_loop(StateReader& reader) {
  using closed_loop_synthesis::read_count;
  ClosedLoop loop;
  UncertainPlant& plant = loop.plant;
  plant.corners.resize(static_cast<std::size_t>(read_count(reader, "corners")));
  for (UncertainPlant::Corner& corner : plant.corners) {
    reader.field("corner", corner.name);
    reader.field("a", corner.a);
    reader.field("b", corner.b);
  }
  require(!plant.corners.empty(), "corners", 0.0, "must be at least 1");
  const int n = plant.states();
  const int m = plant.actions();
  if (read_count(reader, "channels") > 0) {
    reader.field("spreads", plant.spreads);
    reader.field("state_factors", plant.state_factors);
    reader.field("action_factors", plant.action_factors);
  } else {
    plant.spreads.resize(n, 0);
    plant.state_factors.resize(0, n);
    plant.action_factors.resize(0, m);
  }
  plant.state_limits.resize(n);
  for (double& limit : plant.state_limits) reader.field("state_limit", limit);
  const int rows = read_count(reader, "action_limits");
  plant.action_limits.resize(rows);
  plant.action_directions.resize(rows, m);
  plant.action_limit_names.resize(static_cast<std::size_t>(rows));
  for (int r = 0; r < rows; ++r) {
    reader.field("action_limit", plant.action_limit_names[static_cast<std::size_t>(r)]);
    Eigen::VectorXd direction;
    reader.field("direction", direction);
    require_size("direction", direction.size(), m);
    plant.action_directions.row(r) = direction.transpose();
    reader.field("limit", plant.action_limits(r));
  }
  bool nonlinear = false;
  reader.field("nonlinear", nonlinear);
  plant.statement = nonlinear ? PlantStatement::nonlinear : PlantStatement::linear;
  plant.validate();
  reader.field("decay", loop.decay);
  reader.field("p", loop.p);
  reader.field("start_low", loop.start_low);
  reader.field("start_high", loop.start_high);
  reader.field("start_share", loop.start_share);
  reader.field("noise_limits", loop.noise_limits);
  const bool noisy = !loop.noise_limits.isZero(0);
  for (std::size_t i = 0; i < plant.corners.size(); ++i) {
    loop.multipliers.emplace_back();
    if (plant.channels() > 0) reader.field("multipliers", loop.multipliers.back());
    loop.noise_multipliers.emplace_back();
    if (noisy) reader.field("noise_multipliers", loop.noise_multipliers.back());
    loop.inflated.emplace_back();
    reader.field("inflated", loop.inflated.back());
    loop.contractions.push_back(closed_loop_synthesis::read_inequality(reader));
  }
  for (int r = 0; r < rows; ++r) {
    loop.action_bounds.push_back(closed_loop_synthesis::read_inequality(reader));
  }
  reader.field("anchor", loop.anchor);
  const auto require_square = [&](const char* field, const Eigen::MatrixXd& matrix, int size) {
    require_size(std::string(field) + " (rows)", matrix.rows(), size);
    require_size(std::string(field) + " (columns)", matrix.cols(), size);
  };
  require_square("p", loop.p, n);
  for (const Eigen::MatrixXd& w : loop.inflated) require_square("inflated", w, n);
  for (const Eigen::VectorXd& d : loop.multipliers) {
    require_size("multipliers", d.size(), plant.channels());
  }
  for (const GainInequality& inequality : loop.inequalities()) {
    require_size("limit (rows)", inequality.features(), n);
    require_size("theta (rows)", inequality.theta().rows(), n + m);
  }
  require_size("start_low", loop.start_low.size(), n);
  require_size("start_high", loop.start_high.size(), n);
  require_size("noise_limits", loop.noise_limits.size(), m);
  require_size("anchor (rows)", loop.anchor.rows(), m);
  require_size("anchor (columns)", loop.anchor.cols(), n);
  return loop;
}

}  // namespace lifeguard
