#include "lifeguard/lifelong/shared.hpp"

namespace lifeguard {

SharedLearner::SharedLearner(int features, int actions, const RoundSettings& round)
    : PolicyLearner(features, actions, round),
      anchors_(features * actions, 0),
      shift_(Eigen::VectorXd::Zero(features * actions)) {}

void SharedLearner::append_task(const Eigen::VectorXd& anchor, const SafeSet* /*safe_set*/) {
  anchors_.conservativeResize(Eigen::NoChange, tasks() + 1);
  anchors_.col(tasks()) = anchor;
}

RoundStatus SharedLearner::update(int task, const RoundLoss& loss, SafeguardRecord& /*safeguard*/) {
  shift_ = loss.target - anchors_.col(task);
  return RoundStatus::ok;
}

void SharedLearner::write_state(std::ostream& out) const {
  StateWriter writer(out);
  write_visits(writer, "shared");
  writer.field("shift", Eigen::MatrixXd(shift_));
}

void SharedLearner::read_state(std::istream& in) {
  StateReader reader(in);
  read_visits(reader, "shared");
  Eigen::MatrixXd shift = shift_;
  read_matrix(reader, "shift", shift);
  shift_ = shift.col(0);
}

}  // namespace lifeguard
