#pragma once

#include <vector>

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// What of a batch the signals z = (Φ, v) of a model are: some of its features, and its actions in
/// units of their noise, u / σ within the limits.
struct SignalRows {
  int features;
  const int* rows;          // which of the batch's features these are
  const double* per_sigma;  // 1 / σ of each action
  const double* low;        // in units of noise, and may be infinite
  const double* high;
};

/// z = (Φ, v) and then 1 of steps first, first + every, …, `count` of them, of `width` trajectories
/// from `begin` on: one row of count · width doubles for each, step by step; 0 where the step is
/// not below `lengths`, which is as in batch_kernels.hpp.
void load_signals(const Trajectories& trajectories, const SignalRows& signals,
                  const double* lengths, int first, int every, int count, std::size_t begin,
                  std::size_t width, double* tile);

/// The features of the steps that follow these, of all trajectories, likewise; behind the last step
/// 0. squares[8 f …] += Σ Φ⁺_f², in lanes.
void load_next_features(const Trajectories& trajectories, const SignalRows& signals,
                        const double* lengths, int first, int every, int count, double* tile,
                        double* squares);

/// A machine and its cost as ModelCritic fits them. Signals are z = (Φ, v), v the actions within
/// their limits, in units of their noises; matrices are by rows.
struct AdjointModel {
  static constexpr int kMostSignals = 48;

  SignalRows from;
  const double* gains;             // actions × features
  const double* cost_slope;        // of the cost at z = 0
  const double* cost_hessian;      // signals × signals
  bool sum_of_squares;             // cost_hessian is diagonal
  const double* closed_loop;       // B by columns, then A + BK: signals × features
  const double* lane_closed_loop;  // likewise, kSumLanes of each: trajectory i has that of its lane
  const double* step_weights;      // of each step, or null: 1
};

/// Sums over the steps of all trajectories, in lanes: [8 k …] is that of entry k.
struct AdjointSums {
  AlignedVector<double> gradients;  // [a F + f] = Σ w_m g_a Φ_f, then those of the lanes' models
  AlignedVector<double> products;   // [f F + h], f ≤ h: Σ w_m Φ_f Φ_h
  bool ever_held = false;           // whether an action was at its limit
  AlignedVector<double> held;  // if so: for a, for b ≥ a, the part of `products` where one was
  AlignedVector<double> tile, ends;  // scratch
  std::vector<int> rows;
};

/// The derivative of each trajectory's cost through the model, backwards from its end
/// (ModelCritic). `adjoints` has two times `features` rows of padded_count: λ behind the last live
/// step, once for each model. `lengths` as in batch_kernels.hpp. The same bits on every SIMD
/// target.
void sum_adjoints(const Trajectories& trajectories, const AdjointModel& model,
                  const double* lengths, const double* adjoints, AdjointSums& sums);

/// N = Σ_m D_m H D_m ⊗ Φ_mΦ_mᵀ in lanes, by rows from the diagonal on, and behind each row that of
/// the first gradient. `curvature` is H.
void sum_normals(const AdjointSums& sums, int features, int actions, const double* curvature,
                 double* normals);

}  // namespace lifeguard
