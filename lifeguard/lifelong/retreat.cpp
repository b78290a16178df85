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

bool Retreat::astray(int task, const RoundLoss& loss) const {
  return far_above(surely_above(loss), tasks_[task].lowest_cost);
}

bool Retreat::lost(int task, const RoundLoss& loss) const {
  const Memory& own = tasks_[task];
  if (!own.takes_part || !(loss.noise_share >= 1)) return false;
  const std::size_t known = std::isinf(own.lowest_cost) ? 0 : 1;
  if (lowest_costs_.size() == known) return false;  // nothing is known of others
  // far_above() is a convex bound on the reference: the lowest and the highest decide for all.
  auto lowest = lowest_costs_.begin();
  auto highest = lowest_costs_.rbegin();
  if (known == 1 && *lowest == own.lowest_cost) ++lowest;
  if (known == 1 && *highest == own.lowest_cost) ++highest;
  const double cost = surely_above(loss);
  return far_above(cost, *lowest) && far_above(cost, *highest);
}

bool Retreat::stuck(int task, const RoundLoss& loss, double typical) const {
  const double lowest = tasks_[task].lowest_cost;
  // Twice as far above as the others: tasks differ.
  const double excess = surely_above(loss) - typical;
  return excess > (factor_ * factor_ - 1) * std::abs(typical) && !std::isinf(lowest) &&
         !far_above(lowest, surely_below(loss));
}

void Retreat::accept(int task, const RoundLoss& loss, const Eigen::VectorXd& played,
                     bool takes_part) {
  Memory& memory = tasks_[task];
  if (surely_below(loss) < memory.lowest_cost) {
    if (std::isinf(memory.lowest_cost)) {
      lowest_costs_.insert(surely_below(loss));
    } else {
      auto node = lowest_costs_.extract(lowest_costs_.find(memory.lowest_cost));
      node.value() = surely_below(loss);
      lowest_costs_.insert(std::move(node));
    }
    memory.lowest_cost = surely_below(loss);
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
  if (!std::isinf(memory.lowest_cost)) lowest_costs_.insert(memory.lowest_cost);
  tasks_.push_back(std::move(memory));
}

}  // namespace lifeguard
