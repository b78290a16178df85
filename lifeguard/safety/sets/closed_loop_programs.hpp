#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/safety/solve/semidefinite_program.hpp"

/// The semi-definite programs whose answers make_closed_loop turns into sets and verifies. Nothing
/// here proves anything.
namespace lifeguard::closed_loop_synthesis {

/// The symmetric matrix with the same quadratic form.
Eigen::MatrixXd symmetric_part(const Eigen::MatrixXd& m);

/// All corners of a box; of two that are opposite only one, since E is symmetric.
std::vector<Eigen::VectorXd> box_corners(const Eigen::VectorXd& low, const Eigen::VectorXd& high);

/// What noise within its limits adds to the state at a corner: these columns times any numbers from
/// -1 to 1. The actions' own, and what the channels make of it.
Eigen::MatrixXd noise_columns(const UncertainPlant& plant, const UncertainPlant::Corner& corner,
                              const Eigen::VectorXd& noise);

/// The noise limits, 0 where none are given.
Eigen::VectorXd noise_or_zero(const UncertainPlant& plant, const Eigen::VectorXd& noise);

/// What is left of each action limit for the policy itself.
Eigen::VectorXd limits_without_noise(const UncertainPlant& plant, const Eigen::VectorXd& noise);

/// What required gains contract by at most: a little less than λ, for room.
double inner_decay(const ClosedLoopSettings& settings);

/// The programs for P, in states scaled by their limits. Y = P⁻¹, T the inverse multipliers.
class Programs {
 public:
  Programs(const UncertainPlant& plant, const ClosedLoopSettings& settings);

  /// What comes out of a program.
  struct Answer {
    SemidefiniteStatus status = SemidefiniteStatus::not_run;
    double objective = kNaN;
    Eigen::MatrixXd y;                         // scaled
    std::vector<Eigen::VectorXd> multipliers;  // scaled: T
    std::vector<Eigen::VectorXd> noise_multipliers;
    Eigen::MatrixXd free_gains;   // plant's units; if no gains are required
    std::vector<double> weights;  // of the contraction of gains j at corner i, i first
  };

  enum class Objective { start_share, contraction, noise };

  /// start_share: the largest share of the start box at this decay.
  /// contraction: with this share, the largest e with μ·N − e·N_last ⪰ the squares of the closed
  /// loop, where N is the answer's and N_last that of `last`: a step of Dinkelbach's method for the
  /// smallest contraction.
  /// noise: with this share, minus the smallest part of the noise's budget that will do.
  Answer solve(Objective objective, double decay, double share, double noise_share,
               const Answer* last, const Deadline& deadline) const;

  /// P, the d_j and the α_k of an answer, in the plant's own units.
  Eigen::MatrixXd p_of(const Answer& answer) const;
  Eigen::VectorXd multipliers_of(const Answer& answer, std::size_t corner) const;
  Eigen::VectorXd noise_multipliers_of(const Answer& answer, std::size_t corner) const;

 private:
  // What is left for noise: λ² + Σ α ≤ 1.
  double noise_budget() const;
  // The columns of the noise in scaled states, of a length for which multipliers add up to 1.
  Eigen::MatrixXd scaled_noise(std::size_t corner, double noise_share) const;
  Eigen::MatrixXd scaled(const Eigen::MatrixXd& a) const;
  Eigen::MatrixXd scaled_factors(const Eigen::MatrixXd& gains) const;

  const UncertainPlant& plant_;
  const ClosedLoopSettings& settings_;
  Eigen::VectorXd noise_;
  Eigen::VectorXd scale_;    // 1 / unit of each state
  Eigen::MatrixXd spreads_;  // scaled, of length 1
  Eigen::VectorXd strengths_;
};

}  // namespace lifeguard::closed_loop_synthesis
