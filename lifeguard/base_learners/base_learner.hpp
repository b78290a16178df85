#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/model_critic.hpp"
#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/base_learners/noise_units.hpp"
#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/base_learners/step_size.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// Memory of make_round_loss. Keep one for each thread: with equal shapes it allocates only once.
struct BaseLearnerWorkspace {
  AdvantageWorkspace advantages;
  PolicyGradient policy_gradient;
  PolicyGradient scores;  // of the regression form
  NoiseWorkspace noise;
  ImportanceLine line;
  // Of something, since a copy reads the status that only a decomposition sets.
  Eigen::LLT<Eigen::MatrixXd> factor{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::LLT<Eigen::MatrixXd> regression_factor{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::MatrixXd regression_matrix;
  Eigen::VectorXd direction;
  Eigen::VectorXd scratch;
  AlignedVector<double> weights;
  AlignedVector<double> weighted_advantages;
  /// The batch as it is learnt from, if its actions differ in their noise. Then all of the above
  /// but what has no unit of an action is in units of noise.
  NoiseUnits noise_units;
  ModelCritic critic;
};

/// One round's trajectories, gathered with `played` at the given visit of the task, as one loss.
/// Throws InvalidInput, without touching `loss`, if shapes do not fit, sigma is 0, a number is not
/// finite or so large that sums overflow. Trajectories must be as Trajectories describes them: zero
/// features and actions after their end, actions before they are limited. Whether they are, and
/// were gathered with `played`, is checked by check_trajectories, not here.
///
/// Sums over steps have the live steps only. Where trajectories were cut short, the later steps
/// have fewer of them than they should; in the gradient and in F they weigh more for that
/// (AdvantageWorkspace::step_weights), so that both are those of whole trajectories times the share
/// of their steps that was observed. The regression form and the likelihoods take live steps as
/// they are.
///
/// Actions with noises of their own are learnt in units of them (NoiseUnits), so the loss does not
/// depend on what an action is measured in, and the curvature has a block for each action. That
/// also holds for eREINFORCE, whose plain gradient is that in units of noise.
void make_round_loss(const Trajectories& trajectories, const GaussianPolicy& played, double visit,
                     const BaseLearnerSettings& settings, BaseLearnerWorkspace& workspace,
                     RoundLoss& loss);
RoundLoss make_round_loss(const Trajectories& trajectories, const GaussianPolicy& played,
                          double visit, const BaseLearnerSettings& settings,
                          BaseLearnerWorkspace& workspace);

}  // namespace lifeguard
