#include "lifeguard/safety/solve/no_projection.hpp"

#include "lifeguard/safety/solve/safe_search.hpp"

namespace lifeguard {

void NoProjection::project(SafeSearch& search) {
  if (!search.target_is_finite()) {
    search.start_from_last();
    return;
  }
  search.accept_target_unchecked();
  search.result().status = ProjectionStatus::not_checked;
}

}  // namespace lifeguard
