#pragma once

#include <Eigen/Core>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// A batch whose actions explore with noises of their own, in units in which they do not: action a
/// is multiplied by σ_0/σ_a, and so are its gains. Then every action has the noise of the first,
/// the Fisher information is the same block for all, and all that is computed from them
/// (advantages, natural norms, KL divergences, step sizes, likelihoods) is what it is in the
/// actions' own units. So every base learner is written for one σ, and none of them cares what an
/// action is measured in.
class NoiseUnits {
 public:
  Eigen::VectorXd factors;  // σ_0/σ_a
  /// Σ ε² of each action over the batch, in these units: what is wrong in the noise of one action
  /// shows here first.
  Eigen::VectorXd squares;
  Trajectories trajectories;
  GaussianPolicy played{Eigen::MatrixXd::Zero(1, 1), 0.0};

  /// Takes over a batch and the policy that played it. Reuses memory.
  void assign(const Trajectories& trajectories, const GaussianPolicy& played);
  /// A loss that was made of them, in the actions' own units: with a block of curvature for each.
  void restore(RoundLoss& loss) const;

 private:
  Eigen::ArrayXd noise_;  // of an action at a step, one for each trajectory
};

}  // namespace lifeguard
