#pragma once

#include <cstddef>

#include "lifeguard/trajectories/trajectories.hpp"

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

/// sums[m] = the sum of x over the live entries of row m, for every so many-th row.
void sum_rows(const Trajectories& trajectories, const double* x, const double* lengths, int every,
              double* sums);

/// to = from - shift where live, 0 elsewhere.
void subtract_live(const double* from, double shift, const double* lengths, int m,
                   std::size_t width, double* to);

/// λ-returns on every e-th row. `values` comes in as v and V_m = v_m + shifts[m] where live, the
/// returns R_m elsewhere. With D = R - V, which is zero where V is exact and behind the last row,
///   A_m = D_m - discount · D_{m+e} + decay · A_{m+e} where live, 0 elsewhere;
/// `values` leaves as A + V, and totals[i] is the sum of A over trajectory i. `discount` and
/// `decay` are those of e steps, γ^e and (γλ)^e.
void accumulate_errors(const Trajectories& trajectories, double discount, double decay, int every,
                       const double* returns, const double* shifts, const double* lengths,
                       double* values, double* advantages, double* totals);

/// totals[i] = Σ_m (x - shift)² over the live steps of trajectory i.
void sum_squares(const Trajectories& trajectories, const double* x, double shift,
                 const double* lengths, double* totals);

/// x ← (x - shift) · factor where live, 0 elsewhere.
void shift_and_scale(const Trajectories& trajectories, double shift, double factor,
                     const double* lengths, double* x);

/// The features of step m and all their products of two, one row of padded_count for each.
void load_terms(const Trajectories& trajectories, int m, double* tile);

/// Sums of products of each of `rows` with each of the columns, which are tile rows too, those from
/// first_column on: sums[8 (r · column_count + c) …] = Σ_i row r · column c, in lanes, added to
/// what is there if `add`.
void sum_products(const double* tile, std::size_t width, const int* rows, int row_count,
                  int first_column, int column_count, bool add, double* sums);

/// The upper triangle of such sums, those with c ≥ r: sums[8 (r · column_count + c) …], of row r of
/// `left` with row c of the tile. Entries left of the diagonal are anything.
void sum_triangle(const double* left, const double* tile, std::size_t width, int rows,
                  int column_count, bool add, double* sums);

/// sums[8 k …] += Σ_i weights · term k, in lanes, over the terms of load_terms; `x` are the rows of
/// the features, `scratch` is one more.
void add_terms(const double* x, int features, std::size_t width, const double* weights,
               double* scratch, double* sums);

/// v = Σ_f c_f Φ_f + Σ_{f≤h} W_fh Φ_f Φ_h on every so many-th row, and its sums over the live
/// entries of these rows.
void evaluate_quadratic(const Trajectories& trajectories, const double* coefficients,
                        const double* lengths, int every, double* values, double* sums);

/// What add_scores adds up for each trajectory, with ε = u - KΦ, in rows of padded_count.
struct ScoreSums {
  double* gradients;   // [a F + f] += Σ_m A_m ε_a Φ_f
  double* products;    // [f ≤ h] += Σ_m w_m Φ_f Φ_h; w = 1 without weights
  double* curvatures;  // += Σ_m A_m (precision · |ε|² - actions)
  double* noises;      // [a] += Σ_m ε_a
  double* squares;     // += Σ_m |ε|²
  double* largest;     // the largest |ε|² and what is there
};
/// `gains` is K by rows.
void add_scores(const Trajectories& trajectories, const double* gains, double precision,
                const double* advantages, const double* weights, const ScoreSums& sums);

/// Multiplies rows of padded_count by the factor and adds each up, over trajectories; what
/// follows the last trajectory becomes zero.
void scale_and_sum(const Trajectories& trajectories, double factor, double* rows, int count,
                   double* sums);

}  // namespace lifeguard
