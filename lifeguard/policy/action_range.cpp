#include "lifeguard/policy/action_range.hpp"

#include <fmt/format.h>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void ActionRange::require_fits(int actions) const {
  if (low.size() == 0 && high.size() == 0) return;
  require_size("action_low", low.size(), actions);
  require_size("action_high", high.size(), actions);
  for (Eigen::Index a = 0; a < low.size(); ++a) {
    require(low(a) < high(a), indexed("action_low", a), low(a),
            fmt::format("must be below action_high[{}] = {}", a, high(a)));
  }
}

}  // namespace lifeguard
