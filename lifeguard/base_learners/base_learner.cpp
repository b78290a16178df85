#include "lifeguard/base_learners/base_learner.hpp"

#include <algorithm>
#include <cmath>

#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/base_learners/weighted_likelihood.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

void check_input(const Trajectories& t, const GaussianPolicy& played, double visit,
                 const BaseLearnerSettings& settings) {
  settings.validate();
  require(t.count() > 0, "trajectories", t.count(), "must be at least 1");
  require_size("features", t.features(), played.features());
  require_size("actions", t.actions(), played.actions());
  require_positive("sigma", played.noise());
  require_not_negative("visit", visit);
  for (int i = 0; i < t.count(); ++i) {
    if (t.length(i) < 0 || t.length(i) > t.steps()) t.validate();
  }
}

/// Every number of the batch is in one of these sums, and one that is not finite makes its sum so.
/// That costs nothing; only then is it worth looking for the culprit.
void check_sums(const Trajectories& t, const AdvantageSummary& summary, const PolicyGradient& g) {
  if (std::isfinite(summary.mean_cost) && std::isfinite(summary.scale) && g.gradient.allFinite() &&
      g.fisher.allFinite()) {
    return;
  }
  t.validate();
  throw InvalidInput("trajectories", "finite numbers", "must be small enough for finite sums");
}

/// The gradient and F. Returns the advantages as they entered, weighted if trajectories were cut
/// short.
const double* sum_scores(const Trajectories& t, const GaussianPolicy& played, bool weigh_steps,
                         BaseLearnerWorkspace& w) {
  const double* advantages = w.advantages.advantages.data();
  if (!weigh_steps || t.cut_short() == 0) {
    compute_policy_gradient(t, played, advantages, w.policy_gradient);
    return advantages;
  }
  const std::size_t size = static_cast<std::size_t>(t.steps()) * t.stride();
  w.weights.resize(size);
  w.weighted_advantages.resize(size);
  for (int m = 0; m < t.steps(); ++m) {
    const std::size_t start = static_cast<std::size_t>(m) * t.stride();
    const double weight = w.advantages.step_weights[m];
    for (std::size_t k = start; k < start + t.stride(); ++k) {
      w.weights[k] = weight;
      w.weighted_advantages[k] = weight * advantages[k];
    }
  }
  compute_policy_gradient(t, played, w.weighted_advantages.data(), w.policy_gradient,
                          w.weights.data());
  return w.weighted_advantages.data();
}

void set_played(const GaussianPolicy& played, Eigen::VectorXd& alpha) {
  alpha.resize(played.gains().size());
  for (int a = 0; a < played.actions(); ++a) {
    for (int f = 0; f < played.features(); ++f) {
      alpha(a * played.features() + f) = played.gains()(a, f);
    }
  }
}

/// x ← (I ⊗ G) x.
void multiply_blocks(const Eigen::MatrixXd& block, Eigen::VectorXd& x, Eigen::VectorXd& scratch) {
  const Eigen::Index width = block.rows();
  scratch = x;
  for (Eigen::Index start = 0; start < x.size(); start += width) {
    for (Eigen::Index i = 0; i < width; ++i) {
      double sum = 0;
      for (Eigen::Index j = 0; j < width; ++j) sum += block(j, i) * scratch(start + j);
      x(start + i) = sum;
    }
  }
}

void write_no_signal(const Eigen::MatrixXd& curvature, double constant, RoundLoss& loss) {
  loss.status = RoundLossStatus::no_signal;
  loss.curvature = curvature;
  loss.target = loss.played;
  loss.constant = constant;
  loss.cost_gradient.setZero(loss.played.size());
  loss.natural_norm_squared = 0.0;
  loss.noise_share = kNaN;
  loss.shrinkage = 1;
  loss.radius = 0.0;
  loss.step_kl = 0.0;
}

/// Each step's weights times γ^m.
void discount_steps(const Trajectories& t, double discount, AlignedVector<double>& weights) {
  double factor = 1;
  for (int m = 0; m < t.steps(); ++m, factor *= discount) {
    double* row = weights.data() + static_cast<std::size_t>(m) * t.stride();
    for (int i = 0; i < t.count(); ++i) row[i] *= factor;
  }
}

double choose_step(const Trajectories& t, const GaussianPolicy& played, double visit,
                   const StepSettings& settings, const double* advantages,
                   double direction_curvature, BaseLearnerWorkspace& w) {
  switch (settings.rule) {
    case StepRule::fixed:
      return settings.size;
    case StepRule::harmonic:
      return settings.size / (1.0 + visit);
    case StepRule::trust_region:
      return std::sqrt(2.0 * settings.radius(visit) / direction_curvature);
    case StepRule::line_search:
      w.line.prepare(t, played, advantages, w.direction, settings.line_search_trajectories);
      return line_search_step(w.line, settings, settings.radius(visit), direction_curvature);
  }
  throw InvalidInput("step.rule", "unknown", "must be one of the named rules");
}

/// eREINFORCE and both forms of eNAC: α⁺ = α_j - step · shrinkage · direction.
void take_step(const Trajectories& t, const GaussianPolicy& played, double visit,
               const BaseLearnerSettings& settings, BaseLearnerWorkspace& w, RoundLoss& loss) {
  const bool regression = settings.method == BaseLearnerMethod::natural_actor_critic_regression;
  AdvantageSettings advantages = settings.advantages;
  if (regression) {
    advantages.cost_to_go = advantages.step_mean = advantages.state_baseline = false;
    advantages.normalise = false;
  }
  const AdvantageSummary summary = compute_advantages(t, advantages, w.advantages);
  const double* weighted = sum_scores(t, played, !regression, w);
  check_sums(t, summary, w.policy_gradient);

  // Nothing below throws: the loss is written from here on.
  Eigen::MatrixXd& fisher = w.policy_gradient.fisher;
  const int n = t.count();
  set_played(played, loss.played);
  loss.trajectories = n;
  loss.mean_cost = summary.mean_cost;
  loss.cost_error = summary.cost_error;
  // C(τ) is a mean over all steps, advantages are sums of costs divided by their scale, and the
  // gradient is that of the share of steps that was not cut off.
  loss.cost_unit = summary.scale / (t.steps() * summary.observed_share);
  const double constant = settings.loss_scale == LossScale::cost ? summary.mean_cost : 0.0;
  if (!(fisher.trace() > 0) || summary.scale == 0.0) {
    write_no_signal(fisher, constant, loss);
    return;
  }
  bool damped = factorise_damped(fisher, settings.relative_damping, w.factor);

  // g, d and q in units of the advantages first.
  double noise = kNaN;
  loss.cost_gradient = w.policy_gradient.gradient;
  w.direction = w.policy_gradient.gradient;
  if (regression) {
    unit_weights(t, w.weights);
    if (settings.discount_scores) discount_steps(t, advantages.discount, w.weights);
    compute_policy_gradient(t, played, w.weights.data(), w.scores);
    const ReturnRegression fit =
        regress_returns(w.scores, w.advantages.returns.data(), n, settings.relative_damping,
                        w.regression_matrix, w.regression_factor, w.direction);
    damped = damped || fit.damped;
    noise = fit.residual_variance * static_cast<double>(w.direction.size()) / n;
    // The gradient that this natural gradient stands for.
    loss.cost_gradient = w.direction;
    multiply_blocks(fisher, loss.cost_gradient, w.scratch);
  } else {
    solve_blocks(w.factor, w.direction);
    noise = settings.step.shrinkage == NoiseShrinkage::white
                ? static_cast<double>(w.direction.size()) * summary.variance / n
            : n > 1 ? measured_noise(w.policy_gradient, n, w.factor, w.noise)
                    : kNaN;
  }
  const double q = loss.cost_gradient.dot(w.direction);
  if (!(q > 0)) {
    write_no_signal(fisher, constant, loss);
    return;
  }
  loss.noise_share = noise / q;
  // A noise that could not be estimated (one trajectory) shrinks nothing.
  loss.shrinkage =
      std::isnan(loss.noise_share) ? 1.0 : std::max(loss.shrinkage_floor, 1.0 - loss.noise_share);

  const bool plain = settings.method == BaseLearnerMethod::reinforce;
  if (plain) w.direction = w.policy_gradient.gradient;
  const double direction_curvature = plain ? block_norm_squared(fisher, w.direction) : q;
  const double whole_step =
      choose_step(t, played, visit, settings.step, weighted, direction_curvature, w);
  const double step = whole_step * loss.shrinkage;

  loss.status = damped ? RoundLossStatus::damped_curvature : RoundLossStatus::ok;
  loss.target = loss.played - step * w.direction;
  loss.step_kl = 0.5 * step * step * direction_curvature;
  // Of the direction, in the metric of the loss.
  const double metric_norm_squared = plain ? w.direction.squaredNorm() : q;
  loss.radius = 0.5 * whole_step * whole_step * metric_norm_squared;
  loss.cost_gradient *= loss.cost_unit;
  loss.natural_norm_squared = q * loss.cost_unit * loss.cost_unit;
  loss.constant = 0.0;
  if (plain) {
    loss.curvature.setIdentity(fisher.rows(), fisher.cols());
  } else {
    loss.curvature = fisher;
  }
  if (settings.loss_scale == LossScale::cost) {
    const double scale = loss.cost_unit * loss.shrinkage / step;
    loss.curvature *= scale;
    loss.radius *= scale;
    loss.constant = summary.mean_cost - 0.5 * scale * step * step * metric_norm_squared;
  }
}

/// The paper's closed form: Γ = (1/(nσ²)) Σ w ΦΦᵀ, α⁺ = Γ⁻¹ (1/(nσ²)) Σ w u Φ.
void fit_likelihood(const Trajectories& t, const GaussianPolicy& played,
                    const BaseLearnerSettings& settings, BaseLearnerWorkspace& w, RoundLoss& loss) {
  const bool weighted = settings.method == BaseLearnerMethod::weighted_likelihood;
  const AdvantageSummary summary = compute_advantages(t, settings.advantages, w.advantages);
  if (weighted) {
    sum_scores(t, played, true, w);
    check_sums(t, summary, w.policy_gradient);
    likelihood_weights(t, w.advantages.advantages.data(), settings.temperature, w.weights);
  } else {
    unit_weights(t, w.weights);
  }
  // Weights in place of advantages give Γ and the gradient (1/(nσ²)) Σ w (u - KΦ) Φ = Γ (α⁺ - α_j).
  compute_policy_gradient(t, played, w.weights.data(), w.scores, w.weights.data());
  check_sums(t, summary, w.scores);
  const double at_played = weighted_negative_log_likelihood(t, played, w.weights.data());
  require(std::isfinite(at_played), "trajectories", at_played,
          "must be small enough for finite sums");

  Eigen::MatrixXd& curvature = w.scores.fisher;
  set_played(played, loss.played);
  loss.trajectories = t.count();
  loss.mean_cost = summary.mean_cost;
  loss.cost_error = summary.cost_error;
  if (!(curvature.trace() > 0)) {
    write_no_signal(curvature, at_played, loss);
    return;
  }
  const bool damped = factorise_damped(curvature, settings.relative_damping, w.factor);
  w.direction = w.scores.gradient;
  solve_blocks(w.factor, w.direction);
  const double drop = w.scores.gradient.dot(w.direction);
  loss.status = damped                             ? RoundLossStatus::damped_curvature
                : weighted && summary.scale == 0.0 ? RoundLossStatus::no_signal
                                                   : RoundLossStatus::ok;
  loss.curvature = curvature;
  loss.target = loss.played + w.direction;
  loss.constant = at_played - 0.5 * drop;
  loss.noise_share = kNaN;
  loss.shrinkage = 1;
  loss.radius = 0.5 * drop;
  loss.cost_unit = summary.scale / (t.steps() * summary.observed_share);
  if (!weighted) {  // demonstrations say nothing about the cost of this policy
    loss.cost_unit = kNaN;
    loss.cost_gradient.setConstant(loss.played.size(), kNaN);
    loss.natural_norm_squared = kNaN;
    loss.step_kl = 0.5 * drop;
    return;
  }
  loss.cost_gradient = w.policy_gradient.gradient * loss.cost_unit;
  loss.step_kl = 0.5 * block_norm_squared(w.policy_gradient.fisher, w.direction);
  factorise_damped(w.policy_gradient.fisher, settings.relative_damping, w.factor);
  w.direction = loss.cost_gradient;
  solve_blocks(w.factor, w.direction);
  loss.natural_norm_squared = w.direction.dot(loss.cost_gradient);
}

/// With one σ for all actions.
void learn(const Trajectories& trajectories, const GaussianPolicy& played, double visit,
           const BaseLearnerSettings& settings, BaseLearnerWorkspace& workspace, RoundLoss& loss) {
  switch (settings.method) {
    case BaseLearnerMethod::reinforce:
    case BaseLearnerMethod::natural_actor_critic:
    case BaseLearnerMethod::natural_actor_critic_regression:
      take_step(trajectories, played, visit, settings, workspace, loss);
      return;
    case BaseLearnerMethod::weighted_likelihood:
    case BaseLearnerMethod::fit_demonstrations:
      fit_likelihood(trajectories, played, settings, workspace, loss);
      return;
  }
  throw InvalidInput("method", "unknown", "must be one of the named methods");
}

}  // namespace

void make_round_loss(const Trajectories& trajectories, const GaussianPolicy& played, double visit,
                     const BaseLearnerSettings& settings, BaseLearnerWorkspace& workspace,
                     RoundLoss& loss) {
  check_input(trajectories, played, visit, settings);
  loss.trust_region = loss.newton_radius = kNaN;
  loss.newton_step.resize(0);
  loss.coupled_noise_share = kNaN;
  loss.shrinkage_floor =
      settings.step.shrinkage == NoiseShrinkage::none ? 1.0 : settings.step.shrinkage_floor;
  if (played.noise().is_common()) {
    learn(trajectories, played, visit, settings, workspace, loss);
    return;
  }
  NoiseUnits& units = workspace.noise_units;
  units.assign(trajectories, played);
  learn(units.trajectories, units.played, visit, settings, workspace, loss);
  units.restore(loss);
  // As it was given, without the rounding of there and back.
  set_played(played, loss.played);
  if (loss.status == RoundLossStatus::no_signal) loss.target = loss.played;
}

RoundLoss make_round_loss(const Trajectories& trajectories, const GaussianPolicy& played,
                          double visit, const BaseLearnerSettings& settings,
                          BaseLearnerWorkspace& workspace) {
  RoundLoss loss;
  make_round_loss(trajectories, played, visit, settings, workspace, loss);
  return loss;
}

}  // namespace lifeguard
