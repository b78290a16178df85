#pragma once

namespace lifeguard {

/// How often malloc has been called by this process so far; -1 where it cannot be counted (under a
/// sanitizer, which brings its own). Eigen and operator new both end there.
long allocation_count();

}  // namespace lifeguard
