#pragma once

#include "lifeguard/safety/solve/projection_method.hpp"

namespace lifeguard {

/// ProjectionMode::none: the target as it is, for comparisons; no safety.
class NoProjection : public ProjectionMethod {
 public:
  void project(SafeSearch& search) override;
};

}  // namespace lifeguard
