#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// A task as cross-validation needs it: something that can be played, simulated or real.
struct PlayableTask {
  Eigen::VectorXd anchor;
  PerAction sigma;
  /// Fills `out` with trajectories of the policy. `round` counts from 0 and differs between calls,
  /// so that it can seed a simulator.
  std::function<void(const GaussianPolicy& policy, int round, Trajectories& out)> play;
  /// Every policy that is played obeys it.
  std::optional<SafeSet> safe_set = {};
  /// What its actions are limited to.
  ActionRange range = {};
};

struct CrossValidationSettings {
  /// The numbers k of columns to try, each in [1, d].
  std::vector<int> basis_sizes;
  /// Rounds on the tasks that are not held out, in turn. At least 0.
  int training_rounds = 20;
  /// Rounds on the held-out task; k is judged by the mean cost in these. At least 1.
  int validation_rounds = 5;

  void validate(int parameters) const;
};

struct CrossValidationResult {
  /// The number of columns with the lowest cost; the smallest of equals.
  int basis_size = 0;
  double cost = kNaN;
  /// Mean cost over the held-out tasks, for each basis size of the settings in turn.
  std::vector<double> costs;
};

/// Chooses k as the paper does, over a few tasks (three there): each task in turn is held out while
/// a new learner trains on the others, and then played. At least 2 tasks.
CrossValidationResult cross_validate_basis_size(int features, int actions,
                                                const LearnerSettings& settings,
                                                const std::vector<PlayableTask>& tasks,
                                                const CrossValidationSettings& validation);

}  // namespace lifeguard
