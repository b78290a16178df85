#pragma once

#include <Eigen/Core>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/lifelong/alternation.hpp"
#include "lifeguard/lifelong/gradient_memory.hpp"
#include "lifeguard/policy/knowledge.hpp"
#include "lifeguard/lifelong/linearised.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/lifelong/safeguard.hpp"
#include "lifeguard/safety/solve/metric_projection.hpp"

namespace lifeguard {

/// How a round's loss becomes the unconstrained solution (L̃, S̃).
enum class UpdateRule {
  linearised,   // LinearisedUpdate: the default, see docs/learning.md for what the others give
  alternating,  // Alternation on the summed losses
};

struct LearnerSettings {
  RoundSettings round;
  /// k, the number of columns of L, at most d. 0 means d: with a common mean nothing is gained by
  /// fewer, and docs/learning.md has the numbers.
  int basis_size = 0;
  /// ζ, the diagonal of the first L. > 0.
  double zeta = 1.0;
  UpdateRule update = UpdateRule::linearised;
  LinearisedSettings linearised;
  AlternationSettings alternation;
  RegularisationSettings regularisation;
  /// ρ in q_t ← ρ q_t + l_j, for the alternating rule. In [0, 1]. 1 is
  /// follow-the-regularised-leader over all rounds, as in the theorem; 0 keeps the last round of
  /// each task only.
  double memory = 0.3;

  /// The projection onto what is safe; its μ₁ and μ₂ weigh coefficients against the basis.
  ProjectionSettings projection;
  /// Whether a safe set without end along some direction is refused, as the theorem asks.
  bool require_bounded_sets = false;

  void validate(int parameters) const;
  bool operator==(const LearnerSettings&) const = default;
};

/// Algorithm 1 of the paper: every round turns one task's loss into the unconstrained (L̃, S̃), and
/// the safeguard projects these to knowledge that is verified to be safe for all known tasks. The
/// cost of a round is linear in the number of known tasks and does not depend on the number of
/// rounds before it.
class Learner : public PolicyLearner {
 public:
  Learner(int features, int actions, const LearnerSettings& settings = {});

  const LearnerSettings& settings() const { return settings_; }
  const Knowledge& knowledge() const { return knowledge_; }
  const std::vector<SummedLoss>& losses() const { return losses_; }

  const std::vector<SafeSet>& safe_sets() const { return safeguard_.safe_sets(); }

  /// A task without constraints (PolicyLearner::add_task), or one whose every policy must lie in
  /// `safe_set`, the first one included. The anchor is the given policy if it is strictly safe,
  /// else the origin, else the centre of the set. A set without strictly safe policies throws
  /// InvalidInput that names the rows that contradict each other, with their multipliers.
  using PolicyLearner::add_task;
  void add_task(const std::string& id, const SafeSet& safe_set, double sigma,
                const std::optional<Eigen::VectorXd>& anchor = {});
  /// New constraints for a known task; the next policy already obeys. Throws as add_task does, and
  /// the learner is then what it was.
  void set_safe_set(std::string_view id, const SafeSet& safe_set,
                    const std::optional<Eigen::VectorXd>& anchor = {});
  /// For each task the worst row and its margin, the spectrum of L, and the hash of the parameters
  /// they speak of. check_certificate verifies it independently.
  Certificate certificate() const { return safeguard_.certify(knowledge_); }

  /// For tests: how the projection's solver steps shall fail. Not part of the saved state.
  void inject_faults(FaultInjection faults) { safeguard_.inject_faults(std::move(faults)); }

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;

  void save(std::ostream& out) const;
  /// A file that was not written by save() throws InvalidInput.
  static Learner load(std::istream& in);

  void write_state(std::ostream& out) const override { save(out); }
  /// Verified as load() does; settings, tasks and safe sets must be the ones this learner has.
  void read_state(std::istream& in) override;

 private:
  void append_task(const Eigen::VectorXd& anchor, const SafeSet* safe_set) override;
  RoundStatus update(int task, const RoundLoss& loss, SafeguardRecord& safeguard) override;
  Eigen::VectorXd choose_anchor_for(std::string_view id, const SafeSet& safe_set,
                                    const std::optional<Eigen::VectorXd>& given) const;
  /// A new task may take large steps, however experienced the learner is.
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }
  // The unconstrained solution of the round, into next_ and next_loss_.
  RoundStatus solve_linearised(int task, const RoundLoss& loss);
  RoundStatus solve_alternating(int task, const RoundLoss& loss);
  /// Shortens steps_ to the safe sets, in this metric.
  void limit_steps(const Eigen::MatrixXd& metric);
  bool far_above(double cost, double reference) const;
  /// The task costs far more than it did before.
  bool astray(int task, const RoundLoss& loss) const;
  /// The task costs far more than any other ever did, the batch does not say which way is better,
  /// and its anchor was not tried in this case before.
  bool lost(int task, const RoundLoss& loss) const;
  double step_radius(const RoundLoss& loss) const;  // of step_
  double shrinkage_floor() const { return settings_.round.base_learner.step.shrinkage_floor; }

  LearnerSettings settings_;
  Safeguard safeguard_;
  Knowledge knowledge_;
  std::vector<SummedLoss> losses_;         // q_t, of the alternating rule
  std::vector<GradientMemory> gradients_;  // of the linearised rule
  Eigen::VectorXd lowest_costs_;     // surely reached in one of the task's rounds; infinite before
  Eigen::MatrixXd lowest_policies_;  // the policies that had them, d × T
  Eigen::VectorXd takes_part_;       // 1 for each task that shares common steps, else 0
  // The round in the making; it becomes the knowledge at the end or not at all.
  Knowledge next_;
  SummedLoss next_loss_;
  GradientMemory next_gradient_;
  double next_takes_part_ = 1;
  Eigen::MatrixXd metric_factor_;  // features × features
  Eigen::VectorXd policy_;         // of the observed task
  Eigen::VectorXd step_;
  Eigen::VectorXd own_step_;  // by the gradients of several rounds
  Eigen::MatrixXd steps_;     // that the policies of all tasks take, d × T
  MetricProjection metric_projection_;
  LinearisedUpdate linearised_;
  Alternation alternation_;
};

}  // namespace lifeguard
