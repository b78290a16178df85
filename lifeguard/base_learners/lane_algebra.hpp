#pragma once

#include <cstddef>

namespace lifeguard {

/// Linear algebra of matrices that are so small that calls and memory would cost more than the
/// arithmetic. Arrays start on a cache line. The same bits on every SIMD target.

/// Solves kSumLanes systems Sx = c at once, S symmetric and of n unknowns, with so many right-hand
/// sides. `system` has n rows (S c) in lanes: entry k of a row stands in [8 k …], only those from
/// the diagonal on count, and x takes the place of c. `ridge` is added to each diagonal in units in
/// which it is 1; an unknown whose diagonal is not positive is 0. False if an S is not positive
/// definite or an x is not finite.
bool solve_in_lanes(int n, int right_sides, double ridge, double* system);

/// whole = the sum over lanes, in each of them; without = that sum less the lane itself, unless it
/// is null. Of a matrix by rows, from the diagonal on.
void leave_out_lanes(int rows, int columns, const double* lanes, double* whole, double* without);

/// c = AB, or c + AB: A rows × inner with A_ik = a[i a_row + k a_column], B and C by rows of
/// `width` doubles, a multiple of kSumLanes. C must be neither A nor B.
void multiply_rows(int rows, int inner, std::size_t width, const double* a, std::size_t a_row,
                   std::size_t a_column, const double* b, bool add, double* c);

}  // namespace lifeguard
