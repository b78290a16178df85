#pragma once

#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/model_critic.hpp"
#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/policy/action_range.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// Makes the step of an eNAC loss that of the model critic, as settings.base_learner.critic says.
/// The loss, made of this batch by make_round_loss with trust region `radius`, stays what it is
/// where the critic has no say. True if it is the critic's now.
bool take_critic_step(const Trajectories& trajectories, const GaussianPolicy& played,
                      const ActionRange& range, const RoundSettings& settings, double radius,
                      BaseLearnerWorkspace& workspace, RoundLoss& loss);

}  // namespace lifeguard
