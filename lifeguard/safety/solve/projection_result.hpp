#pragma once

#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

struct ProjectionResult {
  ProjectionStatus status = ProjectionStatus::not_run;
  Knowledge knowledge;
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

}  // namespace lifeguard
