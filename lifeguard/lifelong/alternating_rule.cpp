#include "lifeguard/lifelong/alternating_rule.hpp"

#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

AlternatingRule::AlternatingRule(const LearnerSettings& settings, int features, int actions)
    : alternation_settings_(settings.alternation),
      regularisation_(settings.regularisation),
      memory_(settings.memory),
      features_(features),
      parameters_(features * actions),
      next_loss_(features, features * actions),
      alternation_(features, actions, settings.columns(features * actions)) {}

void AlternatingRule::add_task(const Eigen::VectorXd& /*anchor*/) {
  losses_.emplace_back(features_, parameters_);
}

RoundStatus AlternatingRule::solve(const LearningRound& round, Knowledge& next) {
  // q_t ← ρ q_t + l_j: the curvature adds up, and so does Γ_j α_j⁺.
  const SummedLoss& before = losses_[round.task];
  next_loss_.curvature = before.curvature;
  add_blocks(memory_, next_loss_.curvature, round.loss.curvature);
  apply_curvature(round.loss.curvature, round.loss.target, next_loss_.linear);
  next_loss_.linear += memory_ * before.linear;
  std::swap(losses_[round.task], next_loss_);
  const AlternationStatus status = alternation_.update(
      alternation_settings_, regularisation_, losses_, round.task, round.rounds_before + 1, next);
  std::swap(losses_[round.task], next_loss_);
  const bool solved =
      status == AlternationStatus::ok && next.basis.allFinite() && next.coefficients.allFinite();
  return solved ? RoundStatus::ok : RoundStatus::singular;
}

void AlternatingRule::accept(const LearningRound& round, const Knowledge& /*accepted*/) {
  std::swap(losses_[round.task], next_loss_);
}

void AlternatingRule::save_task(int task, StateWriter& writer) const {
  writer.field("curvature", losses_[task].curvature);
  writer.field("linear", losses_[task].linear);
}

void AlternatingRule::load_task(StateReader& reader) {
  SummedLoss loss;
  reader.field("curvature", loss.curvature);
  reader.field("linear", loss.linear);
  require(are_blocks(loss.curvature, features_, parameters_ / features_), "curvature",
          static_cast<double>(loss.curvature.rows()),
          "must have one row for each feature, or for each parameter");
  require_size("linear", loss.linear.size(), parameters_);
  losses_.push_back(std::move(loss));
}

}  // namespace lifeguard
