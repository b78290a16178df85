#pragma once

#include <Eigen/Core>
#include <functional>
#include <utility>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/solve/basis_step.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"
#include "lifeguard/safety/solve/joint_step.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"
#include "lifeguard/safety/solve/spectral_clip.hpp"

namespace lifeguard {

/// The solver steps that a test can make fail.
enum class ProjectionStage { coefficient_step, basis_step, semidefinite_program };

/// How a solver step is made to fail: `failure` as if it reported one, the others as if it had
/// returned numbers that are wrong without saying so.
enum class ProjectionFault { none, failure, not_finite, unsafe };

/// For tests: asked before each solver step how it shall fail. Empty: never.
using FaultInjection = std::function<ProjectionFault(ProjectionStage)>;

enum class ProjectionStatus {
  not_run,
  converged,          // verified; another alternation would hardly lower the objective
  alternation_limit,  // verified; more alternations could lower the objective further
  solver_failed,      // verified; a solver step failed on the way, the point is what was reached
  kept_last,          // verified; no better point could be verified than the last one
  not_checked,        // mode none: the tasks are not verified, the spectrum only if asked for
};

const char* to_string(ProjectionStatus status);

/// How many tasks took each way, over all alternations of one call.
struct CoefficientPathCounts {
  long inside = 0, rows = 0, ball = 0, scaled = 0;
};

struct ProjectionResult {
  ProjectionStatus status = ProjectionStatus::not_run;
  Eigen::MatrixXd basis;         // L, d × k
  Eigen::MatrixXd coefficients;  // S, k × T
  double objective = kNaN;
  /// The objective at the start and after each accepted alternation; never increases.
  std::vector<double> objectives;
  int alternations = 0;  // accepted; with `descend` every new L with its S-step
  BasisPath basis_path = BasisPath::not_run;  // of the last accepted alternation
  CoefficientPathCounts coefficient_paths;
  long basis_iterations = 0;
  long coefficient_iterations = 0;
  /// Lower bounds over all tasks; NaN in mode none.
  double worst_row_margin = kNaN;
  double worst_slack_margin = kNaN;
  int worst_task = -1;
  int worst_row = -1;
  /// The smallest factor by which any s_t was scaled back to be verified; 1: none was.
  double retraction = kNaN;
  /// What of the given last point was not safe and had to be repaired first.
  int repaired_tasks = 0;
  bool repaired_basis = false;
  double seconds = kNaN;  // a record, decides nothing
};

/// Projects the learner's target (L̃, S̃) onto what is safe for all tasks:
///   min μ₁‖S − S̃‖² + μ₂‖L − L̃‖²  with  α_t = ᾱ_t + L s_t in the safe set of every task t,
///                                      p I ⪯ LᵀL ⪯ q I
/// (Eq. 6 of the paper with the signs of the Bregman divergence, p and q corrected). Whatever is
/// returned was verified after the last operation on it, with rigorous rounding bounds; if nothing
/// can be verified, s_t = 0 can, since anchors are strictly safe.
///
/// A pure function of its arguments: warm starts come from the last point, not from hidden memory.
/// In mode exact nothing is allocated once the largest sizes have been seen.
class Projection {
 public:
  /// Throws InvalidInput for settings outside their rules.
  explicit Projection(ProjectionSettings settings);

  const ProjectionSettings& settings() const { return settings_; }
  void inject_faults(FaultInjection faults) { faults_ = std::move(faults); }

  /// `last` is the point of the round before. Usually it is safe; where it is not (a new task,
  /// changed constraints), it is repaired first. The result lives until the next call.
  const ProjectionResult& project(const std::vector<ProjectionTask>& tasks,
                                  const Eigen::MatrixXd& target_basis,
                                  const Eigen::MatrixXd& target_coefficients,
                                  const Eigen::MatrixXd& last_basis,
                                  const Eigen::MatrixXd& last_coefficients);

  /// Limits the spectrum of one basis, e.g. at a learner's start. Always verified.
  void limit_spectrum(Eigen::MatrixXd& basis);

 private:
  struct Point {
    Eigen::MatrixXd basis;
    Eigen::MatrixXd coefficients;
    double objective = kNaN;
    double retraction = 1;
  };

  void check_sizes(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& target_basis,
                   const Eigen::MatrixXd& target_coefficients, const Eigen::MatrixXd& last_basis,
                   const Eigen::MatrixXd& last_coefficients) const;
  void tighten(const std::vector<ProjectionTask>& tasks);
  void repair(const std::vector<ProjectionTask>& tasks, Point& point);
  void project_exact(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& target_basis,
                     const Eigen::MatrixXd& target_coefficients);
  void descend(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& target_basis,
               const Eigen::MatrixXd& target_coefficients);
  void project_paper(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& target_basis,
                     const Eigen::MatrixXd& target_coefficients);
  void project_none(const Eigen::MatrixXd& target_basis,
                    const Eigen::MatrixXd& target_coefficients);
  /// False, and nothing changed but the margins, unless the verifier accepts the target.
  bool keep_target(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& target_basis,
                   const Eigen::MatrixXd& target_coefficients);
  /// S-step for all tasks at point.basis, verified; false when the basis itself is not.
  bool complete(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& target_basis,
                const Eigen::MatrixXd& target_coefficients, Point& point);
  void coefficient_step(const ProjectionTask& task, std::size_t index, double basis_length,
                        const Eigen::Ref<const Eigen::VectorXd>& target, Point& point);
  bool make_room(const ProjectionTask& task, std::size_t index, double reach, long k);
  double retract(const ProjectionTask& task, double basis_length, const Eigen::MatrixXd& basis,
                 Eigen::Ref<Eigen::VectorXd> coefficients);
  /// Bounds on the singular values, with room for the verifier's rounding.
  std::pair<double, double> spectrum_limits(const Eigen::MatrixXd& basis) const;
  double objective(const Eigen::MatrixXd& basis, const Eigen::MatrixXd& coefficients,
                   const Eigen::MatrixXd& target_basis,
                   const Eigen::MatrixXd& target_coefficients) const;
  ProjectionFault fault(ProjectionStage stage) const;
  void record_margins(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& basis,
                      const Eigen::MatrixXd& coefficients);

  ProjectionSettings settings_;
  FaultInjection faults_;
  ProjectionResult result_;
  TaskVerifier verifier_;
  SpectrumVerifier spectrum_;
  SpectralClip clip_;
  BasisStep basis_step_;
  JointStep joint_step_;
  CoefficientStep coefficient_step_;
  std::vector<CoefficientMemory> memories_;
  std::vector<Eigen::VectorXd> bounds_;  // tightened
  std::vector<double> slack_limits_;
  Eigen::VectorXd roomy_bounds_;
  double roomy_slack_limit_ = 0;
  std::vector<BasisStepTask> step_tasks_;
  RowMajorMatrix b_rows_;
  Eigen::VectorXd policy_;
  Eigen::VectorXd image_;
  Eigen::VectorXd wanted_;
  Point present_;
  Point next_;
  Point direct_;
  bool failed_ = false;
};

}  // namespace lifeguard
