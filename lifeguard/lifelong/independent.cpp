#include "lifeguard/lifelong/independent.hpp"

#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/core/settings.hpp"

namespace lifeguard {

std::unique_ptr<PolicyLearner> IndependentSettings::make(int features, int actions) const {
  return std::make_unique<IndependentLearner>(features, actions, *this);
}

void IndependentSettings::visit(SettingVisitor& v) {
  v.section(kMethod, "Independent policy gradients, one learner for each task.");
  round.visit_steps(v);
  v.integer("extra_trajectories", extra_trajectories, Range::between(0, 1000000), "trajectories",
            "gathered in each round beyond the others' number");
}

void IndependentSettings::validate(int /*parameters*/) const {
  round.validate();
  check_settings(*this);
}

void IndependentLearner::append_task(const Eigen::VectorXd& anchor) {
  policies_.conservativeResize(Eigen::NoChange, tasks() + 1);
  policies_.col(tasks()) = anchor;
}

RoundStatus IndependentLearner::update(int task, const RoundLoss& loss) {
  policies_.col(task) = loss.target;
  return RoundStatus::ok;
}

void IndependentLearner::write_state(std::ostream& out) const {
  StateWriter writer(out);
  write_visits(writer, IndependentSettings::kMethod);
  writer.field("policies", policies_);
}

void IndependentLearner::read_state(std::istream& in) {
  StateReader reader(in);
  SavedVisits visits = read_visits(reader, IndependentSettings::kMethod);
  read_matrix(reader, "policies", policies_);
  restore_visits(std::move(visits));
}

}  // namespace lifeguard
