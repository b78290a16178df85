#pragma once

#include <Eigen/Core>
#include <memory>
#include <utility>
#include <vector>

#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/safety/solve/fault_injection.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

/// Keeps the knowledge of a learner inside the safe sets of all its tasks. Knowledge enters as the
/// learner wants it and leaves verified, after the last operation on it, with every rounding error
/// counted: that is the only way into a learner's state.
class Safeguard {
 public:
  /// Throws InvalidInput for settings outside their rules.
  explicit Safeguard(const ProjectionSettings& settings);
  ~Safeguard();
  Safeguard(Safeguard&&) noexcept;
  Safeguard& operator=(Safeguard&&) noexcept;

  const ProjectionSettings& settings() const;
  const std::vector<SafeSet>& safe_sets() const { return safe_sets_; }

  void inject_faults(FaultInjection faults);
  void inject_refusals(LastLookInjection refuses) { refuses_ = std::move(refuses); }

  /// Throws InvalidInput unless the anchor is strictly safe.
  static void require_task(const SafeSet& set, const Eigen::VectorXd& anchor);
  /// As require_task.
  void add_task(const SafeSet& set, const Eigen::VectorXd& anchor);
  void replace_task(int task, const SafeSet& set, const Eigen::VectorXd& anchor);
  void remove_last_task();

  /// `wanted` comes in as the unconstrained (L̃, S̃) and leaves as the verified (L, S); `last` is the
  /// verified point of the round before. Anchors stay.
  SafeguardRecord protect(const Knowledge& last, Knowledge& wanted);

  /// Whether α, as it is about to be handed out, obeys every row and the slack limit of the task,
  /// in plain arithmetic. Always true in mode none.
  bool allows(int task, const Eigen::Ref<const Eigen::VectorXd>& parameters) const;

  /// What is proven of this knowledge. In mode none the margins may be negative.
  Certificate certify(const Knowledge& knowledge) const;

 private:
  // The solvers and the tasks as they see them, which no user of a learner has to compile.
  struct Solver;
  std::unique_ptr<Solver> solver_;
  std::vector<SafeSet> safe_sets_;
  LastLookInjection refuses_;
};

}  // namespace lifeguard
