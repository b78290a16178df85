#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/base_learner_settings.hpp"
#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/step_size.hpp"
#include "lifeguard/policy/gaussian_policy.hpp"
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
};

/// One round's trajectories, gathered with `played` at the given visit of the task, as one loss.
/// Throws InvalidInput, without touching `loss`, if shapes do not fit, sigma is 0, a number is not
/// finite or so large that sums overflow. Trajectories must be as Trajectories describes them: zero
/// features and actions after failure, actions before they are limited.
void make_round_loss(const Trajectories& trajectories, const GaussianPolicy& played, double visit,
                     const BaseLearnerSettings& settings, BaseLearnerWorkspace& workspace,
                     RoundLoss& loss);
RoundLoss make_round_loss(const Trajectories& trajectories, const GaussianPolicy& played,
                          double visit, const BaseLearnerSettings& settings,
                          BaseLearnerWorkspace& workspace);

}  // namespace lifeguard
