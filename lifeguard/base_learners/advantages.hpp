#pragma once

#include <vector>

#include "lifeguard/base_learners/bootstrap.hpp"
#include "lifeguard/base_learners/round_settings.hpp"
#include "lifeguard/base_learners/state_baseline.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// What compute_advantages found out on the way.
struct AdvantageSummary {
  /// Mean over the batch of C(τ) = (1/M) Σ_m c_m (Trajectories::mean_cost).
  double mean_cost = kNaN;
  /// The standard error of that mean; 0 for a single trajectory. With cuts that of a sum weighted
  /// by observation_weights, W_i = Σ_m ω_m (c_m - mean of step m) over the known steps of
  /// trajectory i, taking the weights for given.
  double cost_error = 0;
  /// Live steps as a share of those that the batch would have had if no trajectory had been cut
  /// short (complete_totals); 1 without cuts. A sum over live steps with `step_weights` is this
  /// share of the whole, in expectation.
  double observed_share = 1;
  /// Cost-to-go per unit of advantage: the standard deviation that was divided out, 1 without
  /// normalisation, 0 if all advantages were equal.
  double scale = kNaN;
  /// Variance of the advantages over all live steps, as handed on: 1 if normalised.
  double variance = kNaN;
  long live_steps = 0;
};

/// Memory of compute_advantages; reused from call to call, so that equal shapes allocate once. Rows
/// have trajectories.stride() entries.
struct AdvantageWorkspace {
  AlignedVector<double> advantages;  // steps × stride; zero where a trajectory is no longer live
  AlignedVector<double> returns;     // Σ γ^k c, what the baseline is fitted to first
  AlignedVector<double> values;      // the baseline; leaves as the λ-returns A + V
  AlignedVector<double> lengths;     // of each trajectory, as doubles to compare with
  AlignedVector<double> totals;      // one number for each trajectory
  AlignedVector<double> magnitudes;
  AlignedVector<double> live_totals;  // of complete_totals
  std::vector<double> live;           // trajectories at each step
  std::vector<double> means;          // of what is fitted, at each step
  std::vector<double> shifts;         // V - v at each step
  /// With cuts: observation_weights, scaled to mean 1 over all live steps.
  std::vector<double> step_weights;
  StateBaseline baseline;
  BootstrapWorkspace bootstrap;
};

/// Fills workspace.advantages. The baselines are fitted to the batch they are subtracted from,
/// which shrinks the expected gradient by a few parts in the number of trajectories (docs).
///
/// A trajectory that was cut short has its returns bootstrapped first (bootstrap_returns), whatever
/// the baselines are. From there on its end is treated like a failure, whose costs are known:
/// beyond it V is what the returns say and errors are zero, so A_m = Σ_k (γλ)^k δ_{m+k} over its
/// live steps with δ_{L-1} = c_{L-1} + γ B - V_{L-1}. Throws InvalidInput if all trajectories were
/// cut short before their first step.
AdvantageSummary compute_advantages(const Trajectories& trajectories,
                                    const AdvantageSettings& settings,
                                    AdvantageWorkspace& workspace);

}  // namespace lifeguard
