#include "lifeguard/base_learners/adjoint_kernel.hpp"

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/base_learners/adjoint_kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/lane_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

HWY_INLINE void AddTo(double* place, Lanes a, Lanes b) {
  multiply_add(a, b, Lanes::load(place)).store(place);
}

/// g = D (slopes of v), λ ← slopes of Φ + Kᵀg, and g's part of the gradient.
HWY_INLINE void StepBack(const AdjointModel& model, int features, int actions, const Lanes* slopes,
                         const LaneCondition* free, LaneCondition live, Lanes weight,
                         const Lanes* z, Lanes* adjoint, double* gradients, std::size_t width) {
  Lanes next[AdjointModel::kMostSignals];
  for (int f = 0; f < features; ++f) next[f] = slopes[f];
  for (int a = 0; a < actions; ++a) {
    const Lanes g = select(free[a], slopes[features + a], Lanes(0.0));
    const Lanes weighted = weight * g;
    for (int f = 0; f < features; ++f) {
      next[f] = multiply_add(Lanes(model.gains[a * features + f]), g, next[f]);
      AddTo(gradients + static_cast<std::size_t>(a * features + f) * width, weighted, z[f]);
    }
  }
  for (int f = 0; f < features; ++f) adjoint[f] = select(live, next[f], adjoint[f]);
}

void AddAdjoints(const Trajectories& t, const AdjointModel& model, const double* lengths,
                 double* adjoints, const AdjointSums& sums) {
  const int features = t.features();
  const int actions = t.actions();
  const int signals = features + actions;
  const std::size_t width = padded_count(t);
  constexpr std::size_t kVector = hn::MaxLanes(DoubleTag());
  Lanes z[AdjointModel::kMostSignals];
  Lanes slopes[AdjointModel::kMostSignals];
  Lanes lane_slopes[AdjointModel::kMostSignals];
  Lanes adjoint[AdjointModel::kMostSignals];
  Lanes lane_adjoint[AdjointModel::kMostSignals];
  LaneCondition free[AdjointModel::kMostSignals];
  for (std::size_t i = 0; i < width; i += kVector) {
    const Lanes length = Lanes::load(lengths + i);
    const double* lane_dynamics = model.lane_dynamics + i % kSumLanes;
    for (int f = 0; f < features; ++f) {
      adjoint[f] = Lanes::load(adjoints + static_cast<std::size_t>(f) * width + i);
      lane_adjoint[f] = Lanes::load(adjoints + static_cast<std::size_t>(features + f) * width + i);
    }
    for (int m = t.steps() - 1; m >= 0; --m) {
      const LaneCondition live = Lanes(static_cast<double>(m)) < length;
      const Lanes weight(model.step_weights != nullptr ? model.step_weights[m] : 1.0);
      for (int f = 0; f < features; ++f) z[f] = Lanes::load(t.feature_row(m, f) + i);
      for (int a = 0; a < actions; ++a) {
        const Lanes u = Lanes::load(t.action_row(m, a) + i) / Lanes(model.sigma[a]);
        const Lanes low(model.low[a]);
        const Lanes high(model.high[a]);
        free[a] = (u > low) & (u < high) & live;
        z[features + a] = select(u > low, select(u < high, u, high), low);
      }
      for (int k = 0; k < signals; ++k) {
        Lanes slope(model.cost_slope[k]);
        for (int j = 0; j < signals; ++j) {
          // Most costs are sums of squares.
          const double second = model.cost_hessian[k * signals + j];
          if (second != 0) slope = multiply_add(Lanes(second), z[j], slope);
        }
        Lanes lane_slope = slope;
        for (int f = 0; f < features; ++f) {
          const std::size_t at = static_cast<std::size_t>(k) * features + f;
          slope = multiply_add(Lanes(model.dynamics[at]), adjoint[f], slope);
          lane_slope = multiply_add(Lanes::load(lane_dynamics + at * kSumLanes), lane_adjoint[f],
                                    lane_slope);
        }
        slopes[k] = slope;
        lane_slopes[k] = lane_slope;
      }
      StepBack(model, features, actions, slopes, free, live, weight, z, adjoint, sums.gradients + i,
               width);
      StepBack(model, features, actions, lane_slopes, free, live, weight, z, lane_adjoint,
               sums.lane_gradients + i, width);
      double* product = sums.products + i;
      for (int f = 0; f < features; ++f) {
        const Lanes weighted = weight * z[f];  // 0 behind the end
        for (int h = f; h < features; ++h, product += width) AddTo(product, weighted, z[h]);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(AddAdjoints);

void add_adjoints(const Trajectories& trajectories, const AdjointModel& model,
                  const double* lengths, double* adjoints, const AdjointSums& sums) {
  HWY_DYNAMIC_DISPATCH(AddAdjoints)(trajectories, model, lengths, adjoints, sums);
}

}  // namespace lifeguard
#endif  // HWY_ONCE
