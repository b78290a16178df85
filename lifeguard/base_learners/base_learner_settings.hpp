#pragma once

#include "lifeguard/base_learners/advantage_settings.hpp"
#include "lifeguard/base_learners/step_settings.hpp"

namespace lifeguard {

class SettingVisitor;

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

  /// Everything but the step's decay, which each method has for itself.
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const BaseLearnerSettings&) const = default;
};

}  // namespace lifeguard
