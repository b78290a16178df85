#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Rows that cannot hold together, with the proof.
struct Contradiction {
  std::vector<int> rows;
  std::vector<std::string> names;
  /// One for each of `rows`; the largest has magnitude 1. Rounded from the numbers that were
  /// verified. For `empty` and `no_interior` they are positive with Σ y_i a_i = 0; for
  /// `slack_limit_excludes_all` rows of both signs occur.
  Eigen::VectorXd multipliers;
  /// The same as integers in decimal, exact up to a common factor. Not for the slack limit.
  std::vector<std::string> exact_multipliers;
  /// Σ y_i b_i: the rows add up to 0 ≤ this. For the slack limit: the least norm that the slack of
  /// a safe policy would have.
  double combined_limit = kNaN;
};

/// Whether a set has strictly safe policies, and if not, why.
enum class FeasibilityStatus {
  not_run,
  /// `point` is proven to be strictly safe.
  strictly_feasible,
  /// A α ≤ b has no solution; `contradiction` proves it.
  empty,
  /// A α ≤ b has solutions, but none with a margin; `contradiction` proves it with Σ y_i b_i = 0.
  no_interior,
  /// A α ≤ b has solutions, but all have ‖b - A α‖ > c_max; `contradiction` proves it.
  slack_limit_excludes_all,
  /// Neither a strictly safe vector of doubles nor a contradiction was found: the set is thinner
  /// than doubles resolve, or c_max is at its least possible value up to rounding.
  too_thin,
  /// The deadline passed before any of this was known.
  out_of_time,
};

/// In words.
const char* to_string(FeasibilityStatus status);

/// What check_feasibility found, with its proof.
struct FeasibilityResult {
  FeasibilityStatus status = FeasibilityStatus::not_run;
  /// Strictly safe when `strictly_feasible`, else empty. Without a slack limit, or when the slack
  /// limit allows it, the Chebyshev centre of A α ≤ b; else a point near the centre of the set.
  Eigen::VectorXd point;
  /// The ball of this radius around `point` obeys all rows (up to rounding; a lower bound).
  double radius = kNaN;
  Contradiction contradiction;

  /// One sentence for a person; names the contradicting rows.
  std::string message() const;
};

/// Whether a set has strictly safe policies. `empty` and `no_interior` are decided in exact
/// arithmetic. For a set without bounds the radius is limited to twice the largest distance of a
/// row from the origin, at least 2.
FeasibilityResult check_feasibility(const SafeSet& set, const Deadline& deadline = {});

/// Whether a set ends in every direction.
enum class BoundednessStatus {
  not_run,
  bounded,
  /// The set, if not empty, is unbounded along `direction`.
  unbounded,
};

/// What check_boundedness found.
struct BoundednessResult {
  BoundednessStatus status = BoundednessStatus::not_run;
  /// When `unbounded`: largest entry 1, rounded from the exact direction.
  Eigen::VectorXd direction;
};

/// Whether the set is bounded, in exact arithmetic. With a finite slack limit it is if A has full
/// column rank; else if no v ≠ 0 has A v ≤ 0.
BoundednessResult check_boundedness(const SafeSet& set);

/// Where an anchor comes from.
enum class AnchorSource { none, given, closed_loop, origin, centre };

/// In words.
const char* to_string(AnchorSource source);

/// A policy that is strictly safe before anything was observed (docs/mathematics.md, §2).
struct Anchor {
  AnchorSource source = AnchorSource::none;
  /// Empty when `none`.
  Eigen::VectorXd parameters;
  /// Run only if neither the given policy nor the origin would do; says why there is none.
  FeasibilityResult feasibility;
};

/// The given policy if it is strictly safe; else the controller that a closed loop of the set came
/// with, if it is; else the origin if it is; else a point from check_feasibility; else none.
Anchor choose_anchor(const SafeSet& set, const std::optional<Eigen::VectorXd>& given = {},
                     const Deadline& deadline = {});

}  // namespace lifeguard
