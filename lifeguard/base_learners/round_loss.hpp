#pragma once

#include <Eigen/Core>
#include <string>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// What is to be said of a batch: the worst that was found.
enum class TrajectoryStatus {
  not_run,
  ok,
  /// Nothing is wrong, but there is nothing to learn: all trajectories failed before their first
  /// step, or every step costs the same. A learner answers with RoundStatus::no_signal.
  no_live_step,
  constant_costs,
  /// The actions are the policy's mean, without exploration noise: no gradient can be estimated. A
  /// learner refuses the batch with RoundStatus::no_noise.
  no_noise,
  /// These are mistakes, for which a learner throws InvalidInput.
  wrong_shape,   // features or actions are not those of the policy
  wrong_end,     // a length outside [0, steps], numbers after an end, all cut before the first step
  not_finite,    // NaN or infinity
  other_policy,  // the actions are not draws of the policy
};
/// In words.
const char* to_string(TrajectoryStatus status);

/// What a look at a batch says about learning from it.
struct TrajectoryCheck {
  TrajectoryStatus status = TrajectoryStatus::not_run;
  int trajectories = 0;
  int failed = 0;
  int cut_short = 0;
  long live_steps = 0;
  /// Of the standardised noise z_a = (u_a - k_aΦ)/σ_a at live steps, NaN if there are none: the
  /// mean square over all actions (1 is expected), the mean of the action whose mean is furthest
  /// from the expected 0, and the largest √(z_1² + … ) of a step.
  double noise_mean_square = kNaN;
  double noise_mean = kNaN;
  double largest_noise = kNaN;
  /// What is wrong, as in InvalidInput: where, which value, which rule. Empty if all is well.
  std::string field;
  std::string value;
  std::string rule;

  /// One line for people; empty if all is well.
  std::string message() const;
  /// Throws InvalidInput if the batch is a mistake.
  void require_usable() const;
};

/// Looks at everything: shape, lengths, every number, what follows the ends, and whether the
/// actions are draws of N(KΦ, σ²), as stored before they are limited to what the system can do.
/// Actions recorded after that limit, features in other units or a policy that was updated in
/// between show as other_policy. The noise of `played` must be positive.
///
/// The last test is of the noise z, which is standard normal given the past. Against it stand some
/// fixed alternatives N(μ, c), listed in trajectory_check.cpp, and an alarm needs a likelihood
/// ratio of 10¹⁵ times their number. Under the policy a likelihood ratio has the mean 1, also if a
/// trajectory stops depending on its past (a failure), so by Markov's inequality the mean of an
/// action, the mean square and the largest value each give a false alarm with a probability of at
/// most 10⁻¹⁵: at most (actions + 3) · 10⁻¹⁵ in all, for any number of trajectories and steps.
/// Where actions have noises of their own, the mean square of each is tested by itself too. Two
/// things could break this for batches of our own simulators, and are allowed for: trajectories
/// that diverged may have lost the draw that made them diverge (the 3 above has a bound on it), and
/// u - KΦ has rounding errors, which matter where σ is tiny beside the actions.
///
/// For many steps the alternatives leave room for differences that do no harm: a mean within ±0.05
/// and a mean square in [0.92, 1.09] never alarm. For 7500 steps of an action an alarm needs a mean
/// of 0.1 or a mean square of 0.86 or 1.15; the largest |z| may be about 10.
TrajectoryCheck check_trajectories(const Trajectories& trajectories, const GaussianPolicy& played);

/// What the batch was good for.
enum class RoundLossStatus {
  not_run,
  ok,
  /// The batch says nothing about which way is better (all advantages equal, or no live step): the
  /// target is the played policy and the curvature is what the data gave.
  no_signal,
  /// The features of the batch do not span all directions, so the curvature was damped (see
  /// BaseLearnerSettings::relative_damping) before a step was taken. The loss is usable.
  damped_curvature,
};

/// What a base learner makes of one round's trajectories, and all that is left of them afterwards:
///   l(α) = ½ (α - α⁺)ᵀ G (α - α⁺) + constant.
/// α stacks the rows of the gains K, one action after the other (GaussianPolicy), and all actions
/// share their features, so the curvature G has an F × F block for each action, the same for all if
/// all explore with the same noise (action_blocks.hpp).
struct RoundLoss {
  RoundLossStatus status = RoundLossStatus::not_run;

  Eigen::MatrixXd curvature;  // G: blocks of F × F, symmetric, positive definite
  Eigen::VectorXd target;     // α⁺: A·F entries
  double constant = kNaN;

  /// Where the data were gathered.
  Eigen::VectorXd played;  // α_j: A·F entries
  int trajectories = 0;
  /// Mean over the batch of C(τ) = (1/M) Σ_m c_m, exploration noise included.
  double mean_cost = kNaN;
  /// The standard error of that mean over the batch's trajectories; 0 for a single one.
  double cost_error = 0;
  /// How much cost one unit of the advantages is: those are sums over steps, and may be normalised.
  double cost_unit = kNaN;
  /// Estimate of ∂E[C(τ)]/∂α at α_j, in units of cost whether or not advantages are normalised.
  Eigen::VectorXd cost_gradient;
  /// q = gᵀ F⁻¹ g of that gradient g, with the Fisher information F of one whole trajectory.
  double natural_norm_squared = kNaN;
  /// The estimated part of q that is sampling noise, as a share of q; 1 or more means all of it.
  double noise_share = kNaN;
  /// The factor by which the step was shortened for that noise; 1 if it was not.
  double shrinkage = 1;
  /// The smallest that factor may be, however noisy the step; 1 where steps are not shortened.
  double shrinkage_floor = 1;
  /// ½ (α⁺ - α_j)ᵀ G (α⁺ - α_j) without that factor: the trust region of the step, in the
  /// metric of this loss. NaN if it is not known; a learner then pools no gradients.
  double radius = kNaN;
  /// The same of the trust region as it was asked for, before it was widened where the direction is
  /// sure or cut to a Newton step, and of the whole Newton step. NaN if they are not known.
  double trust_region = kNaN;
  double newton_radius = kNaN;
  /// The Newton step itself where it is known for each action (ModelCritic), else empty. The step
  /// of this loss is then along it, and noise_share, radius and newton_radius are those of it.
  Eigen::VectorXd newton_step;
  /// How its actions work together, H (action_coupling.hpp), where that is known, and the share of
  /// noise in the Newton step in the metric K that H makes of G. NaN, and H anything, else.
  double coupled_noise_share = kNaN;
  Eigen::MatrixXd action_coupling;
  /// ½ (α⁺ - α_j)ᵀ F (α⁺ - α_j): how far the target is from the played policy, as the mean KL
  /// divergence over a trajectory, in nats.
  double step_kl = kNaN;

  /// F and A.
  int features() const { return static_cast<int>(curvature.cols()); }
  int actions() const {
    return curvature.cols() == 0 ? 0 : static_cast<int>(target.size() / curvature.cols());
  }
  /// l(α) and ∇l(α).
  double value(const Eigen::VectorXd& alpha) const;
  Eigen::VectorXd gradient(const Eigen::VectorXd& alpha) const;
};

}  // namespace lifeguard
