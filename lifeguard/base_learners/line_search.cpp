#include "lifeguard/base_learners/line_search.hpp"

#include <cmath>

#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/core/check.hpp"

namespace lifeguard {

LineSearchResult search_trust_region(const Trajectories& trajectories, const GaussianPolicy& played,
                                     const BaseLearnerSettings& settings,
                                     BaseLearnerWorkspace& workspace) {
  const bool steps = settings.method == BaseLearnerMethod::reinforce ||
                     settings.method == BaseLearnerMethod::natural_actor_critic ||
                     settings.method == BaseLearnerMethod::natural_actor_critic_regression;
  require(steps, "method", "likelihood", "must be one that takes steps");
  BaseLearnerSettings searching = settings;
  searching.step.rule = StepRule::line_search;
  searching.step.shrinkage = NoiseShrinkage::none;  // the whole step is judged
  const RoundLoss loss = make_round_loss(trajectories, played, 0, searching, workspace);
  LineSearchResult result;
  result.status = loss.status;
  if (loss.status == RoundLossStatus::no_signal) return result;
  result.trust_region = loss.step_kl;
  // ½ step² dᵀFd = δ.
  result.step = std::sqrt(
      2 * loss.step_kl / block_norm_squared(workspace.policy_gradient.fisher, workspace.direction));
  return result;
}

}  // namespace lifeguard
