#pragma once

#include <cstddef>

#include "lifeguard/rollout/trajectories.hpp"

namespace lifeguard {

/// The loops of the base learners that touch every step of a batch, compiled once per SIMD target.
/// Every target gives the same bits: what belongs to one trajectory is summed over its steps in
/// order, and sums over trajectories run in kSumLanes lanes (trajectory i in lane i mod kSumLanes)
/// that are added up in one fixed order.
///
/// Arrays of steps × trajectories have rows of trajectories.stride() doubles. Rows are processed in
/// whole groups of kSumLanes trajectories; `lengths` holds the number of live steps of each
/// trajectory and zero for the rest of the last group.
constexpr std::size_t kSumLanes = 8;

inline std::size_t padded_count(const Trajectories& trajectories) {
  const auto n = static_cast<std::size_t>(trajectories.count());
  return (n + kSumLanes - 1) / kSumLanes * kSumLanes;
}

inline double add_lanes(const double* lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// returns_m = c_m + γ returns_{m+1}; totals[i] = Σ_m c_m, magnitudes[i] = Σ_m |c_m|.
void sum_discounted_costs(const Trajectories& trajectories, double discount, double* returns,
                          double* totals, double* magnitudes);

/// The sum of x over the live entries of row m.
double sum_live(const double* x, const double* lengths, int m, std::size_t width);

/// to = from - shift where live, 0 elsewhere.
void subtract_live(const double* from, double shift, const double* lengths, int m,
                   std::size_t width, double* to);

/// A_m = c_m + γ V_{m+1} - V_m + γλ A_{m+1} where live, 0 elsewhere; V is replaced by the returns
/// where no longer live.
void accumulate_errors(const Trajectories& trajectories, double discount, double trace,
                       const double* returns, const double* lengths, double* values,
                       double* advantages);

/// totals[i] = Σ_m (x - shift)² over live steps.
void sum_squares(const Trajectories& trajectories, const double* x, double shift,
                 const double* lengths, double* totals);

/// x ← (x - shift) · factor where live, 0 elsewhere.
void shift_and_scale(const Trajectories& trajectories, double shift, double factor,
                     const double* lengths, double* x);

/// The features of step m and all their products of two, one row of padded_count for each.
void load_terms(const Trajectories& trajectories, int m, double* tile);

/// sums[8 k … 8 k + 7] += Σ_i tile row first[k] · tile row second[k], in lanes.
void add_products(const double* tile, std::size_t width, const int* first, const int* second,
                  std::size_t count, double* sums);

/// v[i] = Σ_f c_f Φ_f + Σ_{f≤h} W_fh Φ_f Φ_h of step m.
void evaluate_quadratic(const Trajectories& trajectories, int m, const double* coefficients,
                        double* v);

/// gradients[a F + f][i] += Σ_m A_m (u - KΦ)_a Φ_f and products[f ≤ h][i] += Σ_m w_m Φ_f Φ_h, rows
/// of trajectories.stride(); w = 1 without weights. `gains` is K by rows.
void add_scores(const Trajectories& trajectories, const double* gains, const double* advantages,
                const double* weights, double* gradients, double* products);

}  // namespace lifeguard
