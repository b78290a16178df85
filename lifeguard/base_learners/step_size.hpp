#pragma once

#include <Eigen/Core>

#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// The cost along α = played - step · direction, as far as the batch can tell:
///   S(step) = (1/n) Σ_i Σ_m (π_α(u|x) / π_played(u|x) - 1) A_m.
/// Each step's action is re-weighted under the states as they were visited, so S is right to first
/// order in the step and does not degenerate with the length of a trajectory, as weights of whole
/// trajectories do. S'(0) = -ĝᵀ direction exactly.
class ImportanceLine {
 public:
  /// Uses the first `count` trajectories.
  void prepare(const Trajectories& trajectories, const GaussianPolicy& played,
               const double* advantages, const Eigen::VectorXd& direction, int count);
  /// What the line says of one step.
  struct Point {
    double value = 0;            // S(step)
    double effective_share = 0;  // (Σw)² / (N Σw²) of the weights
  };
  /// S at this step.
  Point at(double step) const;

 private:
  int count_ = 0;
  AlignedVector<double> slope_;  // log weight = step · slope - step² · curvature
  AlignedVector<double> curvature_;
  AlignedVector<double> advantages_;
};

/// The step of lowest S among √(2 δ 2^{-k} / dᵀFd), k = 0, 1, …; the smallest of them if none has
/// enough effective samples.
double line_search_step(const ImportanceLine& line, const StepSettings& settings, double radius,
                        double direction_curvature);

}  // namespace lifeguard
