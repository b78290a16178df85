#pragma once

#include <vector>

#include "lifeguard/base_learners/state_baseline.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// Memory of bootstrap_returns.
struct BootstrapWorkspace {
  AlignedVector<double> bootstraps;  // B of each trajectory that was cut short, else 0
  AlignedVector<double> values;      // v, steps × stride
  std::vector<double> means;         // of the returns at each step
  std::vector<double> sums;          // of v at each step
  std::vector<double> powers;        // γ^0, γ^1, …
  StateBaseline baseline;
};

/// Adds to the discounted costs-to-go of trajectories that were cut short what was still to come.
/// `returns` comes in as Σ_{k ≥ m} γ^{k-m} c_k over the known costs, steps × stride, and leaves
/// with γ^{L-m} B added where trajectory i was cut short at step L = length(i), m < L. `lengths`
/// and `live` are those of AdvantageWorkspace. Batches without cuts are left alone.
///
/// B estimates V_L(x_L), the expected discounted cost of steps L … M-1 from the state that the
/// trajectory was cut short in:
///   B = mean_j (R_jL - v(x_jL)) + v(x_L)
/// over the trajectories j that are live at step L: their returns, R_jL bootstrapped itself if j
/// was cut short later, corrected for the difference of the states by a quadratic v of the features
/// (StateBaseline, on every stride-th step). v is fitted to the returns, which depend on B, so the
/// two are found in turns: first v = 0, where a cut trajectory simply goes on as the mean of the
/// others, then up to kBootstrapSweeps fits. At the fixed point V = v + mean is LSTD(1).
///
/// If no trajectory is live at step L, nothing is known about the steps from there on, and the
/// batch's own Bellman equation is carried on: with κ = the mean over live steps of
/// c + γ v(x⁺) - v(x), B = v(x_L) + κ (1 + γ + … + γ^{M-L-1}), as if no trajectory failed later.
///
/// v(x_L) is kept within the values of v at the live steps: it is asked about a state that it was
/// not fitted to.
inline constexpr int kBootstrapSweeps = 20;
void bootstrap_returns(const Trajectories& trajectories, double discount, int stride,
                       const double* lengths, const std::vector<double>& live, double* returns,
                       BootstrapWorkspace& workspace);

}  // namespace lifeguard
