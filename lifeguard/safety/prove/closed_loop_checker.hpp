#pragma once

#include <string>
#include <vector>

#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {

/// Something that does not hold of a closed-loop set.
struct ClosedLoopFinding {
  /// For a person; names the corner, limit or state.
  std::string message;
};

/// Proves, in rational arithmetic without any rounding, all that a closed-loop set claims except
/// that particular gains obey its inequalities:
///   P ≻ 0; E = {xᵀPx ≤ 1} lies within the state limits and holds the start box;
///   for each corner of the plant the relation of P, W and the multipliers of channels and noise,
///   that noise leaves E invariant, λ² + Σ α ≤ 1, and Θ and Q of its inequality;
///   Θ and Q of the inequality of each action limit.
/// What follows for gains that obey the inequalities is said at ClosedLoop. Shares no code with
/// what makes such sets. Empty means: all of it holds, exactly.
std::vector<ClosedLoopFinding> check_closed_loop(const ClosedLoop& closed_loop);

}  // namespace lifeguard
