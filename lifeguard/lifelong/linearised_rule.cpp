#include "lifeguard/lifelong/linearised_rule.hpp"

#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {
namespace {

/// A batch's mean cost is surely no further than this many standard errors from the expected one.
constexpr double kSureErrors = 2.0;

double surely_below(const RoundLoss& loss) {
  return loss.mean_cost + kSureErrors * loss.cost_error;
}
double surely_above(const RoundLoss& loss) {
  return loss.mean_cost - kSureErrors * loss.cost_error;
}

}  // namespace

LinearisedRule::LinearisedRule(const LearnerSettings& settings, int features, int actions)
    : settings_(settings.linearised),
      shrinkage_floor_(settings.round.base_learner.step.shrinkage_floor),
      limited_(settings.projection.mode != ProjectionMode::none),
      solver_margin_(settings.projection.margin),
      features_(features),
      parameters_(features * actions),
      next_gradients_(features, features * actions),
      metric_factor_(features, features),
      policy_(features * actions),
      step_(features * actions),
      own_step_(features * actions),
      update_(features * actions, settings.columns(features * actions)) {}

void LinearisedRule::add_task(const Eigen::VectorXd& anchor) {
  memories_.push_back({GradientMemory(features_, parameters_), kInfinity, anchor, true});
}

RoundStatus LinearisedRule::solve(const LearningRound& round, Knowledge& next) {
  choose_steps(round);
  if (limited_) limit_steps(round);
  const bool solved =
      update_.update(round.loss.curvature, steps_, round.task, next) == LinearisedStatus::ok &&
      next.basis.allFinite() && next.coefficients.allFinite();
  return solved ? RoundStatus::ok : RoundStatus::singular;
}

void LinearisedRule::choose_steps(const LearningRound& round) {
  const Memory& memory = memories_[round.task];
  next_gradients_ = memory.gradients;
  next_takes_part_ = memory.takes_part;
  steps_.setZero(parameters_, tasks());
  round.knowledge.policy_parameters(round.task, policy_);
  if (astray(round)) {
    next_gradients_.forget();
    steps_.col(round.task) = memory.lowest_policy - policy_;
    return;
  }
  if (lost(round)) {
    next_takes_part_ = false;
    next_gradients_.forget();
    steps_.col(round.task) = round.knowledge.anchors.col(round.task) - policy_;
    return;
  }
  const double share = memory.takes_part ? settings_.share(round.rounds_before, tasks()) : 0.0;
  // Of data that an earlier policy gathered the others take the step they speak for; the task
  // itself goes where that leads, and not twice.
  step_ = round.loss.target - gathered_with(round);
  for (int t = 0; t < tasks(); ++t) {
    if (memories_[t].takes_part) steps_.col(t) = share * step_;
  }
  step_ = round.loss.target - policy_;
  if (round.loss.radius > 0 && next_gradients_.add(settings_.own_memory, round.loss) &&
      next_gradients_.step(round.loss.radius, shrinkage_floor_, metric_factor_, own_step_)) {
    step_ = share * step_ + (1 - share) * own_step_;
  }
  steps_.col(round.task) = step_;
}

const Eigen::VectorXd& LinearisedRule::gathered_with(const LearningRound& round) const {
  return round.loss.played.size() == parameters_ ? round.loss.played : policy_;
}

void LinearisedRule::limit_steps(const LearningRound& round) {
  for (int t = 0; t < tasks(); ++t) {
    if (!round.safe_sets[t].constrained()) continue;
    round.knowledge.policy_parameters(t, policy_);
    step_ = policy_ + steps_.col(t);
    const CoefficientPath path =
        metric_projection_.project(round.safe_sets[t], round.knowledge.anchors.col(t),
                                   round.loss.curvature, solver_margin_, step_);
    if (path != CoefficientPath::inside) steps_.col(t) = step_ - policy_;
  }
}

bool LinearisedRule::far_above(double cost, double reference) const {
  return cost - reference > (settings_.retreat_factor - 1) * std::abs(reference);
}

bool LinearisedRule::astray(const LearningRound& round) const {
  return far_above(surely_above(round.loss), memories_[round.task].lowest_cost);
}

bool LinearisedRule::lost(const LearningRound& round) const {
  if (!memories_[round.task].takes_part || !(round.loss.noise_share >= 1)) return false;
  bool others = false;
  for (int t = 0; t < tasks(); ++t) {
    if (t == round.task || std::isinf(memories_[t].lowest_cost)) continue;
    if (!far_above(surely_above(round.loss), memories_[t].lowest_cost)) return false;
    others = true;
  }
  return others;
}

void LinearisedRule::accept(const LearningRound& round) {
  Memory& memory = memories_[round.task];
  if (surely_below(round.loss) < memory.lowest_cost) {
    memory.lowest_cost = surely_below(round.loss);
    round.knowledge.policy_parameters(round.task, policy_);
    memory.lowest_policy = gathered_with(round);
  }
  std::swap(memory.gradients, next_gradients_);
  memory.takes_part = next_takes_part_;
}

void LinearisedRule::save_task(int task, StateWriter& writer) const {
  const Memory& memory = memories_[task];
  writer.field("gradient", memory.gradients.gradient);
  writer.field("metric", memory.gradients.metric);
  writer.field("weight", memory.gradients.weight);
  writer.field("noise", memory.gradients.noise);
  writer.field("takes_part", memory.takes_part);
  writer.field("lowest_cost", memory.lowest_cost);
  writer.field("lowest_policy", memory.lowest_policy);
}

void LinearisedRule::load_task(StateReader& reader) {
  Memory memory;
  GradientMemory& gradients = memory.gradients;
  reader.field("gradient", gradients.gradient);
  reader.field("metric", gradients.metric);
  reader.field("weight", gradients.weight);
  reader.field("noise", gradients.noise);
  reader.field("takes_part", memory.takes_part);
  reader.field("lowest_cost", memory.lowest_cost);
  reader.field("lowest_policy", memory.lowest_policy);
  require(are_blocks(gradients.metric, features_, parameters_ / features_), "metric",
          static_cast<double>(gradients.metric.rows()),
          "must have one row for each feature, or for each parameter");
  require_size("gradient", gradients.gradient.size(), parameters_);
  require_not_negative("weight", gradients.weight);
  require_not_negative("noise", gradients.noise);
  require(!std::isnan(memory.lowest_cost), "lowest_cost", memory.lowest_cost, "must be a number");
  require_size("lowest_policy", memory.lowest_policy.size(), parameters_);
  memories_.push_back(std::move(memory));
}

}  // namespace lifeguard
