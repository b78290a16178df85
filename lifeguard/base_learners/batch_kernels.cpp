#include "lifeguard/base_learners/batch_kernels.hpp"

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/base_learners/batch_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/lane_math-inl.hpp"

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
      now = cost + gamma * now;
      now.store(returns + static_cast<std::size_t>(m) * t.stride() + i);
      total = total + cost;
      absolute = absolute + cost.absolute();
    }
    total.store(totals + i);
    absolute.store(magnitudes + i);
  }
}

double SumLive(const double* x, const double* lengths, int m, std::size_t width) {
  const Group zero = Group::all(0.0);
  Group sum = zero;
  for (std::size_t i = 0; i < width; i += kSumLanes) {
    sum = sum + Group::where_live(lengths + i, m, Group::load(x + i), zero);
  }
  return sum.sum();
}

void SubtractLive(const double* from, double shift, const double* lengths, int m, std::size_t width,
                  double* to) {
  const Group zero = Group::all(0.0);
  const Group offset = Group::all(shift);
  for (std::size_t i = 0; i < width; i += kSumLanes) {
    Group::where_live(lengths + i, m, Group::load(from + i) - offset, zero).store(to + i);
  }
}

void AccumulateErrors(const Trajectories& t, double discount, double trace, const double* returns,
                      const double* lengths, double* values, double* advantages) {
  const Group zero = Group::all(0.0);
  const Group gamma = Group::all(discount);
  const Group decay = Group::all(discount * trace);
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    Group value_after = zero, after = zero;
    for (int m = t.steps() - 1; m >= 0; --m) {
      const std::size_t at = static_cast<std::size_t>(m) * t.stride() + i;
      const Group value =
          Group::where_live(lengths + i, m, Group::load(values + at), Group::load(returns + at));
      const Group error = Group::load(t.cost_row(m) + i) + gamma * value_after - value;
      after = Group::where_live(lengths + i, m, error + decay * after, zero);
      value_after = value;
      value.store(values + at);
      after.store(advantages + at);
    }
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
      total = total + deviation * deviation;
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

void AddProducts(const double* tile, std::size_t width, const int* first, const int* second,
                 std::size_t count, double* sums) {
  const auto row = [&](int r) { return tile + static_cast<std::size_t>(r) * width; };
  std::size_t k = 0;
  while (k < count) {
    const double* x = row(first[k]);
    // Two products with one factor in common: three loads for two of them instead of four.
    if (k + 1 < count && first[k + 1] == first[k]) {
      const double* y = row(second[k]);
      const double* z = row(second[k + 1]);
      Group sum_y = Group::load(sums + k * kSumLanes);
      Group sum_z = Group::load(sums + (k + 1) * kSumLanes);
      for (std::size_t i = 0; i < width; i += kSumLanes) {
        const Group factor = Group::load(x + i);
        sum_y = sum_y + factor * Group::load(y + i);
        sum_z = sum_z + factor * Group::load(z + i);
      }
      sum_y.store(sums + k * kSumLanes);
      sum_z.store(sums + (k + 1) * kSumLanes);
      k += 2;
    } else {
      const double* y = row(second[k]);
      Group sum = Group::load(sums + k * kSumLanes);
      for (std::size_t i = 0; i < width; i += kSumLanes) {
        sum = sum + Group::load(x + i) * Group::load(y + i);
      }
      sum.store(sums + k * kSumLanes);
      k += 1;
    }
  }
}

void EvaluateQuadratic(const Trajectories& t, int m, const double* coefficients, double* v) {
  const int features = t.features();
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    Group value = Group::all(0.0);
    const double* w = coefficients + features;
    for (int f = 0; f < features; ++f) {
      Group slope = Group::all(coefficients[f]);
      for (int h = f; h < features; ++h) {
        slope = slope + Group::all(*w++) * Group::load(t.feature_row(m, h) + i);
      }
      value = value + slope * Group::load(t.feature_row(m, f) + i);
    }
    value.store(v + i);
  }
}

// Four steps at a time, so that a sum is loaded and stored once for four products.
constexpr int kSteps = 4;

template <int kCount>
HWY_INLINE void AddScoresOfSteps(const Trajectories& t, int m, std::size_t i, const double* gains,
                                 const double* advantages, const double* weights, double* gradients,
                                 double* products) {
  const int features = t.features();
  const std::size_t stride = t.stride();
  double* to = gradients + i;
  for (int a = 0; a < t.actions(); ++a) {
    Group residual[kCount];
    for (int s = 0; s < kCount; ++s) residual[s] = Group::load(t.action_row(m + s, a) + i);
    for (int f = 0; f < features; ++f) {
      const Group gain = Group::all(gains[a * features + f]);
      for (int s = 0; s < kCount; ++s) {
        residual[s] = residual[s] - gain * Group::load(t.feature_row(m + s, f) + i);
      }
    }
    for (int s = 0; s < kCount; ++s) {
      residual[s] =
          residual[s] * Group::load(advantages + static_cast<std::size_t>(m + s) * stride + i);
    }
    for (int f = 0; f < features; ++f) {
      Group sum = Group::load(to);
      for (int s = 0; s < kCount; ++s) {
        sum = sum + residual[s] * Group::load(t.feature_row(m + s, f) + i);
      }
      sum.store(to);
      to += stride;
    }
  }
  to = products + i;
  for (int f = 0; f < features; ++f) {
    Group x[kCount];
    for (int s = 0; s < kCount; ++s) {
      x[s] = Group::load(t.feature_row(m + s, f) + i);
      if (weights != nullptr) {
        x[s] = x[s] * Group::load(weights + static_cast<std::size_t>(m + s) * stride + i);
      }
    }
    for (int h = f; h < features; ++h) {
      Group sum = Group::load(to);
      for (int s = 0; s < kCount; ++s) {
        sum = sum + x[s] * Group::load(t.feature_row(m + s, h) + i);
      }
      sum.store(to);
      to += stride;
    }
  }
}

void AddScores(const Trajectories& t, const double* gains, const double* advantages,
               const double* weights, double* gradients, double* products) {
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    int m = 0;
    for (; m + kSteps <= t.steps(); m += kSteps) {
      AddScoresOfSteps<kSteps>(t, m, i, gains, advantages, weights, gradients, products);
    }
    for (; m < t.steps(); ++m) {
      AddScoresOfSteps<1>(t, m, i, gains, advantages, weights, gradients, products);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(SumDiscountedCosts);
HWY_EXPORT(SumLive);
HWY_EXPORT(SubtractLive);
HWY_EXPORT(AccumulateErrors);
HWY_EXPORT(SumSquares);
HWY_EXPORT(ShiftAndScale);
HWY_EXPORT(LoadTerms);
HWY_EXPORT(AddProducts);
HWY_EXPORT(EvaluateQuadratic);
HWY_EXPORT(AddScores);

void sum_discounted_costs(const Trajectories& trajectories, double discount, double* returns,
                          double* totals, double* magnitudes) {
  HWY_DYNAMIC_DISPATCH(SumDiscountedCosts)(trajectories, discount, returns, totals, magnitudes);
}
double sum_live(const double* x, const double* lengths, int m, std::size_t width) {
  return HWY_DYNAMIC_DISPATCH(SumLive)(x, lengths, m, width);
}
void subtract_live(const double* from, double shift, const double* lengths, int m,
                   std::size_t width, double* to) {
  HWY_DYNAMIC_DISPATCH(SubtractLive)(from, shift, lengths, m, width, to);
}
void accumulate_errors(const Trajectories& trajectories, double discount, double trace,
                       const double* returns, const double* lengths, double* values,
                       double* advantages) {
  HWY_DYNAMIC_DISPATCH(AccumulateErrors)
  (trajectories, discount, trace, returns, lengths, values, advantages);
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
void add_products(const double* tile, std::size_t width, const int* first, const int* second,
                  std::size_t count, double* sums) {
  HWY_DYNAMIC_DISPATCH(AddProducts)(tile, width, first, second, count, sums);
}
void evaluate_quadratic(const Trajectories& trajectories, int m, const double* coefficients,
                        double* v) {
  HWY_DYNAMIC_DISPATCH(EvaluateQuadratic)(trajectories, m, coefficients, v);
}
void add_scores(const Trajectories& trajectories, const double* gains, const double* advantages,
                const double* weights, double* gradients, double* products) {
  HWY_DYNAMIC_DISPATCH(AddScores)
  (trajectories, gains, advantages, weights, gradients, products);
}

}  // namespace lifeguard
#endif  // HWY_ONCE
