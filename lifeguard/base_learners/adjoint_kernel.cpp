#include "lifeguard/base_learners/adjoint_kernel.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lifeguard/base_learners/adjoint_kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/core/lane_math.hpp"

#ifndef LIFEGUARD_ADJOINT_STEPS
#define LIFEGUARD_ADJOINT_STEPS
namespace lifeguard {

/// Some steps of kSumLanes trajectories, and what StepBack reads and writes of them: rows of
/// `count` · kSumLanes doubles.
struct AdjointSteps {
  int first;
  int count;
  const double* lengths;            // of these trajectories
  const double* signals;            // of load_signals
  const double* weighted_features;  // w Φ
  double* adjoints;                 // [f], and those of the lanes' models below
  double* slopes;                   // [a] g, and those of the lanes' models below
};

}  // namespace lifeguard
#endif

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

constexpr std::size_t kVector = hn::MaxLanes(DoubleTag());
/// How much of a sum of products may be rounding.
constexpr double kRoundedSum = 1e-13;

/// Fills a row of a tile, from what `rows` has of its first step and what is `pitch` behind it of
/// each next one: change(x) where the step is live, else 0. seen(lane, x) is told of each.
template <class Change, class Seen>
HWY_INLINE void LoadRow(const double* row, std::size_t pitch, const double* lengths, int first,
                        int every, int count, std::size_t width, double* to, const Change& change,
                        const Seen& seen) {
  const Lanes zero(0.0);
  for (std::size_t i = 0; i < width; i += kVector) {
    const Lanes length = Lanes::load(lengths + i);
    Lanes step(static_cast<double>(first));
    const Lanes stride(static_cast<double>(every));
    const double* from = row + i;
    double* place = to + i;
    for (int k = 0; k < count; ++k, from += pitch, place += width) {
      const Lanes x = select(step < length, change(Lanes::load(from)), zero);
      x.store(place);
      seen(i % kSumLanes, x);
      step += stride;
    }
  }
}

void LoadSignals(const Trajectories& t, const SignalRows& signals, const double* lengths, int first,
                 int every, int count, std::size_t begin, std::size_t width, double* tile) {
  const std::size_t rows = t.stride() * static_cast<std::size_t>(every);  // of a feature of a step
  const std::size_t stride = static_cast<std::size_t>(count) * width;
  const auto nobody = [](std::size_t, Lanes) HWY_ATTR {};
  lengths += begin;
  for (int f = 0; f < signals.features; ++f, tile += stride) {
    LoadRow(
        t.feature_row(first, signals.rows[f]) + begin,
        rows * static_cast<std::size_t>(t.features()), lengths, first, every, count, width, tile,
        [](Lanes x) HWY_ATTR { return x; }, nobody);
  }
  for (int a = 0; a < t.actions(); ++a, tile += stride) {
    const Lanes low(signals.low[a]);
    const Lanes high(signals.high[a]);
    const Lanes per_sigma(signals.per_sigma[a]);
    const auto limit = [&](Lanes u) HWY_ATTR {
      const Lanes v = u * per_sigma;
      return select(v > low, select(v < high, v, high), low);
    };
    LoadRow(t.action_row(first, a) + begin, rows * static_cast<std::size_t>(t.actions()), lengths,
            first, every, count, width, tile, limit, nobody);
  }
  LoadRow(
      lengths, 0, lengths, first, every, count, width, tile,
      [](Lanes) HWY_ATTR { return Lanes(1.0); }, nobody);
}

void LoadNextFeatures(const Trajectories& t, const SignalRows& signals, const double* lengths,
                      int first, int every, int count, double* tile, double* squares) {
  const std::size_t width = padded_count(t);
  const std::size_t stride = static_cast<std::size_t>(count) * width;
  const std::size_t pitch =
      t.stride() * static_cast<std::size_t>(every) * static_cast<std::size_t>(t.features());
  // Nothing follows the last step of the task.
  const bool last = first + (count - 1) * every == t.steps() - 1;
  for (int f = 0; f < signals.features; ++f, tile += stride, squares += kSumLanes) {
    Lanes sums[kSumLanes / kVector];
    for (std::size_t v = 0; v < kSumLanes; v += kVector)
      sums[v / kVector] = Lanes::load(squares + v);
    if (count > 1 || !last) {
      LoadRow(
          t.feature_row(first + 1, signals.rows[f]), pitch, lengths, first, every,
          last ? count - 1 : count, width, tile, [](Lanes x) HWY_ATTR { return x; },
          [&](std::size_t lane, Lanes x)
              HWY_ATTR { sums[lane / kVector] = multiply_add(x, x, sums[lane / kVector]); });
    }
    for (std::size_t i = 0; last && i < width; ++i) tile[stride - width + i] = 0;
    for (std::size_t v = 0; v < kSumLanes; v += kVector) sums[v / kVector].store(squares + v);
  }
}

/// ∂c/∂z_k at the signals of a step, which are `stride` apart.
HWY_INLINE Lanes CostSlope(const AdjointModel& model, int signals, int k, const double* z,
                           std::size_t stride) {
  Lanes slope(model.cost_slope[k]);
  const double* row = model.cost_hessian + k * signals;
  if (model.sum_of_squares) return multiply_add(Lanes(row[k]), Lanes::load(z + k * stride), slope);
  for (int j = 0; j < signals; ++j) {
    slope = multiply_add(Lanes(row[j]), Lanes::load(z + j * stride), slope);
  }
  return slope;
}

/// Whether an action within its limits is at one.
HWY_INLINE LaneCondition IsHeld(const AdjointModel& model, int a, Lanes v) {
  return (v <= Lanes(model.from.low[a])) | (v >= Lanes(model.from.high[a]));
}

/// Adds the products of a step to `held` where an action is at a limit. Features and actions are
/// `stride` apart.
HWY_NOINLINE void AddHeld(const AdjointModel& model, int features, int actions, const double* z,
                          const double* weighted, std::size_t stride, LaneCondition live,
                          double* held) {
  const double* v = z + static_cast<std::size_t>(features) * stride;
  for (int a = 0; a < actions; ++a) {
    const LaneCondition first = live & IsHeld(model, a, Lanes::load(v + a * stride));
    for (int b = a; b < actions; ++b) {
      const LaneCondition either = first | (live & IsHeld(model, b, Lanes::load(v + b * stride)));
      const bool nobody = hn::AllFalse(DoubleTag(), either.m);
      for (int f = 0; f < features; ++f, held += features * kSumLanes) {
        if (nobody) continue;
        const Lanes x = select(either, Lanes::load(weighted + f * stride), Lanes(0.0));
        for (int h = f; h < features; ++h) {
          double* sum = held + h * kSumLanes;
          multiply_add(x, Lanes::load(z + h * stride), Lanes::load(sum)).store(sum);
        }
      }
    }
  }
}

/// g = D (∂c/∂v + Bᵀλ), λ ← ∂c/∂Φ + Aᵀλ + Kᵀg, for both models, from the last of the steps to the
/// first. Nearly all D are 1, so λ ← ∂c/∂Φ + Kᵀ∂c/∂v + (A + BK)ᵀλ, and what is too much of it is
/// taken away where they are not. kFeatures: 0 if it is not known here.
template <int kFeatures>
void StepBack(const AdjointModel& model, int feature_count, int actions, const AdjointSteps& steps,
              AdjointSums& sums) {
  constexpr int kMost = kFeatures > 0 ? kFeatures : AdjointModel::kMostSignals;
  const int features = kFeatures > 0 ? kFeatures : feature_count;
  const int signals = features + actions;
  const std::size_t stride = static_cast<std::size_t>(steps.count) * kSumLanes;
  const Lanes zero(0.0);
  Lanes adjoint[kMost], lane_adjoint[kMost], before[kMost], lane_before[kMost];
  for (std::size_t lane = 0; lane < kSumLanes; lane += kVector) {
    const Lanes length = Lanes::load(steps.lengths + lane);
    double* const ends = steps.adjoints + lane;
    for (int f = 0; f < features; ++f) {
      adjoint[f] = Lanes::load(ends + f * kSumLanes);
      lane_adjoint[f] = Lanes::load(ends + (features + f) * kSumLanes);
    }
    for (int k = steps.count - 1; k >= 0; --k) {
      const LaneCondition live = Lanes(static_cast<double>(steps.first + k)) < length;
      const std::size_t at = static_cast<std::size_t>(k) * kSumLanes + lane;
      const double* z = steps.signals + at;
      const double* row = model.closed_loop;
      const double* lane_row = model.lane_closed_loop + lane;
      const auto add_carried = [&](Lanes& slope, Lanes& lane_slope) HWY_ATTR {
        for (int f = 0; f < features; ++f) {
          slope = multiply_add(Lanes(row[f]), adjoint[f], slope);
          lane_slope =
              multiply_add(Lanes::load(lane_row + f * kSumLanes), lane_adjoint[f], lane_slope);
        }
        row += features;
        lane_row += static_cast<std::size_t>(features) * kSumLanes;
      };
      // Actions first.
      for (int f = 0; f < features; ++f) before[f] = CostSlope(model, signals, f, z, stride);
      LaneCondition any_held = zero > zero;
      double* slopes = steps.slopes + at;
      const std::size_t lane_slopes = static_cast<std::size_t>(actions) * stride;
      for (int a = 0; a < actions; ++a, slopes += stride) {
        Lanes g = CostSlope(model, signals, features + a, z, stride);
        for (int f = 0; f < features; ++f) {
          before[f] = multiply_add(Lanes(model.gains[a * features + f]), g, before[f]);
        }
        Lanes lane_g = g;
        add_carried(g, lane_g);
        g.store(slopes);  // features behind the end are 0: there it counts for nothing
        lane_g.store(slopes + lane_slopes);
        any_held =
            any_held |
            IsHeld(model, a, Lanes::load(z + static_cast<std::size_t>(features + a) * stride));
      }
      for (int f = 0; f < features; ++f) {
        lane_before[f] = before[f];
        add_carried(before[f], lane_before[f]);
      }
      any_held = any_held & live;
      if (!hn::AllFalse(DoubleTag(), any_held.m)) {
        if (!sums.ever_held) {
          sums.ever_held = true;
          sums.held.resize(static_cast<std::size_t>(actions * (actions + 1) / 2 * features) *
                           features * kSumLanes);
          std::fill(sums.held.begin(), sums.held.end(), 0.0);
        }
        AddHeld(model, features, actions, z, steps.weighted_features + at, stride, live,
                sums.held.data() + lane);
        slopes = steps.slopes + at;
        for (int a = 0; a < actions; ++a, slopes += stride) {
          const LaneCondition is_held =
              IsHeld(model, a, Lanes::load(z + static_cast<std::size_t>(features + a) * stride));
          const Lanes g = Lanes::load(slopes);
          const Lanes lane_g = Lanes::load(slopes + lane_slopes);
          select(is_held, zero, g).store(slopes);
          select(is_held, zero, lane_g).store(slopes + lane_slopes);
          for (int f = 0; f < features; ++f) {
            const Lanes minus_gain = select(is_held, Lanes(-model.gains[a * features + f]), zero);
            before[f] = multiply_add(minus_gain, g, before[f]);
            lane_before[f] = multiply_add(minus_gain, lane_g, lane_before[f]);
          }
        }
      }
      for (int f = 0; f < features; ++f) {
        adjoint[f] = select(live, before[f], adjoint[f]);
        lane_adjoint[f] = select(live, lane_before[f], lane_adjoint[f]);
      }
    }
    for (int f = 0; f < features; ++f) {
      adjoint[f].store(ends + f * kSumLanes);
      lane_adjoint[f].store(ends + (features + f) * kSumLanes);
    }
  }
}

void StepBackOf(const AdjointModel& model, int features, int actions, const AdjointSteps& steps,
                AdjointSums& sums) {
  switch (features) {  // those of the built-in systems keep λ in registers
    case 2:
      return StepBack<2>(model, features, actions, steps, sums);
    case 4:
      return StepBack<4>(model, features, actions, steps, sums);
    case 6:
      return StepBack<6>(model, features, actions, steps, sums);
    default:
      return StepBack<0>(model, features, actions, steps, sums);
  }
}

void SumNormals(const AdjointSums& sums, int features, int actions, const double* curvature,
                double* normals) {
  const std::size_t pitch = static_cast<std::size_t>(actions * features + 1) * kSumLanes;
  const std::size_t square = static_cast<std::size_t>(features * features) * kSumLanes;
  const double* products = sums.products.data();
  std::size_t pair = 0;
  for (int a = 0; a < actions; ++a) {
    for (int b = a; b < actions; ++b, pair += square) {
      const Lanes h(curvature[a * actions + b]);
      // All steps, less those where one of the two was held.
      const double* held = sums.ever_held ? sums.held.data() + pair : nullptr;
      for (int f = 0; f < features; ++f) {
        double* to = normals + static_cast<std::size_t>(a * features + f) * pitch +
                     static_cast<std::size_t>(b * features) * kSumLanes;
        for (int g = a == b ? f : 0; g < features; ++g) {
          const std::size_t at =
              static_cast<std::size_t>(std::min(f, g) * features + std::max(f, g)) * kSumLanes;
          for (std::size_t lane = 0; lane < kSumLanes; lane += kVector) {
            Lanes product = Lanes::load(products + at + lane);
            if (held != nullptr) {
              // Summed in another order: what is left by rounding is nothing.
              const Lanes left = product - Lanes::load(held + at + lane);
              product = select(magnitude(left) > Lanes(kRoundedSum) * magnitude(product), left,
                               Lanes(0.0));
            }
            (h * product).store(to + g * kSumLanes + lane);
          }
        }
      }
    }
  }
  for (int k = 0; k < actions * features; ++k) {
    for (std::size_t lane = 0; lane < kSumLanes; lane += kVector) {
      Lanes::load(sums.gradients.data() + k * kSumLanes + lane)
          .store(normals + (k + 1) * pitch - kSumLanes + lane);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(LoadSignals);
HWY_EXPORT(LoadNextFeatures);
HWY_EXPORT(StepBackOf);
HWY_EXPORT(SumNormals);

void load_signals(const Trajectories& trajectories, const SignalRows& signals,
                  const double* lengths, int first, int every, int count, std::size_t begin,
                  std::size_t width, double* tile) {
  HWY_DYNAMIC_DISPATCH(LoadSignals)
  (trajectories, signals, lengths, first, every, count, begin, width, tile);
}

void load_next_features(const Trajectories& trajectories, const SignalRows& signals,
                        const double* lengths, int first, int every, int count, double* tile,
                        double* squares) {
  HWY_DYNAMIC_DISPATCH(LoadNextFeatures)
  (trajectories, signals, lengths, first, every, count, tile, squares);
}

void sum_adjoints(const Trajectories& t, const AdjointModel& model, const double* lengths,
                  const double* adjoints, AdjointSums& sums) {
  constexpr int kSteps = 16;
  const int states = model.from.features;
  const auto features = static_cast<std::size_t>(states);
  const auto actions = static_cast<std::size_t>(t.actions());
  const std::size_t square = features * features;
  const std::size_t slopes = features + actions + 1;  // the first row of them, behind the signals
  const std::size_t weighted = model.step_weights != nullptr ? slopes + 2 * actions : 0;
  sums.gradients.resize(2 * actions * features * kSumLanes);
  sums.products.resize(square * kSumLanes);
  sums.ever_held = false;
  sums.tile.resize((slopes + 2 * actions + features) * kSteps * kSumLanes);
  sums.ends.resize(2 * features * kSumLanes);
  sums.rows.resize(2 * actions);
  std::iota(sums.rows.begin(), sums.rows.end(), static_cast<int>(slopes));
  bool begun = false;
  for (std::size_t i = 0; i < padded_count(t); i += kSumLanes) {
    for (std::size_t f = 0; f < 2 * features; ++f) {
      std::copy_n(adjoints + f * padded_count(t) + i, kSumLanes, sums.ends.data() + f * kSumLanes);
    }
    for (int last = t.steps(); last > 0; last -= kSteps) {
      const int first = std::max(0, last - kSteps);
      const std::size_t width = static_cast<std::size_t>(last - first) * kSumLanes;
      double* const tile = sums.tile.data();
      load_signals(t, model.from, lengths, first, 1, last - first, i, kSumLanes, tile);
      for (std::size_t k = 0; weighted > 0 && k < features * width; ++k) {
        const auto step = static_cast<int>(k % width / kSumLanes);
        tile[weighted * width + k] = model.step_weights[first + step] * tile[k];
      }
      const AdjointSteps steps{first,
                               last - first,
                               lengths + i,
                               tile,
                               tile + weighted * width,
                               sums.ends.data(),
                               tile + slopes * width};
      HWY_DYNAMIC_DISPATCH(StepBackOf)(model, states, t.actions(), steps, sums);
      sum_products(tile, width, sums.rows.data(), 2 * t.actions(), static_cast<int>(weighted),
                   states, begun, sums.gradients.data());
      sum_triangle(tile + weighted * width, tile, width, states, states, begun,
                   sums.products.data());
      begun = true;
    }
  }
}

void sum_normals(const AdjointSums& sums, int features, int actions, const double* curvature,
                 double* normals) {
  HWY_DYNAMIC_DISPATCH(SumNormals)(sums, features, actions, curvature, normals);
}

}  // namespace lifeguard
#endif  // HWY_ONCE
