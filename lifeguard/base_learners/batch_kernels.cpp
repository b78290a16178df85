#include "lifeguard/base_learners/batch_kernels.hpp"

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/base_learners/batch_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/lane_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

// Groups of kSumLanes doubles: one to four vectors of the target.
struct Group {
  static constexpr std::size_t kVector = hn::MaxLanes(DoubleTag());
  static constexpr std::size_t kVectors = kSumLanes / kVector;
  Lanes part[kVectors];

  HWY_INLINE Group() {}  // written out, so that it is compiled for the target

  static HWY_INLINE Group load(const double* p) {
    Group g;
    for (std::size_t v = 0; v < kVectors; ++v) g.part[v] = Lanes::load(p + v * kVector);
    return g;
  }
  static HWY_INLINE Group all(double x) {
    Group g;
    for (std::size_t v = 0; v < kVectors; ++v) g.part[v] = Lanes(x);
    return g;
  }
  HWY_INLINE void store(double* p) const {
    for (std::size_t v = 0; v < kVectors; ++v) part[v].store(p + v * kVector);
  }
  friend HWY_INLINE Group operator+(Group a, Group b) {
    for (std::size_t v = 0; v < kVectors; ++v) a.part[v] = a.part[v] + b.part[v];
    return a;
  }
  friend HWY_INLINE Group operator-(Group a, Group b) {
    for (std::size_t v = 0; v < kVectors; ++v) a.part[v] = a.part[v] - b.part[v];
    return a;
  }
  friend HWY_INLINE Group operator*(Group a, Group b) {
    for (std::size_t v = 0; v < kVectors; ++v) a.part[v] = a.part[v] * b.part[v];
    return a;
  }
  friend HWY_INLINE Group multiply_add(Group a, Group b, Group c) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      c.part[v] = HWY_NAMESPACE::multiply_add(a.part[v], b.part[v], c.part[v]);
    }
    return c;
  }
  /// The first n entries, zero behind them.
  HWY_INLINE Group first(std::size_t n) const {
    Group g;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t left = n > v * kVector ? n - v * kVector : 0;
      g.part[v] = Lanes(hn::IfThenElseZero(hn::FirstN(DoubleTag(), left), part[v].v));
    }
    return g;
  }
  HWY_INLINE Group absolute() const {
    Group g;
    for (std::size_t v = 0; v < kVectors; ++v) g.part[v] = magnitude(part[v]);
    return g;
  }
  /// a where step m is live, else b.
  static HWY_INLINE Group where_live(const double* lengths, int m, Group a, Group b) {
    const auto step = hn::Set(DoubleTag(), static_cast<double>(m));
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto live = hn::Lt(step, hn::Load(DoubleTag(), lengths + v * kVector));
      a.part[v].v = hn::IfThenElse(live, a.part[v].v, b.part[v].v);
    }
    return a;
  }
  HWY_INLINE double sum() const {
    HWY_ALIGN double lanes[kSumLanes];
    store(lanes);
    return add_lanes(lanes);
  }
};

void SumDiscountedCosts(const Trajectories& t, double discount, double* returns, double* totals,
                        double* magnitudes) {
  const Group gamma = Group::all(discount);
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    Group now = Group::all(0.0), total = now, absolute = now;
    for (int m = t.steps() - 1; m >= 0; --m) {
      const Group cost = Group::load(t.cost_row(m) + i);
      now = multiply_add(gamma, now, cost);
      now.store(returns + static_cast<std::size_t>(m) * t.stride() + i);
      total = total + cost;
      absolute = absolute + cost.absolute();
    }
    total.store(totals + i);
    absolute.store(magnitudes + i);
  }
}

void SumRows(const Trajectories& t, const double* x, const double* lengths, int every,
             double* sums) {
  const Group zero = Group::all(0.0);
  for (int m = 0; m < t.steps(); m += every) {
    const double* row = x + static_cast<std::size_t>(m) * t.stride();
    Group sum = zero;
    for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
      sum = sum + Group::where_live(lengths + i, m, Group::load(row + i), zero);
    }
    sums[m] = sum.sum();
  }
}

void SubtractLive(const double* from, double shift, const double* lengths, int m, std::size_t width,
                  double* to) {
  const Group zero = Group::all(0.0);
  const Group offset = Group::all(shift);
  for (std::size_t i = 0; i < width; i += kSumLanes) {
    Group::where_live(lengths + i, m, Group::load(from + i) - offset, zero).store(to + i);
  }
}

void AccumulateErrors(const Trajectories& t, double discount, double decay, int every,
                      const double* returns, const double* shifts, const double* lengths,
                      double* values, double* advantages, double* totals) {
  const Group zero = Group::all(0.0);
  const Group minus_gamma = Group::all(-discount);
  const Group trace = Group::all(decay);
  const int last = (t.steps() - 1) / every * every;
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    Group off_after = zero, after = zero, total = zero;
    for (int m = last; m >= 0; m -= every) {
      const std::size_t at = static_cast<std::size_t>(m) * t.stride() + i;
      const Group from_here = Group::load(returns + at);
      const Group value = Group::load(values + at) + Group::all(shifts[m]);
      const Group off = Group::where_live(lengths + i, m, from_here - value, zero);
      const Group error = multiply_add(minus_gamma, off_after, off);
      after = Group::where_live(lengths + i, m, multiply_add(trace, after, error), zero);
      off_after = off;
      total = total + after;
      after.store(advantages + at);
      (from_here - off + after).store(values + at);
    }
    total.store(totals + i);
  }
}

void SumSquares(const Trajectories& t, const double* x, double shift, const double* lengths,
                double* totals) {
  const Group zero = Group::all(0.0);
  const Group offset = Group::all(shift);
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    Group total = zero;
    for (int m = 0; m < t.steps(); ++m) {
      const Group from = Group::load(x + static_cast<std::size_t>(m) * t.stride() + i);
      const Group deviation = Group::where_live(lengths + i, m, from - offset, zero);
      total = multiply_add(deviation, deviation, total);
    }
    total.store(totals + i);
  }
}

void ShiftAndScale(const Trajectories& t, double shift, double factor, const double* lengths,
                   double* x) {
  const Group zero = Group::all(0.0);
  const Group offset = Group::all(shift);
  const Group scale = Group::all(factor);
  for (int m = 0; m < t.steps(); ++m) {
    double* row = x + static_cast<std::size_t>(m) * t.stride();
    for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
      const Group moved = (Group::load(row + i) - offset) * scale;
      Group::where_live(lengths + i, m, moved, zero).store(row + i);
    }
  }
}

void LoadTerms(const Trajectories& t, int m, double* tile) {
  const std::size_t width = padded_count(t);
  double* row = tile;
  for (int f = 0; f < t.features(); ++f) {
    const double* x = t.feature_row(m, f);
    for (std::size_t i = 0; i < width; i += kSumLanes) Group::load(x + i).store(row + i);
    // Whatever a caller left behind the last trajectory must not enter the sums.
    for (std::size_t i = static_cast<std::size_t>(t.count()); i < width; ++i) row[i] = 0.0;
    row += width;
  }
  for (int f = 0; f < t.features(); ++f) {
    const double* x = tile + static_cast<std::size_t>(f) * width;
    for (int h = f; h < t.features(); ++h) {
      const double* y = tile + static_cast<std::size_t>(h) * width;
      for (std::size_t i = 0; i < width; i += kSumLanes) {
        (Group::load(x + i) * Group::load(y + i)).store(row + i);
      }
      row += width;
    }
  }
}

// kRows × kColumns products at a time, so that a row is loaded once for several of them.
template <int kRows, int kColumns>
HWY_INLINE void AddBlock(const double* const* x, const double* y, std::size_t width, bool add,
                         double* sums, std::size_t columns) {
  Group sum[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      sum[r][c] = add ? Group::load(sums + (r * columns + c) * kSumLanes) : Group::all(0.0);
    }
  }
  for (std::size_t i = 0; i < width; i += kSumLanes) {
    Group factor[kRows];
    for (int r = 0; r < kRows; ++r) factor[r] = Group::load(x[r] + i);
    for (int c = 0; c < kColumns; ++c) {
      const Group other = Group::load(y + c * width + i);
      for (int r = 0; r < kRows; ++r) sum[r][c] = multiply_add(factor[r], other, sum[r][c]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) sum[r][c].store(sums + (r * columns + c) * kSumLanes);
  }
}

// Rows of sums are `pitch` sums apart.
template <int kRows>
HWY_INLINE void AddRows(const double* const* x, const double* y, std::size_t width, bool add,
                        double* sums, std::size_t columns, std::size_t pitch) {
  std::size_t c = 0;
  // Where a group is one vector there are registers for so many sums.
  for (; Group::kVectors == 1 && c + 4 <= columns; c += 4) {
    AddBlock<kRows, 4>(x, y + c * width, width, add, sums + c * kSumLanes, pitch);
  }
  for (; c + 2 <= columns; c += 2) {
    AddBlock<kRows, 2>(x, y + c * width, width, add, sums + c * kSumLanes, pitch);
  }
  if (c < columns) {
    AddBlock<kRows, 1>(x, y + c * width, width, add, sums + c * kSumLanes, pitch);
  }
}

void AddTerms(const double* x, int features, std::size_t width, const double* weights,
              double* scratch, double* sums) {
  double* linear = sums;
  double* pairs = sums + static_cast<std::size_t>(features) * kSumLanes;
  for (int f = 0; f < features; ++f) {
    Group sum = Group::load(linear);
    for (std::size_t i = 0; i < width; i += kSumLanes) {
      const Group product = Group::load(weights + i) * Group::load(x + i);
      sum = sum + product;
      product.store(scratch + i);
    }
    sum.store(linear);
    const auto columns = static_cast<std::size_t>(features - f);
    AddRows<1>(&scratch, x, width, true, pairs, columns, columns);
    x += width;
    linear += kSumLanes;
    pairs += columns * kSumLanes;
  }
}

void SumProducts(const double* tile, std::size_t width, const int* rows, int row_count,
                 int first_column, int column_count, bool add, double* sums) {
  const auto columns = static_cast<std::size_t>(column_count);
  const double* y = tile + static_cast<std::size_t>(first_column) * width;
  for (int r = 0; r < row_count; r += 2) {
    const bool pair = r + 1 < row_count;
    const double* x[2] = {tile + static_cast<std::size_t>(rows[r]) * width,
                          tile + static_cast<std::size_t>(rows[pair ? r + 1 : r]) * width};
    double* to = sums + static_cast<std::size_t>(r) * columns * kSumLanes;
    if (pair) {
      AddRows<2>(x, y, width, add, to, columns, columns);
    } else {
      AddRows<1>(x, y, width, add, to, columns, columns);
    }
  }
}

void SumTriangle(const double* left, const double* tile, std::size_t width, int rows,
                 int column_count, bool add, double* sums) {
  const auto columns = static_cast<std::size_t>(column_count);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); r += 2) {
    const double* x[2] = {left + r * width, left + (r + 1) * width};
    const double* y = tile + r * width;
    double* to = sums + r * (columns + 1) * kSumLanes;
    if (r + 1 < static_cast<std::size_t>(rows)) {
      AddRows<2>(x, y, width, add, to, columns - r, columns);
    } else {
      AddRows<1>(x, y, width, add, to, columns - r, columns);
    }
  }
}

void EvaluateQuadratic(const Trajectories& t, const double* coefficients, const double* lengths,
                       int every, double* values, double* sums) {
  const int features = t.features();
  const std::size_t stride = t.stride();
  const Group zero = Group::all(0.0);
  for (int m = 0; m < t.steps(); m += every) {
    const double* x = t.feature_row(m, 0);
    double* v = values + static_cast<std::size_t>(m) * stride;
    Group sum = zero;
    for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
      Group value = zero;
      const double* w = coefficients + features;
      for (int f = 0; f < features; ++f) {
        Group slope = Group::all(coefficients[f]);
        for (int h = f; h < features; ++h) {
          slope = multiply_add(Group::all(*w++), Group::load(x + h * stride + i), slope);
        }
        value = multiply_add(slope, Group::load(x + f * stride + i), value);
      }
      value.store(v + i);
      sum = sum + Group::where_live(lengths + i, m, value, zero);
    }
    sums[m] = sum.sum();
  }
}

// Several steps at a time, so that a sum is loaded and stored once for several products, and two
// actions at a time, so that a feature is loaded once for both. Sums have rows of `width`: rows of
// the stride of the batch, usually a power of two, would fight for the same places in the cache.
template <int kActions, int kSteps>
HWY_INLINE void AddGradients(const Trajectories& t, int m, int a, std::size_t i, std::size_t width,
                             const double* gains, const Lanes* advantages, Lanes* squares,
                             const ScoreSums& sums) {
  const int features = t.features();
  const std::size_t stride = t.stride();
  const std::size_t step = static_cast<std::size_t>(features) * stride;
  const double* x = t.feature_row(m, 0) + i;
  Lanes noise[kActions][kSteps];
  for (int b = 0; b < kActions; ++b) {
    for (int s = 0; s < kSteps; ++s) noise[b][s] = Lanes::load(t.action_row(m + s, a + b) + i);
  }
  const double* gain = gains + a * features;
  for (int f = 0; f < features; ++f) {
    Lanes minus_gain[kActions];
    for (int b = 0; b < kActions; ++b) minus_gain[b] = Lanes(-gain[b * features + f]);
    for (int s = 0; s < kSteps; ++s) {
      const Lanes feature = Lanes::load(x + s * step + f * stride);
      for (int b = 0; b < kActions; ++b) {
        noise[b][s] = multiply_add(minus_gain[b], feature, noise[b][s]);
      }
    }
  }
  for (int b = 0; b < kActions; ++b) {
    double* total = sums.noises + static_cast<std::size_t>(a + b) * width + i;
    Lanes sum = Lanes::load(total);
    for (int s = 0; s < kSteps; ++s) sum = sum + noise[b][s];
    sum.store(total);
  }
  for (int s = 0; s < kSteps; ++s) {
    for (int b = 0; b < kActions; ++b) {
      squares[s] = multiply_add(noise[b][s], noise[b][s], squares[s]);
      noise[b][s] = noise[b][s] * advantages[s];
    }
  }
  double* to = sums.gradients + static_cast<std::size_t>(a * features) * width + i;
  const std::size_t next_action = static_cast<std::size_t>(features) * width;
  for (int f = 0; f < features; ++f, to += width) {
    Lanes sum[kActions];
    for (int b = 0; b < kActions; ++b) sum[b] = Lanes::load(to + b * next_action);
    for (int s = 0; s < kSteps; ++s) {
      const Lanes feature = Lanes::load(x + s * step + f * stride);
      for (int b = 0; b < kActions; ++b) sum[b] = multiply_add(noise[b][s], feature, sum[b]);
    }
    for (int b = 0; b < kActions; ++b) sum[b].store(to + b * next_action);
  }
}

// Fetches what the next steps will read of these trajectories. Their rows are too many streams for
// the processor to see them coming.
HWY_INLINE void PrefetchSteps(const Trajectories& t, int m, int steps, std::size_t i) {
  for (int row = 0; row < steps * t.features(); ++row) {
    hwy::Prefetch(t.feature_row(m, 0) + static_cast<std::size_t>(row) * t.stride() + i);
  }
  for (int row = 0; row < steps * t.actions(); ++row) {
    hwy::Prefetch(t.action_row(m, 0) + static_cast<std::size_t>(row) * t.stride() + i);
  }
}

template <int kSteps>
HWY_INLINE void AddScoresOfSteps(const Trajectories& t, int m, std::size_t width,
                                 const double* gains, double precision, const double* advantages,
                                 const double* weights, const ScoreSums& sums) {
  const int features = t.features();
  const std::size_t stride = t.stride();
  const std::size_t step = static_cast<std::size_t>(features) * stride;
  const Lanes scale(precision), actions(-static_cast<double>(t.actions()));
  for (std::size_t i = 0; i < width; i += Group::kVector) {
    const std::size_t at = static_cast<std::size_t>(m) * stride + i;
    if (i % kSumLanes == 0 && m + 2 * kSteps <= t.steps()) {
      PrefetchSteps(t, m + kSteps, kSteps, i);
    }
    Lanes advantage[kSteps], squares[kSteps];
    for (int s = 0; s < kSteps; ++s) advantage[s] = Lanes::load(advantages + at + s * stride);
    int a = 0;
    for (; a + 2 <= t.actions(); a += 2) {
      AddGradients<2, kSteps>(t, m, a, i, width, gains, advantage, squares, sums);
    }
    if (a < t.actions()) {
      AddGradients<1, kSteps>(t, m, a, i, width, gains, advantage, squares, sums);
    }
    Lanes curvature = Lanes::load(sums.curvatures + i), total = Lanes::load(sums.squares + i),
          largest = Lanes::load(sums.largest + i);
    for (int s = 0; s < kSteps; ++s) {
      curvature = multiply_add(advantage[s], multiply_add(squares[s], scale, actions), curvature);
      total = total + squares[s];
      largest = Lanes(hn::Max(largest.v, squares[s].v));
    }
    curvature.store(sums.curvatures + i);
    total.store(sums.squares + i);
    largest.store(sums.largest + i);

    double* to = sums.products + i;
    const double* x = t.feature_row(m, 0) + i;
    for (int f = 0; f < features; ++f) {
      Lanes factor[kSteps];
      for (int s = 0; s < kSteps; ++s) {
        factor[s] = Lanes::load(x + s * step + f * stride);
        if (weights != nullptr) factor[s] = factor[s] * Lanes::load(weights + at + s * stride);
      }
      for (int h = f; h < features; ++h, to += width) {
        Lanes sum = Lanes::load(to);
        for (int s = 0; s < kSteps; ++s) {
          sum = multiply_add(factor[s], Lanes::load(x + s * step + h * stride), sum);
        }
        sum.store(to);
      }
    }
  }
}

void AddScores(const Trajectories& t, const double* gains, double precision,
               const double* advantages, const double* weights, const ScoreSums& sums) {
  constexpr int kSteps = 4;
  const std::size_t width = padded_count(t);
  int m = 0;
  for (; m + kSteps <= t.steps(); m += kSteps) {
    AddScoresOfSteps<kSteps>(t, m, width, gains, precision, advantages, weights, sums);
  }
  for (; m < t.steps(); ++m) {
    AddScoresOfSteps<1>(t, m, width, gains, precision, advantages, weights, sums);
  }
}

void ScaleAndSum(const Trajectories& t, double factor, double* rows, int count, double* sums) {
  const Group scale = Group::all(factor);
  const auto n = static_cast<std::size_t>(t.count());
  for (int k = 0; k < count; ++k) {
    double* row = rows + static_cast<std::size_t>(k) * padded_count(t);
    Group sum = Group::all(0.0);
    for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
      const Group x = (Group::load(row + i) * scale).first(n - i);
      x.store(row + i);
      sum = sum + x;
    }
    sums[k] = sum.sum();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(SumDiscountedCosts);
HWY_EXPORT(SumRows);
HWY_EXPORT(SubtractLive);
HWY_EXPORT(AccumulateErrors);
HWY_EXPORT(SumSquares);
HWY_EXPORT(ShiftAndScale);
HWY_EXPORT(LoadTerms);
HWY_EXPORT(AddTerms);
HWY_EXPORT(SumProducts);
HWY_EXPORT(SumTriangle);
HWY_EXPORT(EvaluateQuadratic);
HWY_EXPORT(AddScores);
HWY_EXPORT(ScaleAndSum);

void sum_discounted_costs(const Trajectories& trajectories, double discount, double* returns,
                          double* totals, double* magnitudes) {
  HWY_DYNAMIC_DISPATCH(SumDiscountedCosts)(trajectories, discount, returns, totals, magnitudes);
}
void sum_rows(const Trajectories& trajectories, const double* x, const double* lengths, int every,
              double* sums) {
  HWY_DYNAMIC_DISPATCH(SumRows)(trajectories, x, lengths, every, sums);
}
void subtract_live(const double* from, double shift, const double* lengths, int m,
                   std::size_t width, double* to) {
  HWY_DYNAMIC_DISPATCH(SubtractLive)(from, shift, lengths, m, width, to);
}
void accumulate_errors(const Trajectories& trajectories, double discount, double decay, int every,
                       const double* returns, const double* shifts, const double* lengths,
                       double* values, double* advantages, double* totals) {
  HWY_DYNAMIC_DISPATCH(AccumulateErrors)
  (trajectories, discount, decay, every, returns, shifts, lengths, values, advantages, totals);
}
void sum_squares(const Trajectories& trajectories, const double* x, double shift,
                 const double* lengths, double* totals) {
  HWY_DYNAMIC_DISPATCH(SumSquares)(trajectories, x, shift, lengths, totals);
}
void shift_and_scale(const Trajectories& trajectories, double shift, double factor,
                     const double* lengths, double* x) {
  HWY_DYNAMIC_DISPATCH(ShiftAndScale)(trajectories, shift, factor, lengths, x);
}
void load_terms(const Trajectories& trajectories, int m, double* tile) {
  HWY_DYNAMIC_DISPATCH(LoadTerms)(trajectories, m, tile);
}
void sum_products(const double* tile, std::size_t width, const int* rows, int row_count,
                  int first_column, int column_count, bool add, double* sums) {
  HWY_DYNAMIC_DISPATCH(SumProducts)
  (tile, width, rows, row_count, first_column, column_count, add, sums);
}
void add_terms(const double* x, int features, std::size_t width, const double* weights,
               double* scratch, double* sums) {
  HWY_DYNAMIC_DISPATCH(AddTerms)(x, features, width, weights, scratch, sums);
}
void sum_triangle(const double* left, const double* tile, std::size_t width, int rows,
                  int column_count, bool add, double* sums) {
  HWY_DYNAMIC_DISPATCH(SumTriangle)(left, tile, width, rows, column_count, add, sums);
}
void evaluate_quadratic(const Trajectories& trajectories, const double* coefficients,
                        const double* lengths, int every, double* values, double* sums) {
  HWY_DYNAMIC_DISPATCH(EvaluateQuadratic)
  (trajectories, coefficients, lengths, every, values, sums);
}
void add_scores(const Trajectories& trajectories, const double* gains, double precision,
                const double* advantages, const double* weights, const ScoreSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddScores)(trajectories, gains, precision, advantages, weights, sums);
}
void scale_and_sum(const Trajectories& trajectories, double factor, double* rows, int count,
                   double* sums) {
  HWY_DYNAMIC_DISPATCH(ScaleAndSum)(trajectories, factor, rows, count, sums);
}

}  // namespace lifeguard
#endif  // HWY_ONCE
