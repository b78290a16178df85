#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Gains that a set must leave room for.
struct RequiredGains {
  std::string name;
  Eigen::MatrixXd gains;  // actions × states
};

/// What a machine that is known up to a tolerance has to do, in deviations from its goal and from
/// the action that holds it.
struct ClosedLoopSettings {
  /// λ: the distance to the goal shrinks by this factor a step, in the norm of P.
  double decay = 0.99;
  /// From all of this box the machine stays within its limits for ever.
  Eigen::VectorXd start_low;
  Eigen::VectorXd start_high;
  /// Less of it will do: the guaranteed box is at least this share of it.
  double least_start_share = 1;
  /// Exploration noise is clipped at ± this, one entry for each action; empty for none.
  Eigen::VectorXd noise_limits;
  /// All of these will lie strictly inside the set, such as the LQR controllers of the plant and of
  /// the corners of its tolerance. None: some gains will.
  std::vector<RequiredGains> required_gains;
  /// The controller to start from. None: the gains deepest inside the set.
  std::optional<Eigen::MatrixXd> anchor;

  /// Throws InvalidInput naming the field, its value and the rule.
  void validate(const UncertainPlant& plant) const;
};

/// A set of gains for a machine, as numbers that prove it. With E = {x : xᵀPx ≤ 1}, for every plant
/// of the inclusion and all gains that obey the inequalities, whatever noise within its limits is
/// added to the actions: from E the state never leaves E, E lies within the state limits, no action
/// limit is passed, and without noise ‖x‖_P shrinks by λ a step. check_closed_loop
/// (prove/certificate.hpp) proves all of this but the inequalities for the gains at hand,
/// which is up to whoever picks gains. A value.
struct ClosedLoop {
  UncertainPlant plant;
  double decay = 1;           // λ
  Eigen::MatrixXd p;          // P
  Eigen::VectorXd start_low;  // the guaranteed box
  Eigen::VectorXd start_high;
  double start_share = 0;  // of the box that was asked for
  Eigen::VectorXd noise_limits;
  /// For each corner of the plant, positive multipliers d_j of the channels and α_k of the noise,
  /// and a W, with
  ///   [[W - P, -P N], [-Nᵀ P, diag(d, α) - Nᵀ P N]] ⪰ 0,   λ² + Σ α_k ≤ 1,
  /// where the columns of N are the spreads g_j of the channels and then what noise at its limits
  /// adds to a step: n_a times column a of B, for each action whose product is not 0, and
  /// (Σ_a |h_ja| n_a) g_j for each channel with h_jᵀn not 0. So for any |ν_k| ≤ 1
  ///   ‖y + G w + noise‖²_P ≤ yᵀW y + Σ d_j w_j² + Σ α_k.
  std::vector<Eigen::VectorXd> multipliers;
  std::vector<Eigen::VectorXd> noise_multipliers;
  std::vector<Eigen::MatrixXd> inflated;
  /// One for each corner of the plant: Θ ⪰ [A B]ᵀ W [A B] + [F H]ᵀ D [F H], Q ⪯ λ² P.
  std::vector<GainInequality> contractions;
  /// One for each action limit: Θ ⪰ diag(0, w wᵀ), Q ⪯ (limit - noise)² P.
  std::vector<GainInequality> action_bounds;
  /// Gains strictly inside.
  Eigen::MatrixXd anchor;

  /// contractions, then action_bounds.
  std::vector<GainInequality> inequalities() const;
  /// Whether a deviation from the goal lies in E, never by rounding alone.
  bool guarantees(const Eigen::VectorXd& deviation) const;
  /// The largest GainInequality::ratio over all inequalities, up to rounding: the gains are inside
  /// if it is at most 1, and 1 less it is the room.
  double largest_ratio(const Eigen::MatrixXd& gains) const;

  bool operator==(const ClosedLoop& other) const;
};

/// Whether make_closed_loop found a set.
enum class ClosedLoopStatus {
  found,            // verified in doubles, with room for their roundings
  infeasible,       // as far as the solver can tell; the result says what would be feasible
  solver_failed,    // nothing is known
  deadline_passed,  // nothing is known
};

/// In words.
const char* to_string(ClosedLoopStatus status);

/// What make_closed_loop found, or what stands in its way.
struct ClosedLoopResult {
  ClosedLoopStatus status = ClosedLoopStatus::solver_failed;
  std::optional<ClosedLoop> closed_loop;
  /// In words: what was achieved, or what stands in the way and what would do.
  std::string message;
  /// For infeasible ones, each with everything else as asked for; NaN if nothing works.
  double smallest_decay = kNaN;
  double largest_start_share = kNaN;
  double largest_noise_share = kNaN;
  /// Pairs of required gains and corners that stand against each other, the worst first.
  std::vector<std::string> conflicts;
};

/// Chooses P by semi-definite programs such that all required gains lie inside with as much room as
/// there is, then verifies it. Throws InvalidInput for settings that do not fit the plant.
ClosedLoopResult make_closed_loop(const UncertainPlant& plant, const ClosedLoopSettings& settings,
                                  const Deadline& deadline = {});

/// The largest share of the noise limits for which there is still a set with this share of the
/// start box, up to the solver's accuracy, and as if the action limits did not see the noise: by
/// how much a machine with a set could explore more. NaN without noise, or if the solver fails.
double largest_noise_share(const UncertainPlant& plant, const ClosedLoopSettings& settings,
                           double start_share, const Deadline& deadline = {});

}  // namespace lifeguard
