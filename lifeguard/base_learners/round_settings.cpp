#include "lifeguard/base_learners/round_settings.hpp"

#include "lifeguard/core/settings.hpp"

namespace lifeguard {

void AdaptationSettings::visit_horizon(SettingVisitor& v) {
  v.number("failure_horizon", failure_horizon, Range{.low = 1, .or_zero = true}, "steps",
           "horizon of the advantages if every trajectory fails; 0 leaves the discount alone");
}

void AdaptationSettings::visit_steps(SettingVisitor& v) {
  v.number("trust_region_per_step", trust_region_per_step, Range::at_least(0), "nats",
           "trust region for each live step of a trajectory; 0 uses base_learner.trust_region");
  v.number("sure_noise_share", sure_noise_share, Range::at_least(0), "",
           "trust regions grow by this over the noise share where that is small; 0 means never");
  v.number("newton_limit", newton_limit, Range::at_least(0), "Newton steps",
           "longest step as a multiple of the Newton step; 0 means no limit");
}

void AdaptationSettings::validate() const {
  SettingChecker checker;
  AdaptationSettings copy = *this;
  copy.visit_horizon(checker);
  copy.visit_steps(checker);
}

BaseLearnerSettings RoundSettings::default_base_learner() {
  BaseLearnerSettings settings;
  settings.critic = CriticUse::automatic;
  settings.advantages.discount = 0.998;
  settings.advantages.trace = 0.95;
  settings.advantages.baseline_sweeps = 2;
  settings.step.decay = 1.0;
  return settings;
}

void RoundSettings::visit_base_learner(SettingVisitor& v) {
  v.section("base_learner",
            "How a round's trajectories become one loss; the same for all methods.");
  base_learner.visit(v);
  adaptation.visit_horizon(v);
}

void RoundSettings::visit_steps(SettingVisitor& v) {
  adaptation.visit_steps(v);
  base_learner.step.visit_decay(v);
}

void RoundSettings::share_base_learner(const RoundSettings& common) {
  const double decay = base_learner.step.decay;
  base_learner = common.base_learner;
  base_learner.step.decay = decay;
  adaptation.failure_horizon = common.adaptation.failure_horizon;
}

void RoundSettings::validate() const {
  base_learner.validate();
  adaptation.validate();
}

}  // namespace lifeguard
