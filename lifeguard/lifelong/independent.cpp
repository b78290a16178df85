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

}  // namespace lifeguard
