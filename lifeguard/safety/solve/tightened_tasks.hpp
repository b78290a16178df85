#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/safety/prove/verification.hpp"

namespace lifeguard {

/// One task as the solver steps see it: A L s ≤ r and ‖r − A L s‖ ≤ c. Pointers stay the owner's.
struct TightenedTask {
  const Eigen::MatrixXd* rows;         // A, m × d
  const Eigen::VectorXd* row_lengths;  // ‖a_i‖
  const Eigen::VectorXd* bounds;       // r > 0
  double slack_limit;                  // c > ‖r‖, may be infinite
};

/// The tasks with room for the solvers' rounding errors, r = b'(1 − margin) and a c a little below
/// c_max: the same room in every step, since different margins let the objective increase.
class TightenedTasks {
 public:
  /// The tasks must live as long as what is read from here.
  void tighten(const std::vector<ProjectionTask>& tasks, double margin);

  const std::vector<TightenedTask>& tasks() const { return tightened_; }
  const TightenedTask& operator[](std::size_t task) const { return tightened_[task]; }

 private:
  std::vector<Eigen::VectorXd> bounds_;
  std::vector<TightenedTask> tightened_;
};

/// A radius c' < c with ‖r‖ < c' for bounds r = b'(1 − margin), such that ‖r − y‖ ≤ c' implies
/// ‖b' − y‖ < c: the triangle inequality needs c' + margin ‖b'‖ < c. `anchor_slack` is ‖b'‖ < c.
double tightened_slack_limit(double anchor_slack, double slack_limit, double margin);

}  // namespace lifeguard
