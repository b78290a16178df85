// One step of many copies of a built-in system with actions from outside, compiled once per SIMD
// target; the same arithmetic, and so the same bits, as in the rollout kernel.

#include "bindings/batch_kernel.hpp"

#include <variant>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bindings/batch_kernel.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "lifeguard/systems/dynamics.hpp"

HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

struct StepOf {
  const python::BatchStep& job;

  template <BuiltInSystem S>
  void operator()(const S& system) const {
    const Dynamics<S> dynamics(system);
    const TaskSettings& settings = job.task->settings;
    const Integrator integrator = settings.integrator;
    const double dt = settings.dt_seconds;
    constexpr int kLanes = static_cast<int>(hn::MaxLanes(DoubleTag()));
    for (int first = 0; first < job.count; first += kLanes) {
      Lanes x[S::kStates];
      Lanes u[S::kActions];
      for (int i = 0; i < S::kStates; ++i) x[i] = Lanes::load(row(job.states, i) + first);
      for (int a = 0; a < S::kActions; ++a) {
        u[a] = limited(Lanes::load(row(job.actions, a) + first), Lanes(settings.action_low(a)),
                       Lanes(settings.action_high(a)));
      }
      Lanes error = x[0] - Lanes(settings.goal(0));
      Lanes cost = Lanes(settings.state_weights(0)) * (error * error);
      for (int i = 1; i < S::kStates; ++i) {
        error = x[i] - Lanes(settings.goal(i));
        cost = multiply_add(Lanes(settings.state_weights(i)), error * error, cost);
      }
      for (int a = 0; a < S::kActions; ++a) {
        cost = multiply_add(Lanes(settings.action_weights(a)), u[a] * u[a], cost);
      }
      integrate(dynamics, integrator, dt, u, x);
      Lanes alive(1.0);
      for (int i = 0; i < S::kStates; ++i) {
        const Lanes bound(HWY_MIN(settings.failure_bounds(i), kDivergenceBound));
        // False for NaN as well.
        alive = select((x[i] <= bound) & (x[i] >= Lanes(0.0) - bound), alive, Lanes(0.0));
        x[i].store(row(job.states, i) + first);
      }
      cost.store(job.costs + first);
      (Lanes(1.0) - alive).store(job.failed + first);
    }
  }
  void operator()(const CustomSystemPointer& /*system*/) const {}  // has a loop of its own

 private:
  template <class Number>
  Number* row(Number* rows, int i) const {
    return rows + static_cast<std::size_t>(i) * job.stride;
  }
};

void TakeBatchStep(const python::BatchStep& job) {
  std::visit(StepOf{job}, job.task->system.model().machine);
}

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lifeguard {

HWY_EXPORT(TakeBatchStep);

namespace python {

void batch_step(const BatchStep& step) { HWY_DYNAMIC_DISPATCH(TakeBatchStep)(step); }

}  // namespace python
}  // namespace lifeguard
#endif
