#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "lifeguard/core/stop.hpp"

namespace lifeguard {

/// Linear programs about A α ≤ b, solved in integers. A double is an integer times a power of two,
/// so every answer below is exact for the numbers given: no tolerance decides whether a set is
/// empty. They run once when a task or its constraints are new, never in a round. The simplex
/// method is run in doubles first and its last basis is taken over; integer pivoting (Edmonds 1967,
/// Bareiss 1968) keeps the numbers as small as determinants of A are.
///
/// Rows must be finite and not zero, as those of a SafeSet are. Large programs take long: where a
/// deadline can be given, Deadline::Passed is thrown soon after it.

/// The deepest point: maximise r with a_iᵀα + n_i r ≤ b_i and r ≤ max_radius. With n_i = ‖a_i‖ it
/// is the Chebyshev centre. By duality the smallest bᵀy with Aᵀy = 0, nᵀy = 1, y ≥ 0 is the same r;
/// for r ≤ 0 such a y proves that nothing lies strictly inside (Farkas, Motzkin).
struct DeepestPoint {
  /// The sign of r: -1 means A α ≤ b has no solution, 0 that it has none strictly inside, 1 that it
  /// has.
  int radius_sign = 0;
  /// Rounded from the exact solution. With sign -1 the point is the least bad one.
  double radius = 0;
  Eigen::VectorXd point;
  /// The rows with y_i > 0. For sign ≤ 0 they contradict each other, and without any one of them
  /// the others do not.
  std::vector<int> rows;
  /// Their y_i, scaled so that the largest is 1, rounded.
  Eigen::VectorXd multipliers;
  /// The same y_i, scaled to integers without a common divisor, in decimal: exact, for whoever
  /// wants to check Σ y_i a_i = 0 and Σ y_i b_i ≤ 0.
  std::vector<std::string> exact_multipliers;
};

DeepestPoint deepest_point(const Eigen::MatrixXd& a, const Eigen::VectorXd& b,
                           const Eigen::VectorXd& norms, double max_radius,
                           const Deadline& deadline = {});

/// A direction v ≠ 0 with A v = 0, scaled so that its largest entry is 1, rounded from the exact
/// one; empty if there is none.
Eigen::VectorXd null_direction(const Eigen::MatrixXd& a);

/// A direction v ≠ 0 with A v ≤ 0, so that A α ≤ b is unbounded along it; scaled, rounded, and
/// empty if there is none, as in null_direction.
Eigen::VectorXd unbounded_direction(const Eigen::MatrixXd& a);

/// Whether some y near the given one proves that no α has b - A α ≥ 0 and ‖b - A α‖ ≤ c:
///   Aᵀy = 0 and bᵀy > c ‖max(y, 0)‖,
/// for then bᵀy = sᵀy ≤ ‖s‖ ‖max(y, 0)‖ for every slack s = b - A α ≥ 0. The entries of y in as
/// many independent rows as A has are replaced, so that Aᵀy = 0 holds exactly; the rest is checked
/// exactly as well. On success y is replaced by the proof, rounded.
bool proves_slack_above(const Eigen::MatrixXd& a, const Eigen::VectorXd& b, double c,
                        Eigen::VectorXd& y, const Deadline& deadline = {});

}  // namespace lifeguard
