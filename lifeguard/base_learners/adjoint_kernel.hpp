#pragma once

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// A machine and its cost as ModelCritic fits them, for add_adjoints. Signals are z = (Φ, v), v the
/// actions within their limits, in units of their noises; matrices are by rows.
struct AdjointModel {
  static constexpr int kMostSignals = 48;

  const double* sigma;          // of each action
  const double* gains;          // actions × features
  const double* low;            // of each action
  const double* high;           //
  const double* cost_slope;     // of the cost at z = 0
  const double* cost_hessian;   // signals × signals
  const double* dynamics;       // (A B)ᵀ: signals × features
  const double* lane_dynamics;  // likewise, kSumLanes of each: trajectory i has that of its lane
  const double* step_weights;   // of each step, or null: 1
};

/// What add_adjoints adds up for each trajectory, in rows of padded_count.
struct AdjointSums {
  double* gradients;       // [a F + f] += Σ_m w_m g_a Φ_f
  double* lane_gradients;  // likewise with lane_dynamics
  double* products;        // [f ≤ h] += Σ_m w_m Φ_f Φ_h
};

/// The derivative of each trajectory's cost through the model, backwards from its end
/// (ModelCritic). `adjoints` has two times `features` rows of padded_count: λ behind the last live
/// step, once for each model. `lengths` as in batch_kernels.hpp. The same bits on every SIMD
/// target.
void add_adjoints(const Trajectories& trajectories, const AdjointModel& model,
                  const double* lengths, double* adjoints, const AdjointSums& sums);

}  // namespace lifeguard
