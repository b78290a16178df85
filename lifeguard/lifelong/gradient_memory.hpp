#pragma once

#include <Eigen/Core>

#include "lifeguard/base_learners/round_loss.hpp"

namespace lifeguard {

/// The gradients of one task's rounds, pooled with memory ρ. Late in learning a single round is
/// mostly noise while the policy hardly moves, so that what earlier rounds said still holds; the
/// pooled direction then shows what no single round does.
///
/// Each gradient counts in units of its own noise, g / √N with N = E[(ĝ - g)ᵀ F⁻¹ (ĝ - g)], so that
/// early rounds with their large costs do not outweigh later ones.
struct GradientMemory {
  Eigen::VectorXd gradient;  // Σ ρ^i g_i / √N_i
  Eigen::MatrixXd metric;    // Σ ρ^i G_i (action_blocks.hpp)
  double weight = 0;         // Σ ρ^i
  double noise = 0;          // Σ ρ^2i: the noise of `gradient` in its own units

  GradientMemory() = default;
  GradientMemory(int features, int parameters)
      : gradient(Eigen::VectorXd::Zero(parameters)),
        metric(Eigen::MatrixXd::Zero(features, features)) {}

  /// Adds a round. False, and nothing is added, if the loss does not tell its gradient and noise.
  bool add(double memory, const RoundLoss& loss);

  /// As if no round had been added.
  void forget();

  /// The natural step along the pooled gradient, as the base learner of this round takes it: with
  /// the round's radius in the pooled metric, shortened by max(floor, 1 - noise / q) with the
  /// round's floor, and no further than the radius in the round's own metric, which may be another.
  /// `factor` and `curved` are workspace. False if the metric is singular.
  bool step(const RoundLoss& loss, Eigen::MatrixXd& factor, Eigen::VectorXd& curved,
            Eigen::VectorXd& step) const;
};

}  // namespace lifeguard
