#include "lifeguard/lifelong/linearised_rule.hpp"

#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
LinearisedRule::LinearisedRule(const LearnerSettings& settings, int features, int actions)
    : settings_(settings.linearised),
      features_(features),
      parameters_(features * actions),
      retreat_(settings.linearised.retreat_factor, features * actions),
      next_gradients_(features, features * actions),
      metric_factor_(features, features),
      policy_(features * actions),
      step_(features * actions),
      own_step_(features * actions),
      curved_(features * actions),
      limits_(settings.projection),
      update_(features * actions, settings.columns(features * actions)) {}

void LinearisedRule::add_task(const Eigen::VectorXd& anchor) {
  memories_.emplace_back(features_, parameters_);
  retreat_.add_task(anchor);
}

RoundStatus LinearisedRule::solve(const LearningRound& round, Knowledge& next) {
  choose_steps(round);
  limits_.cut(round, steps_);
  const bool solved =
      update_.update(round.loss.curvature, steps_, round.task, next) == LinearisedStatus::ok &&
      next.basis.allFinite() && next.coefficients.allFinite();
  return solved ? RoundStatus::ok : RoundStatus::singular;
}

void LinearisedRule::choose_steps(const LearningRound& round) {
  next_gradients_ = memories_[round.task];
  next_takes_part_ = retreat_.takes_part(round.task);
  steps_.setZero(parameters_, tasks());
  round.knowledge.policy_parameters(round.task, policy_);
  if (retreat_.astray(round.task, round.loss)) {
    next_gradients_.forget();
    steps_.col(round.task) = retreat_.cheapest_policy(round.task) - policy_;
    return;
  }
  if (retreat_.lost(round.task, round.loss)) {
    next_takes_part_ = false;
    next_gradients_.forget();
    steps_.col(round.task) = round.knowledge.anchors.col(round.task) - policy_;
    return;
  }
  const double share = next_takes_part_ ? settings_.share(round.rounds_before, tasks()) : 0.0;
  // Of data that an earlier policy gathered the others take the step they speak for; the task
  // itself goes where that leads, and not twice.
  step_ = round.loss.target - gathered_with(round);
  for (int t = 0; t < tasks(); ++t) {
    if (retreat_.takes_part(t)) steps_.col(t) = share * step_;
  }
  step_ = round.loss.target - policy_;
  if (round.loss.radius > 0 && next_gradients_.add(settings_.own_memory, round.loss) &&
      next_gradients_.step(round.loss, metric_factor_, curved_, own_step_)) {
    step_ = share * step_ + (1 - share) * own_step_;
  }
  steps_.col(round.task) = step_;
}

const Eigen::VectorXd& LinearisedRule::gathered_with(const LearningRound& round) const {
  return round.loss.played.size() == parameters_ ? round.loss.played : policy_;
}

void LinearisedRule::accept(const LearningRound& round, const Knowledge& /*accepted*/) {
  round.knowledge.policy_parameters(round.task, policy_);
  retreat_.accept(round.task, round.loss, gathered_with(round), next_takes_part_);
  std::swap(memories_[round.task], next_gradients_);
}

void LinearisedRule::save_task(int task, StateWriter& writer) const {
  const GradientMemory& gradients = memories_[task];
  writer.field("gradient", gradients.gradient);
  writer.field("metric", gradients.metric);
  writer.field("weight", gradients.weight);
  writer.field("noise", gradients.noise);
  retreat_.save_task(task, writer);
}

void LinearisedRule::load_task(StateReader& reader) {
  GradientMemory gradients;
  reader.field("gradient", gradients.gradient);
  reader.field("metric", gradients.metric);
  reader.field("weight", gradients.weight);
  reader.field("noise", gradients.noise);
  require(are_blocks(gradients.metric, features_, parameters_ / features_), "metric",
          static_cast<double>(gradients.metric.rows()),
          "must have one row for each feature, or for each parameter");
  require_size("gradient", gradients.gradient.size(), parameters_);
  require_not_negative("weight", gradients.weight);
  require_not_negative("noise", gradients.noise);
  retreat_.load_task(reader);
  memories_.push_back(std::move(gradients));
}

}  // namespace lifeguard
