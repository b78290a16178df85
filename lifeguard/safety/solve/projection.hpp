#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/solve/fault_injection.hpp"
#include "lifeguard/safety/solve/projection_result.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

class ProjectionMethod;
class ProjectionTask;
class SafeSearch;

/// What stays the same while a projection runs.
struct SafetyProblem {
  const std::vector<ProjectionTask>& tasks;
  /// When the best point so far becomes the answer. A learner has none: its results must not depend
  /// on a clock.
  Deadline deadline = {};
};

/// Projects the learner's target (L̃, S̃) onto what is safe for all tasks:
///   min μ₁‖S − S̃‖² + μ₂‖L − L̃‖²  with  α_t = ᾱ_t + L s_t in the safe set of every task t,
///                                      p I ⪯ LᵀL ⪯ q I
/// (Eq. 6 of the paper with the signs of the Bregman divergence, p and q corrected). Whatever is
/// returned was verified after the last operation on it, with rigorous rounding bounds; if nothing
/// can be verified, s_t = 0 can, since anchors are strictly safe.
///
/// A pure function of its arguments: warm starts come from the last point, not from hidden memory.
/// In mode exact nothing is allocated once the largest sizes have been seen.
class Projection {
 public:
  /// Throws InvalidInput for settings outside their rules.
  explicit Projection(const ProjectionSettings& settings);
  ~Projection();
  Projection(Projection&&) noexcept;
  Projection& operator=(Projection&&) noexcept;

  const ProjectionSettings& settings() const { return settings_; }
  void inject_faults(FaultInjection faults);

  /// `last` is the point of the round before. Usually it is safe; where it is not (a new task,
  /// changed constraints), it is repaired first. The result lives until the next call. Throws
  /// InvalidInput unless target, last point and tasks fit together, anchors included.
  const ProjectionResult& project(const SafetyProblem& problem, const Knowledge& target,
                                  const Knowledge& last);

 private:
  ProjectionSettings settings_;
  std::unique_ptr<SafeSearch> search_;
  std::unique_ptr<ProjectionMethod> method_;
};

}  // namespace lifeguard
