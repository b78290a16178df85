#pragma once

#include <Eigen/Core>

#include "lifeguard/base_learners/round_loss.hpp"

namespace lifeguard {

/// What a round says of a task: along `direction`, the natural one, how far to go, and with how
/// much noise.
struct RoundObservation {
  /// No round is believed to be without noise.
  static constexpr double kLeastNoiseShare = 1e-4;

  Eigen::VectorXd direction;  // -G⁻¹ĝ
  double norm_squared = 0;    // of it, in the metric G
  double noise_norm = 0;      // likewise in the metric of the noise: G, or what H̄ makes of it
  double trust_step = 0;      // of the base learner, without its shrinkage
  double newton_step = 0;
  double noise_share = 0;  // ν of noise_norm; above 1 where steps are shorter than their noise
  double shrinkage = 1;
  double radius = 0;       // of the trust region that was asked for
  bool by_critic = false;  // then the direction is its Newton step

  /// Of a round in which `played` was played. `mean_curvature` is that of the rounds before, empty
  /// before the first; by `common_damping` (EmpiricalBayesSettings) the direction is turned away
  /// from where the round's own states say nothing. False if a curvature is singular.
  bool look_at(const RoundLoss& loss, const Eigen::VectorXd& played,
               const Eigen::MatrixXd& mean_curvature, double common_damping);
  /// r: the covariance of a step so long along the direction is r times the inverse of that metric.
  double noise_of(double step) const;

 private:
  bool damp_direction(const RoundLoss& loss, const Eigen::MatrixXd& mean_curvature,
                      double common_damping);

  Eigen::MatrixXd block_, damped_;  // workspace
  Eigen::VectorXd weighed_;
};

}  // namespace lifeguard
