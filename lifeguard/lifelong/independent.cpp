#include "lifeguard/lifelong/independent.hpp"

namespace lifeguard {

void IndependentLearner::append_task(const Eigen::VectorXd& anchor, const SafeSet* /*safe_set*/) {
  policies_.conservativeResize(Eigen::NoChange, tasks() + 1);
  policies_.col(tasks()) = anchor;
}

RoundStatus IndependentLearner::update(int task, const RoundLoss& loss,
                                       SafeguardRecord& /*safeguard*/) {
  policies_.col(task) = loss.target;
  return RoundStatus::ok;
}

void IndependentLearner::write_state(std::ostream& out) const {
  StateWriter writer(out);
  write_visits(writer, "independent");
  writer.field("policies", policies_);
}

void IndependentLearner::read_state(std::istream& in) {
  StateReader reader(in);
  read_visits(reader, "independent");
  read_matrix(reader, "policies", policies_);
}

}  // namespace lifeguard
