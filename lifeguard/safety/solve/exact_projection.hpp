#pragma once

#include "lifeguard/safety/solve/basis_step.hpp"
#include "lifeguard/safety/solve/joint_descent.hpp"
#include "lifeguard/safety/solve/projection_method.hpp"
#include "lifeguard/safety/solve/safe_search.hpp"

namespace lifeguard {

/// ProjectionMode::exact: L for fixed S and S for fixed L in turn, each step solved exactly; then,
/// if asked for, a descent in both together.
class ExactProjection : public ProjectionMethod {
 public:
  void project(SafeSearch& search) override;

 private:
  void alternate(SafeSearch& search, int most, double tolerance);
  BasisPath solve_basis(SafeSearch& search);
  bool target_basis_is_better(SafeSearch& search, bool next_is_safe);
  void descend(SafeSearch& search);
  JointDescent::Outcome descend_from(SafeSearch& search, double inside);

  BasisStep basis_step_;
  JointDescent descent_;
  ProjectionPoint next_;
  ProjectionPoint direct_;
};

}  // namespace lifeguard
