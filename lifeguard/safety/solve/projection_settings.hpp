#pragma once

namespace lifeguard {

class SettingVisitor;

/// How the nearest safe knowledge is found.
enum class ProjectionMode {
  exact,  // alternating exact L- and S-steps
  paper,  // the paper's semi-definite program for LᵀL, then the S-step
  none,   // the target as it is; no safety
};

/// The safety projection: spectrum, weights, and when it ends.
struct ProjectionSettings {
  ProjectionMode mode = ProjectionMode::exact;
  /// p I ⪯ LᵀL ⪯ q I, 0 < p < q, q − p beyond rounding. With s ~ N(0, I) these are variances of
  /// gains: tasks are believed to differ by no less than √p in any direction, and no more than √q.
  double p = 1e-6;
  double q = 100.0;
  /// Weights of the distance μ₁‖S − S̃‖² + μ₂‖L − L̃‖², both > 0.
  double mu1 = 1.0;
  double mu2 = 1.0;
  /// Alternations end here, ≥ 1 …
  int max_alternations = 10;
  /// … or when one lowers the objective by less than this part of it, ≥ 0.
  double objective_tolerance = 1e-6;
  /// The solvers work with b' (1 − margin), 0 < margin < 0.1: room for their rounding errors, the
  /// same in both steps, since different margins let the objective increase.
  double margin = 1e-10;
  /// Whether mode exact uses what alternation leaves of max_alternations for steps in L and S
  /// together (JointStep). They end in a stationary point of the joint problem, where alternation
  /// may not: a row that L and s could both give way to holds each of them where it is.
  bool descend = false;

  /// Whether mode none keeps p and q all the same.
  bool none_limits_spectrum = false;

  /// Describes each setting: name, rule, unit, meaning.
  void visit(SettingVisitor& visitor);
  /// Also what no single setting can tell: p < q.
  void validate() const;
  bool operator==(const ProjectionSettings&) const = default;
};

/// How a projection ended, and what is known of its point.
enum class ProjectionStatus {
  not_run,
  converged,          // verified; another alternation would hardly lower the objective, and with
                      // `descend` no small step in L and S together would
  alternation_limit,  // verified; more alternations could lower the objective further
  time_limit,         // verified; the best point when the time was over
  too_large,      // verified; alternation has converged, but L has too many numbers for steps in
                  // L and S together
  solver_failed,  // verified; a solver step failed on the way, the point is what was reached
  kept_last,      // verified; no better point could be verified than the last one
  not_checked,    // mode none: the tasks are not verified, the spectrum only if asked for
};

/// In words.
const char* to_string(ProjectionStatus status);

/// Which part of the L-step's cascade gave the basis.
enum class BasisPath {
  not_run,
  inside,       // the target itself is feasible
  rows,         // rows or balls bind, the spectrum does not: a least-distance program
  spectrum,     // the spectrum binds: the dual was solved, the result is the global optimum
  short_steps,  // the dual has a gap for this target: proximal steps, a stationary point
  kept,         // the solver failed: the basis it started from
  direct,       // not this step: the projection took the target with its spectrum limited
};

/// Which part of the S-step's cascade gave the coefficients of a task.
enum class CoefficientPath {
  not_run,
  inside,  // the target itself is feasible
  rows,    // the rows bind: a least-distance program
  ball,    // the slack ball binds too: a search for its multiplier
  scaled,  // the solver failed: feasible, on the way from 0 to the last iterate, not optimal
};

/// How many tasks took each way, over all alternations of one projection.
struct CoefficientPathCounts {
  long inside = 0, rows = 0, ball = 0, scaled = 0;
};

}  // namespace lifeguard
