#include "lifeguard/safety/sets/closed_loop_programs.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

namespace lifeguard::closed_loop_synthesis {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The programs are solved with this much room in every condition, so that what comes out holds
// after rounding and to the solver's accuracy.
constexpr double kProgramRoom = 1e-4;
// Required gains contract by at most λ less this share of 1 - λ,
constexpr double kGainRoom = 0.01;
// and use at most this share less of every action limit.
constexpr double kActionRoom = 0.02;
// In units of the state limits: no set needs to be larger.
constexpr double kLargestSet = 1e4;
constexpr double kLargestShare = 10;

}  // namespace

MatrixXd symmetric_part(const MatrixXd& m) { return 0.5 * (m + m.transpose()); }

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

VectorXd limits_without_noise(const UncertainPlant& plant, const VectorXd& noise) {
  VectorXd left = plant.action_limits;
  for (Index r = 0; r < left.size(); ++r) {
    left(r) -= plant.action_directions.row(r).cwiseAbs().dot(noise);
  }
  return left;
}

double inner_decay(const ClosedLoopSettings& settings) {
  return settings.decay - kGainRoom * (1 - settings.decay);
}

Programs::Programs(const UncertainPlant& plant, const ClosedLoopSettings& settings)
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

double Programs::noise_budget() const {
  return (1 - settings_.decay * settings_.decay) * (1 - kProgramRoom);
}

MatrixXd Programs::scaled_noise(std::size_t corner, double noise_share) const {
  return scale_.asDiagonal() * noise_columns(plant_, plant_.corners[corner], noise_share * noise_) /
         std::sqrt(noise_budget());
}

Programs::Answer Programs::solve(Objective objective, double decay, double share,
                                 double noise_share, const Answer* last,
                                 const Deadline& deadline) const {
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

MatrixXd Programs::p_of(const Answer& answer) const {
  return symmetric_part(scale_.asDiagonal() * answer.y.inverse() * scale_.asDiagonal());
}

VectorXd Programs::multipliers_of(const Answer& answer, std::size_t corner) const {
  return strengths_.cwiseAbs2().cwiseQuotient(answer.multipliers[corner]);
}

VectorXd Programs::noise_multipliers_of(const Answer& answer, std::size_t corner) const {
  return noise_budget() * answer.noise_multipliers[corner].cwiseInverse();
}

MatrixXd Programs::scaled(const MatrixXd& a) const {
  return scale_.asDiagonal() * a * scale_.cwiseInverse().asDiagonal();
}

MatrixXd Programs::scaled_factors(const MatrixXd& gains) const {
  if (plant_.channels() == 0) return MatrixXd(0, plant_.states());
  return strengths_.asDiagonal() * (plant_.state_factors + plant_.action_factors * gains) *
         scale_.cwiseInverse().asDiagonal();
}

}  // namespace lifeguard::closed_loop_synthesis
