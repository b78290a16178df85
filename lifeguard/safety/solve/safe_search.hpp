#pragma once

#include <utility>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/prove/verification.hpp"
#include "lifeguard/safety/solve/fault_injection.hpp"
#include "lifeguard/safety/solve/projection.hpp"
#include "lifeguard/safety/solve/projection_result.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"
#include "lifeguard/safety/solve/safe_coefficients.hpp"
#include "lifeguard/safety/solve/spectrum_limits.hpp"
#include "lifeguard/safety/solve/tightened_tasks.hpp"

namespace lifeguard {

/// (L, S), and how far it is from the target.
struct ProjectionPoint {
  Knowledge knowledge;
  double objective = kNaN;
  /// The smallest factor by which any s_t was scaled back to be verified.
  double retraction = 1;
};

/// One projection in the making, and what all modes share: the present point is safe from
/// start_from_last() on, and only a safe point takes its place.
class SafeSearch {
 public:
  explicit SafeSearch(const ProjectionSettings& settings);

  void inject_faults(FaultInjection faults) { faults_ = std::move(faults); }
  bool has_faults() const { return static_cast<bool>(faults_); }
  ProjectionFault fault(ProjectionStage stage) const;

  /// Problem and target must live until the answer is read.
  void begin(const SafetyProblem& problem, const Knowledge& target, const Knowledge& last);

  const ProjectionSettings& settings() const { return settings_; }
  const Knowledge& target() const { return *target_; }
  const Deadline& deadline() const { return problem_->deadline; }
  const std::vector<TightenedTask>& tasks() const { return tightened_.tasks(); }
  SpectrumLimits& spectrum() { return spectrum_; }
  ProjectionPoint& present() { return present_; }
  ProjectionResult& result() { return result_; }

  /// The last point becomes the present one; what of it is not safe is repaired. False, with status
  /// kept_last, when the target is nothing to go to.
  bool start_from_last();
  bool target_is_finite() const;
  /// Whether a task has matrix inequalities.
  bool is_curved() const;

  /// The S-steps of all tasks for the point's basis, verified, and the objective there. False when
  /// the basis itself cannot be verified.
  bool fit_coefficients(ProjectionPoint& point);
  /// Whether any solver step failed since forget_failures().
  bool failed() const { return failed_; }
  void note_failure() { failed_ = true; }
  void forget_failures() { failed_ = false; }

  /// Whether the verifier accepts it as it is.
  bool is_safe(const Knowledge& knowledge);
  double objective(const Knowledge& knowledge) const;
  /// A safe point that takes the place of the present one, which goes to `next`.
  void accept(ProjectionPoint& next);
  /// The target takes the place of the last point if the verifier accepts it.
  bool accept_target();
  /// The target takes the place of the last point, whatever it is.
  void accept_target_unchecked();

  /// The present point as the answer, with its margins. It lives until the next begin().
  const ProjectionResult& finish();

 private:
  void record_margins(const Knowledge& knowledge);
  void repair(Knowledge& knowledge);
  void fit_task(std::size_t task, const Eigen::Ref<const Eigen::VectorXd>& target,
                ProjectionPoint& point);

  ProjectionSettings settings_;
  FaultInjection faults_;
  const SafetyProblem* problem_ = nullptr;
  const Knowledge* target_ = nullptr;
  TightenedTasks tightened_;
  SpectrumLimits spectrum_;
  SafeCoefficients coefficients_;
  ProjectionPoint present_;
  ProjectionResult result_;
  bool failed_ = false;
  bool margins_are_known_ = false;  // of the present point
};

}  // namespace lifeguard
