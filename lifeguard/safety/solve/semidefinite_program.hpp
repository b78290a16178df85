#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"

namespace lifeguard {

enum class SemidefiniteStatus {
  not_run,
  solved,           // to the solver's accuracy: verify what must hold
  infeasible,       // the solver says that no y obeys all
  unbounded,        // the solver says that the objective has no largest value
  not_converged,    // y is where it gave up: useful only if it is verified
  deadline_passed,  // y means nothing
  failed,           // numbers that are not finite: y means nothing
};

const char* to_string(SemidefiniteStatus status);

struct SemidefiniteResult {
  SemidefiniteStatus status = SemidefiniteStatus::not_run;
  Eigen::VectorXd y;
  double objective = kNaN;  // cᵀy
  /// For each condition, how much it stands in the way of a larger objective: the trace of its
  /// multiplier, 0 for one that does not matter.
  std::vector<double> weights;

  /// Whether y is worth looking at.
  bool has_candidate() const {
    return status == SemidefiniteStatus::solved || status == SemidefiniteStatus::not_converged;
  }
};

/// max cᵀy with symmetric matrices F(y) = F_0 + Σ y_i F_i ⪰ 0 and numbers f_0 + fᵀy ≥ 0, for small
/// dense matrices. Solved by CSDP (Borchers 1999) to about eight digits; nothing may rest on that.
class SemidefiniteProgram {
 public:
  /// Throws InvalidInput unless there is at least one variable.
  explicit SemidefiniteProgram(int variables);

  int variables() const { return variables_; }
  /// The matrix as a function of y, which must be affine: F_0 and F_i are taken from its values at
  /// 0 and at unit vectors. Returns the place of the condition in the weights. Throws InvalidInput
  /// unless the values are finite, square and symmetric up to rounding.
  int require_semidefinite(const std::function<Eigen::MatrixXd(const Eigen::VectorXd&)>& matrix);
  /// constant + factorsᵀy ≥ 0. Returns its place in the weights.
  int require_not_negative(double constant, const Eigen::VectorXd& factors);
  /// c; 0 by default.
  void maximise(const Eigen::VectorXd& objective);

  SemidefiniteResult solve(const Deadline& deadline = {}) const;

 private:
  struct Condition {
    Eigen::MatrixXd constant;  // 1 × 1 for a number
    std::vector<Eigen::MatrixXd> factors;
  };

  int variables_;
  Eigen::VectorXd objective_;
  std::vector<Condition> conditions_;
};

}  // namespace lifeguard
