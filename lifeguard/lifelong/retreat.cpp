#include "lifeguard/lifelong/retreat.hpp"

#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"

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

void Retreat::add_task(const Eigen::VectorXd& anchor) {
  tasks_.push_back({kInfinity, anchor, true});
}

bool Retreat::far_above(double cost, double reference) const {
  return cost - reference > (factor_ - 1) * std::abs(reference);
}

bool Retreat::astray(const LearningRound& round) const {
  return far_above(surely_above(round.loss), tasks_[round.task].lowest_cost);
}

bool Retreat::lost(const LearningRound& round) const {
  if (!tasks_[round.task].takes_part || !(round.loss.noise_share >= 1)) return false;
  bool others = false;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    if (static_cast<int>(t) == round.task || std::isinf(tasks_[t].lowest_cost)) continue;
    if (!far_above(surely_above(round.loss), tasks_[t].lowest_cost)) return false;
    others = true;
  }
  return others;
}

void Retreat::accept(const LearningRound& round, const Eigen::VectorXd& played, bool takes_part) {
  Memory& memory = tasks_[round.task];
  if (surely_below(round.loss) < memory.lowest_cost) {
    memory.lowest_cost = surely_below(round.loss);
    memory.lowest_policy = played;
  }
  memory.takes_part = takes_part;
}

void Retreat::save_task(int task, StateWriter& writer) const {
  const Memory& memory = tasks_[task];
  writer.field("takes_part", memory.takes_part);
  writer.field("lowest_cost", memory.lowest_cost);
  writer.field("lowest_policy", memory.lowest_policy);
}

void Retreat::load_task(StateReader& reader) {
  Memory memory;
  reader.field("takes_part", memory.takes_part);
  reader.field("lowest_cost", memory.lowest_cost);
  reader.field("lowest_policy", memory.lowest_policy);
  require(!std::isnan(memory.lowest_cost), "lowest_cost", memory.lowest_cost, "must be a number");
  require_size("lowest_policy", memory.lowest_policy.size(), parameters_);
  tasks_.push_back(std::move(memory));
}

}  // namespace lifeguard
