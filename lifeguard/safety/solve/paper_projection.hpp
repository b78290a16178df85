#pragma once

#include "lifeguard/safety/solve/projection_method.hpp"
#include "lifeguard/safety/solve/safe_search.hpp"

namespace lifeguard {

/// ProjectionMode::paper: one pass as in Algorithm 1, the basis from the paper's semi-definite
/// program (paper_basis), then the S-steps. It may raise the objective, since the program ignores
/// direction.
class PaperProjection : public ProjectionMethod {
 public:
  void project(SafeSearch& search) override;

 private:
  ProjectionPoint next_;
};

}  // namespace lifeguard
