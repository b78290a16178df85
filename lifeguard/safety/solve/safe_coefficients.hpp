#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/fault_injection.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"
#include "lifeguard/safety/solve/tightened_tasks.hpp"

namespace lifeguard {

/// The S-step of one task whose answer is verified: solved; where curved constraints are violated,
/// cut and solved again; solved once more with room where rounding errors exceed the margin; and
/// scaled towards 0, where the anchor is, if it is still not accepted.
class SafeCoefficients {
 public:
  /// Solver steps fail from then on.
  void set_deadline(const Deadline& deadline) { step_.set_deadline(deadline); }
  /// All tasks after this one see this basis.
  void set_basis(const Eigen::MatrixXd& basis);

  struct Answer {
    CoefficientPath path = CoefficientPath::not_run;
    /// The factor by which the coefficients were scaled back to be verified; 1: they were not.
    double retraction = 1;
    long iterations = 0;
  };
  /// The verified s nearest to `target`. `coefficients` comes in as a guess, for speed only.
  Answer solve(const std::vector<ProjectionTask>& tasks, TightenedTasks& tightened,
               std::size_t task, const Eigen::Ref<const Eigen::VectorXd>& target,
               ProjectionFault fault, const Eigen::Ref<Eigen::VectorXd>& coefficients);

  TaskMargin margin(const ProjectionTask& task,
                    const Eigen::Ref<const Eigen::VectorXd>& coefficients) {
    return verifier_.margin(task, *basis_, basis_length_, coefficients);
  }

 private:
  Answer solve_rows(const ProjectionTask& task, const TightenedTask& tightened,
                    const Eigen::Ref<const Eigen::VectorXd>& target, ProjectionFault fault,
                    Eigen::Ref<Eigen::VectorXd> coefficients);
  bool make_room(const ProjectionTask& task, const TightenedTask& tightened, double reach);
  double retract(const ProjectionTask& task, Eigen::Ref<Eigen::VectorXd> coefficients);
  double longest_safe_scale(const ProjectionTask& task,
                            const Eigen::Ref<const Eigen::VectorXd>& coefficients);

  const Eigen::MatrixXd* basis_ = nullptr;
  double basis_length_ = 0;
  TaskVerifier verifier_;
  CoefficientStep step_;
  CoefficientMemory memory_;
  RowMajorMatrix b_rows_;  // A L
  Eigen::VectorXd roomy_bounds_;
  double roomy_slack_limit_ = 0;
  Eigen::VectorXd policy_;
  Eigen::VectorXd image_;
  Eigen::VectorXd wanted_;
};

/// What a broken solver might hand on, for tests.
void corrupt(ProjectionFault fault, Eigen::Ref<Eigen::MatrixXd> values);

}  // namespace lifeguard
