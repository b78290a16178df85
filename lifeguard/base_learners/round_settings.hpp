#pragma once

namespace lifeguard {

class SettingVisitor;

/// How much worse than expected each step of a trajectory turned out: the factor in front of
/// ∇log π(u_m | x_m). Positive means costlier than expected. Every part can be switched off, and
/// bench/gradient_variance.cpp prints what each is worth.
struct AdvantageSettings {
  /// Judge a step by what follows it, Σ_{k ≥ m} γ^{k-m} c_k; off: by Σ_k γ^k c_k of the whole
  /// trajectory, with the trace ignored.
  bool cost_to_go = true;
  /// γ in (0, 1]. Below 1 the far future counts less: less variance, some bias.
  double discount = 0.99;
  /// λ in [0, 1]: A_m = Σ_k (γλ)^k δ_{m+k} with δ_m = c_m + γ V_{m+1} - V_m (Schulman et al. 2016).
  /// 1 is the plain cost-to-go minus the baseline V; smaller trusts the baseline more.
  double trace = 0.9;
  /// Subtract the mean over the live trajectories of each step.
  bool step_mean = true;
  /// Subtract a quadratic function of the features, fitted to the batch (StateBaseline).
  bool state_baseline = true;
  /// Fits of that function. The first is to the discounted cost-to-go; each further one to the
  /// λ-returns A + V of the one before, whose fixed point is LSTD(λ).
  int baseline_sweeps = 1;
  /// The fits use every baseline_stride-th step, as if these were all, with γ^stride and λ^stride;
  /// neighbouring steps say nearly the same.
  int baseline_stride = 5;
  /// Shift and scale to mean 0 and variance 1 over all live steps.
  bool normalise = true;

  /// Describes each setting: name, rule, unit, meaning.
  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const AdvantageSettings&) const = default;
};

/// How far to go along the direction d of a base learner: α⁺ = α_j - step · shrinkage · d. A visit
/// is v = 0, 1, 2, …: how often the task was played before.
enum class StepRule {
  fixed,         // step = size
  harmonic,      // step = size / (1 + v): the paper's c / j
  trust_region,  // ½ step² dᵀFd = δ_v = trust_region / (1 + v)^decay
  line_search,   // the radius δ_v · 2^{-k} of lowest importance-weighted cost on the batch
};

/// How the part of a gradient that is only sampling noise is estimated (docs/base_learners.md).
/// With noise N = E[(ĝ - g)ᵀ F⁻¹ (ĝ - g)] and q = ĝᵀ F⁻¹ ĝ, the multiple of ĝ that is nearest to g
/// is about 1 - N/q.
enum class NoiseShrinkage {
  none,
  white,     // N = d · var(A) / n: right if advantages were independent of states and actions
  measured,  // N from the spread of the gradient over trajectories; needs at least 2
};

/// How far a base learner steps.
struct StepSettings {
  StepRule rule = StepRule::trust_region;
  /// The step of `fixed`, the c of `harmonic`; > 0.
  double size = 0.1;
  /// δ in nats of KL divergence over a whole trajectory; > 0.
  double trust_region = 16.0;
  /// r ≥ 0 in δ_v = δ / (1 + v)^r.
  double decay = 1.0;
  NoiseShrinkage shrinkage = NoiseShrinkage::measured;
  /// The shrinkage factor is max(shrinkage_floor, 1 - N/q); in [0, 1].
  double shrinkage_floor = 0.05;
  /// The line search looks at the first so many trajectories, as in the paper.
  int line_search_trajectories = 10;
  /// ... and at so many radii, each half of the one before.
  int line_search_candidates = 12;
  /// ... and rejects a radius if its importance weights are worth less than this share of the
  /// samples: (Σw)² / (N Σw²); in (0, 1].
  double line_search_effective_share = 0.5;

  /// Describes each setting but the decay: name, rule, unit, meaning.
  void visit(SettingVisitor& visitor);
  /// r of δ_v, apart from the others: each method has its own.
  void visit_decay(SettingVisitor& visitor);
  void validate() const;
  /// δ_v.
  double radius(double visit) const;
  bool operator==(const StepSettings&) const = default;
};

/// Which direction a step has, and in which metric it is measured.
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

/// Whose step an eNAC loss has, if its rule is a trust region and its scale the metric.
enum class CriticUse {
  none,       // that of the gradient
  model,      // that of the model critic (model_critic.hpp), where a batch determines one
  automatic,  // likewise, but the gradient's if the limits of the actions are not known
              // (ActionRange), or if it is much surer by both estimates of their noise
};

/// How a batch of trajectories becomes a loss (docs/base_learners.md).
struct BaseLearnerSettings {
  BaseLearnerMethod method = BaseLearnerMethod::natural_actor_critic;
  CriticUse critic = CriticUse::none;
  AdvantageSettings advantages;
  StepSettings step;
  LossScale loss_scale = LossScale::metric;
  /// Of the regression form, where γ < 1: whether the score of step m is weighed by γ^m, as Peters
  /// and Schaal (2008) print it and other implementations do. Off, the regression's limit is F⁻¹g
  /// with the gradient g of the discounted cost and the F of whole trajectories, in which trust
  /// regions and losses are measured; on, every step of both counts γ^{2m}.
  bool discount_scores = false;
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

/// What a batch itself says about how to learn from it. This is what lets one setting serve systems
/// as different as a mass that never fails and a pole that falls in every trajectory
/// (docs/learning.md has the numbers).
struct AdaptationSettings {
  /// The advantage's horizon 1 / (1 - γ), in steps, if every trajectory failed; with a share φ of
  /// failures 1 - γ = (1 - φ)(1 - γ₀) + φ / failure_horizon, γ₀ being the base learner's discount.
  /// After a failure all later steps cost the same whatever was done, and a long horizon drowns
  /// what the actions changed in when the failure came. ≥ 1; 0 leaves the discount alone.
  double failure_horizon = 5.0;
  /// The trust region for each live step, in nats: δ = this times the mean number of live steps of
  /// the batch. The mean action then moves by √(2 · this) standard deviations of the exploration
  /// noise, whatever the horizon. ≥ 0; 0 leaves the base learner's δ alone.
  double trust_region_per_step = 1.8;
  /// δ grows by max(1, this / ν), at most eight times, where the noise share ν of the gradient is
  /// small: a direction that the batch is sure of may be followed further. ≥ 0; 0 means never.
  double sure_noise_share = 0.15;
  /// The largest step as a multiple of the Newton step, which goes to where the batch's own
  /// curvature in the actions puts the minimum: a trust region alone keeps stepping as far when the
  /// minimum is near. ≥ 0; 0 means no limit.
  double newton_limit = 1.0;

  /// What is the same for all methods, and what each method has for itself.
  void visit_horizon(SettingVisitor& visitor);
  void visit_steps(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const AdaptationSettings&) const = default;
};

/// How trajectories become a loss, in the same way for every learner.
struct RoundSettings {
  BaseLearnerSettings base_learner = default_base_learner();
  AdaptationSettings adaptation;

  /// eNAC with the model critic where it is the surer one, and with the advantages that served all
  /// families best (docs/learning.md): γ = 0.998, λ = 0.95 and a baseline fitted twice; trust
  /// regions decay as 1 / (1 + visits).
  static BaseLearnerSettings default_base_learner();

  /// The table [base_learner], which all methods of an experiment share …
  void visit_base_learner(SettingVisitor& visitor);
  /// … and the size of the steps, which each method has in a table of its own, since each may be
  /// tuned.
  void visit_steps(SettingVisitor& visitor);
  /// Takes over what all methods share.
  void share_base_learner(const RoundSettings& common);
  void validate() const;
  bool operator==(const RoundSettings&) const = default;
};

}  // namespace lifeguard
