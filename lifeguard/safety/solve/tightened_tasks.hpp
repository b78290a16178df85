#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/solve/tangents.hpp"

namespace lifeguard {

/// One task as the solver steps see it: A L s ≤ r and ‖r − A L s‖ ≤ c. Pointers stay the owner's.
/// Where a task has matrix inequalities, its curved constraints are tangent planes among the rows.
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

  /// For a task with matrix inequalities: cuts off what its curved constraints forbid at this
  /// policy. Pointers to its rows from before are void.
  void cut(std::size_t task, const Eigen::VectorXd& policy);

 private:
  struct Grown {
    Eigen::MatrixXd rows;
    Eigen::VectorXd lengths;
  };

  const std::vector<ProjectionTask>* tasks_ = nullptr;
  double margin_ = 0;
  std::vector<Grown> grown_;  // of tasks with matrix inequalities
  std::vector<GainInequality::Tangent> tangents_;
  std::vector<Eigen::VectorXd> bounds_;
  std::vector<TightenedTask> tightened_;
};

/// What of a task's constraints is curved.
inline CurvedConstraints curved_constraints(const ProjectionTask& task) {
  return {task.inequalities(), task.rows(), task.limits(), task.slack_limit()};
}

/// A radius c' < c with ‖r‖ < c' for bounds r = b'(1 − margin), such that ‖r − y‖ ≤ c' implies
/// ‖b' − y‖ < c: the triangle inequality needs c' + margin ‖b'‖ < c. `anchor_slack` is ‖b'‖ < c.
double tightened_slack_limit(double anchor_slack, double slack_limit, double margin);

}  // namespace lifeguard
