#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"

namespace lifeguard {

struct Task;

/// What a safe set in a configuration does not say itself.
struct SafeSetContext {
  int actions = 1;
  Features features = {};
  /// Number of features of the system's own, in whose gains the set lies; 0: those of `features`.
  int own_features = 0;
  /// One entry for each state.
  Eigen::VectorXd goal;
  /// The plant for a [mass_stability] table that leaves numbers out.
  std::optional<MassStability> plant;
  /// The LQR gains as parameters, for an [lqr_box] table.
  std::optional<Eigen::VectorXd> lqr = {};
  /// The machine as it is known, and its parameters that a tolerance is about, for a [closed_loop]
  /// table.
  const Task* machine = nullptr;
  std::vector<std::string> uncertain_parameters = {};
  /// A [closed_loop] table is only read, not solved: mistakes in it are found, and the set lacks
  /// it.
  bool only_read = false;

  int inputs() const {
    return own_features > 0 ? own_features : features.count(static_cast<int>(goal.size()));
  }
  int parameters() const { return actions * inputs(); }
};

/// The safe set that a TOML text describes; docs/safe_sets.md lists the keys. Each table adds rows,
/// and the set is their intersection. Throws InvalidInput naming the key, its value and the rule:
/// "half_space[1].limit = 'high': must be a number". Keys that are not known are refused.
SafeSet safe_set_from_toml(std::string_view text, const SafeSetContext& context);

}  // namespace lifeguard
