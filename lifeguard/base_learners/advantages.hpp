#pragma once

#include <vector>

#include "lifeguard/base_learners/advantage_settings.hpp"
#include "lifeguard/base_learners/state_baseline.hpp"
#include "lifeguard/core/aligned.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

struct AdvantageSummary {
  /// Mean over the batch of C(τ) = (1/M) Σ_m c_m.
  double mean_cost = kNaN;
  double cost_error = 0;  // standard error of that mean; 0 for a single trajectory
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
  std::vector<double> live;    // trajectories at each step
  std::vector<double> means;   // of what is fitted, at each step
  std::vector<double> shifts;  // V - v at each step
  StateBaseline baseline;
};

/// Fills workspace.advantages. The baselines are fitted to the batch they are subtracted from,
/// which shrinks the expected gradient by about one part in the number of trajectories.
AdvantageSummary compute_advantages(const Trajectories& trajectories,
                                    const AdvantageSettings& settings,
                                    AdvantageWorkspace& workspace);

}  // namespace lifeguard
