#pragma once

namespace lifeguard {

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
