#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/base_learners/policy_gradient.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/step_size.hpp"
#include "lifeguard/policy/gaussian_policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

enum class BaseLearnerMethod {
  /// eREINFORCE: direction d = ĝ, metric I.
  reinforce,
  /// eNAC: direction d = F⁻¹ ĝ, metric F (natural_actor_critic.hpp).
  natural_actor_critic,
  /// eNAC as in Peters and Schaal (2008): d from the regression of a trajectory's return on its
  /// score, metric F. Needs more trajectories than parameters. Of the advantage settings only the
  /// discount matters.
  natural_actor_critic_regression,
  /// The paper's closed form with weights w = exp(-A/τ) / mean: α⁺ maximises Σ w log π
  /// (weighted_likelihood.hpp). Step settings do not apply.
  weighted_likelihood,
  /// The same with w = 1, the loss as the paper prints it: α⁺ imitates the actions in the batch,
  /// whoever took them. From the policy's own actions it learns nothing.
  fit_demonstrations,
};

/// The curvature of the loss of a step-taking method, whose metric is I or F.
enum class LossScale {
  /// G = metric: with eNAC the loss is a KL divergence in nats, and l(α_j) is step_kl.
  metric,
  /// G = metric / step, in units of cost: l(α_j) = mean_cost and ∇l(α_j) = cost_gradient ·
  /// shrinkage.
  cost,
};

struct BaseLearnerSettings {
  BaseLearnerMethod method = BaseLearnerMethod::natural_actor_critic;
  AdvantageSettings advantages;
  StepSettings step;
  LossScale loss_scale = LossScale::metric;
  /// τ > 0 of weighted_likelihood, in units of the advantages.
  double temperature = 1.0;
  /// A curvature whose smallest pivot is below 1e-12 of its largest entry gets this share of its
  /// mean diagonal added to the diagonal.
  double relative_damping = 1e-6;

  void validate() const;
  bool operator==(const BaseLearnerSettings&) const = default;
};

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
