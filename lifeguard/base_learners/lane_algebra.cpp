#include "lifeguard/base_learners/lane_algebra.hpp"

#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/numbers.hpp"

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/base_learners/lane_algebra.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/lane_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

constexpr std::size_t kVector = hn::MaxLanes(DoubleTag());

/// to[c] -= Σ_k factors[k] rows[k][c] for kColumns neighbours, which are kept in registers.
/// Rows are `row_pitch` lanes apart.
template <std::size_t kColumns>
HWY_INLINE void SubtractProducts(std::size_t count, const double* factors, const double* rows,
                                 std::size_t row_pitch, double* to) {
  Lanes sum[kColumns];
  for (std::size_t c = 0; c < kColumns; ++c) sum[c] = Lanes::load(to + c * kSumLanes);
  for (std::size_t k = 0; k < count; ++k) {
    const Lanes minus = -Lanes::load(factors + k * kSumLanes);
    const double* row = rows + k * row_pitch * kSumLanes;
    for (std::size_t c = 0; c < kColumns; ++c) {
      sum[c] = multiply_add(minus, Lanes::load(row + c * kSumLanes), sum[c]);
    }
  }
  for (std::size_t c = 0; c < kColumns; ++c) sum[c].store(to + c * kSumLanes);
}

/// The same for `columns` neighbours, in blocks of kSize and smaller ones.
template <std::size_t kSize = 8>
HWY_INLINE void SubtractRow(std::size_t columns, std::size_t count, const double* factors,
                            const double* rows, std::size_t row_pitch, double* to) {
  for (; columns >= kSize; columns -= kSize) {
    SubtractProducts<kSize>(count, factors, rows, row_pitch, to);
    rows += kSize * kSumLanes;
    to += kSize * kSumLanes;
  }
  if constexpr (kSize > 1) {
    SubtractRow<kSize / 2>(columns, count, factors, rows, row_pitch, to);
  }
}

// S = LDLᵀ. Row j of `system` becomes that of (DLᵀ L⁻¹c) from the diagonal on, and of L before it.
bool SolveInLanes(int unknowns, int right_sides, double ridge, double* system) {
  const auto n = static_cast<std::size_t>(unknowns);
  const std::size_t pitch = n + static_cast<std::size_t>(right_sides);
  const Lanes zero(0.0);
  Lanes trouble;  // NaN where there is one
  for (std::size_t lane = 0; lane < kSumLanes; lane += kVector) {
    double* s = system + lane;
    for (std::size_t j = 0; j < n; ++j) {
      double* row = s + j * pitch * kSumLanes;
      double* diagonal = row + j * kSumLanes;
      const Lanes before = Lanes::load(diagonal);
      (before * Lanes(1 + ridge)).store(diagonal);
      SubtractRow(pitch - j, j, row, s + j * kSumLanes, pitch, diagonal);
      const Lanes pivot = Lanes::load(diagonal);
      const LaneCondition known = before > zero;
      const LaneCondition sound = pivot > zero;
      trouble = select(known, select(sound, trouble, Lanes(kNaN)), trouble);
      const Lanes inverse = select(known, Lanes(1.0) / pivot, zero);
      inverse.store(diagonal);
      for (std::size_t i = j + 1; i < n; ++i) {
        const Lanes factor = Lanes::load(row + i * kSumLanes) * inverse;
        factor.store(s + (i * pitch + j) * kSumLanes);
      }
    }
    for (std::size_t j = n; j-- > 0;) {
      double* row = s + j * pitch * kSumLanes;
      double* x = row + n * kSumLanes;
      SubtractRow(pitch - n, n - 1 - j, row + (j + 1) * kSumLanes,
                  s + ((j + 1) * pitch + n) * kSumLanes, pitch, x);
      const Lanes inverse = Lanes::load(row + j * kSumLanes);
      for (std::size_t c = 0; c < pitch - n; ++c, x += kSumLanes) {
        const Lanes found = Lanes::load(x) * inverse;
        found.store(x);
        trouble = multiply_add(found, zero, trouble);
      }
    }
  }
  StoredLanes found;
  found = trouble;
  bool good = true;
  for (const double x : found.values) good = good && x == 0;
  return good;
}

void LeaveOutLanes(int rows, int columns, const double* lanes, double* whole, double* without) {
  for (int r = 0; r < rows; ++r) {
    for (int c = r; c < columns; ++c) {
      const std::size_t k = static_cast<std::size_t>(r * columns + c) * kSumLanes;
      const Lanes sum(add_lanes(lanes + k));
      for (std::size_t lane = 0; lane < kSumLanes; lane += kVector) {
        sum.store(whole + k + lane);
        if (without == nullptr) continue;
        (sum - Lanes::load(lanes + k + lane)).store(without + k + lane);
      }
    }
  }
}

void MultiplyRows(int rows, int inner, std::size_t width, const double* a, std::size_t a_row,
                  std::size_t a_column, const double* b, bool add, double* c) {
  for (int i = 0; i < rows; ++i, a += a_row, c += width) {
    for (std::size_t j = 0; j < width; j += kVector) {
      Lanes sum = add ? Lanes::load(c + j) : Lanes(0.0);
      for (int k = 0; k < inner; ++k) {
        sum = multiply_add(Lanes(a[k * a_column]), Lanes::load(b + k * width + j), sum);
      }
      sum.store(c + j);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(SolveInLanes);
HWY_EXPORT(LeaveOutLanes);
HWY_EXPORT(MultiplyRows);

bool solve_in_lanes(int n, int right_sides, double ridge, double* system) {
  return HWY_DYNAMIC_DISPATCH(SolveInLanes)(n, right_sides, ridge, system);
}
void leave_out_lanes(int rows, int columns, const double* lanes, double* whole, double* without) {
  HWY_DYNAMIC_DISPATCH(LeaveOutLanes)(rows, columns, lanes, whole, without);
}
void multiply_rows(int rows, int inner, std::size_t width, const double* a, std::size_t a_row,
                   std::size_t a_column, const double* b, bool add, double* c) {
  HWY_DYNAMIC_DISPATCH(MultiplyRows)(rows, inner, width, a, a_row, a_column, b, add, c);
}

}  // namespace lifeguard
#endif  // HWY_ONCE
