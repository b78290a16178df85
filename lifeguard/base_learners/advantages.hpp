#pragma once

#include <vector>

#include "lifeguard/base_learners/state_baseline.hpp"
#include "lifeguard/core/aligned.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// How much worse than expected each step of a trajectory turned out: the factor in front of
/// ∇log π(u_m | x_m). Positive means costlier than expected. Every part can be switched off, and
/// bench/gradient_variance.cpp prints what each is worth.
struct AdvantageSettings {
  /// Judge a step by what follows it, Σ_{k ≥ m} γ^{k-m} c_k; off: by Σ_k γ^k c_k of the whole
  /// trajectory, with the trace ignored.
  bool cost_to_go = true;
  /// γ in (0, 1]. Below 1 the far future counts less: less variance, some bias.
  double discount = 0.99;
  /// λ in [0, 1]: A_m = Σ_k (γλ)^k δ_{m+k} with δ_m = c_m + γ V_{m+1} - V_m (Schulman et al. 2016).
  /// 1 is the plain cost-to-go minus the baseline V; smaller trusts the baseline more.
  double trace = 0.9;
  /// Subtract the mean over the live trajectories of each step.
  bool step_mean = true;
  /// Subtract a quadratic function of the features, fitted to the batch (StateBaseline).
  bool state_baseline = true;
  /// Fits of that function. The first is to the discounted cost-to-go; each further one to the
  /// λ-returns A + V of the one before, whose fixed point is LSTD(λ).
  int baseline_sweeps = 1;
  /// The fits use every baseline_stride-th step, as if these were all, with γ^stride and λ^stride;
  /// neighbouring steps say nearly the same.
  int baseline_stride = 5;
  /// Shift and scale to mean 0 and variance 1 over all live steps.
  bool normalise = true;

  void validate() const;
  bool operator==(const AdvantageSettings&) const = default;
};

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
