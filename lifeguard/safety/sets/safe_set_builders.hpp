#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Builders of safe sets. Each gives rows A α ≤ b without a slack limit; combine them with
/// intersect(). α stacks the rows of the gain matrix K, so α(a F + f) = K(a, f) for F features.
/// All throw InvalidInput on arguments that make no sense. Limits that contradict each other are
/// not refused here: check_feasibility() names the rows and proves the contradiction.

/// "gain(a, f)" for every K(a, f), in the order of α.
std::vector<std::string> default_gain_names(int actions, int features);

/// lower ≤ α ≤ upper. An infinite bound gives no row. The rows are named after the gains:
/// "<gain> upper limit", "<gain> lower limit".
SafeSet gain_box(const Eigen::VectorXd& lower, const Eigen::VectorXd& upper,
                 const std::vector<std::string>& gain_names);

/// Every gain stays between `from` and `reach` times its value in `best`, from < reach; one near 0
/// in `best` has room of a twentieth of the largest on both sides. With reach < 1 this cuts `best`
/// off: conservative limits around a controller one trusts. With from > 0 it demands a share of it.
SafeSet gain_box_towards(const Eigen::VectorXd& best, double reach, double from,
                         const std::vector<std::string>& gain_names);

/// normalᵀα ≤ limit.
SafeSet half_space(const Eigen::VectorXd& normal, double limit, const std::string& name);

/// The mean action K Φ(x) stays within [action_low, action_high] for every state of a box.
struct ActionLimits {
  Eigen::VectorXd state_low;
  Eigen::VectorXd state_high;
  /// Features see x - goal.
  Eigen::VectorXd goal;
  /// Linear in the state, with or without bias. Products of states are refused: their extreme
  /// values over a box need not be at its corners.
  Features features = {};
  Eigen::VectorXd action_low;
  Eigen::VectorXd action_high;
  /// Empty means "action 0", "action 1" …
  std::vector<std::string> action_names = {};
  /// Refused when more corners than this would be needed.
  long max_rows = 4096;
};

/// Exact: K obeys the rows if and only if the limits hold on the whole box. An action linear in
/// the state is extreme at a corner, which gives 2 · 2^n rows for each action and n states that
/// vary; those that the others imply are left out (half of them when box and limits are symmetric
/// about 0). No fewer rows are exact: each that stays is a facet. A state that does not vary in the
/// box costs nothing.
SafeSet action_limits(const ActionLimits& limits);

/// A mass on a spring with a damper under u = K (x - goal): m ẍ = gain u - spring x - damping ẋ.
struct MassStability {
  double spring_newtons_per_metre = 0;
  double damping_newton_seconds_per_metre = 0;
  double mass_kilograms = 0;
  double actuator_gain = 1;
  /// Deviations must fade at least like exp(-decay_rate t); 0 asks for stability only.
  double decay_rate_per_second = 0;
  /// If not 0, semi-implicit Euler steps of this length (velocity first) must be stable as well.
  double time_step_seconds = 0;
  /// Of the policy; a bias moves the equilibrium and has no say in stability.
  Features features = {};
};

/// Stability by Routh and Hurwitz. The closed loop's polynomial m λ² + D λ + S, with
/// D = damping - gain K_v and S = spring - gain K_x, has all roots left of -ρ if and only if
///   D - 2 m ρ > 0 and S - ρ D + m ρ² > 0,
/// which is linear in the gains. Steps of length h are stable (Jury) if and only if also
///   2 h D + h² S < 4 m.
/// The rows are the closed half-spaces; a certificate asks for a margin above 0, as does this.
SafeSet mass_stability(const MassStability& plant);

/// One condition directionᵀ K Φ(x) ≤ limit at a given state x. A control barrier function h for
/// ẋ = f(x) + g(x) u asks ∇h (f + g u) ≥ -κ h, so direction = -(∇h g)ᵀ and limit = ∇h f + κ h.
struct BarrierCondition {
  Eigen::VectorXd state;
  Eigen::VectorXd direction;
  double limit = 0;
  std::string name;
};

/// The rows direction ⊗ Φ(x). A condition without effect on any gain (direction ⊗ Φ(x) = 0) is left
/// out if it holds and refused if it cannot.
SafeSet barrier_rows(const std::vector<BarrierCondition>& conditions, const Features& features,
                     const Eigen::VectorXd& goal);

}  // namespace lifeguard
