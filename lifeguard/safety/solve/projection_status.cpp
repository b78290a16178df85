#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

const char* to_string(ProjectionStatus status) {
  switch (status) {
    case ProjectionStatus::not_run:
      return "not_run";
    case ProjectionStatus::converged:
      return "converged";
    case ProjectionStatus::alternation_limit:
      return "alternation_limit";
    case ProjectionStatus::time_limit:
      return "time_limit";
    case ProjectionStatus::too_large:
      return "too_large";
    case ProjectionStatus::solver_failed:
      return "solver_failed";
    case ProjectionStatus::kept_last:
      return "kept_last";
    case ProjectionStatus::not_checked:
      return "not_checked";
  }
  return "unknown";
}

}  // namespace lifeguard
