#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace lifeguard {

/// What a statement about a plant covers.
enum class PlantStatement {
  /// Linear models near the goal: nothing is said of the nonlinear machine.
  linear,
  /// Every step of the nonlinear machine inside its limits, up to rounding.
  nonlinear,
};

/// All that a machine may do in one step, in deviations x from its goal and u from the action that
/// holds it there:
///   x⁺ = A x + B u + Σ_j g_j δ_j (f_jᵀ x + h_jᵀ u),   (A, B) ∈ conv{(A_i, B_i)},  |δ_j| ≤ 1,
/// where (A, B) and δ may change from step to step. Holds while every |x_s| ≤ state_limits_s and
/// every |w_rᵀ u| ≤ action_limits_r, w_rᵀ the rows of action_directions.
struct UncertainPlant {
  /// One linear model of the mixture.
  struct Corner {
    std::string name;
    Eigen::MatrixXd a;  // n × n
    Eigen::MatrixXd b;  // n × m
  };

  std::vector<Corner> corners;
  Eigen::MatrixXd spreads;            // g_j as columns, n × c; c = 0: the corners say all
  Eigen::MatrixXd state_factors;      // f_jᵀ as rows, c × n
  Eigen::MatrixXd action_factors;     // h_jᵀ as rows, c × m
  Eigen::VectorXd state_limits;       // n; infinity: none
  Eigen::MatrixXd action_directions;  // w_rᵀ as rows
  Eigen::VectorXd action_limits;      // one for each of them
  std::vector<std::string> action_limit_names;  // likewise
  PlantStatement statement = PlantStatement::linear;

  /// n, m and c.
  int states() const { return static_cast<int>(corners.front().a.rows()); }
  int actions() const { return static_cast<int>(corners.front().b.cols()); }
  int channels() const { return static_cast<int>(spreads.cols()); }
  /// Throws InvalidInput unless there is a corner, sizes agree, and all numbers but limits are
  /// finite; limits are positive.
  void validate() const;
  /// The same plant; channels and action limits that it does not have have their sizes, n × 0.
  UncertainPlant with_sizes() const;

  bool operator==(const UncertainPlant& other) const;
};

}  // namespace lifeguard
