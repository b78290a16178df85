#include "lifeguard/lifelong/shared.hpp"

#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/core/settings.hpp"

namespace lifeguard {

std::unique_ptr<PolicyLearner> SharedSettings::make(int features, int actions) const {
  return std::make_unique<SharedLearner>(features, actions, *this);
}

void SharedSettings::visit(SettingVisitor& v) {
  v.section(kMethod, "One policy for all tasks.");
  round.visit_steps(v);
}

void SharedSettings::validate(int /*parameters*/) const {
  round.validate();
  check_settings(*this);
}

SharedLearner::SharedLearner(int features, int actions, const SharedSettings& settings)
    : PolicyLearner(features, actions, settings.round),
      anchors_(features * actions, 0),
      shift_(Eigen::VectorXd::Zero(features * actions)) {}

void SharedLearner::append_task(const Eigen::VectorXd& anchor) {
  anchors_.conservativeResize(Eigen::NoChange, tasks() + 1);
  anchors_.col(tasks()) = anchor;
}

RoundStatus SharedLearner::update(int task, const RoundLoss& loss) {
  shift_ = loss.target - anchors_.col(task);
  return RoundStatus::ok;
}

void SharedLearner::write_state(std::ostream& out) const {
  StateWriter writer(out);
  write_visits(writer, SharedSettings::kMethod);
  writer.field("shift", Eigen::MatrixXd(shift_));
}

void SharedLearner::read_state(std::istream& in) {
  StateReader reader(in);
  SavedVisits visits = read_visits(reader, SharedSettings::kMethod);
  Eigen::MatrixXd shift = shift_;
  read_matrix(reader, "shift", shift);
  restore_visits(std::move(visits));
  shift_ = shift.col(0);
}

}  // namespace lifeguard
