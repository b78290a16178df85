#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/policy/policy_prior.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// What a learning rule sees of a round.
struct LearningRound {
  int task;
  const RoundLoss& loss;
  long rounds_before;
  /// At the beginning of the round.
  const Knowledge& knowledge;
  /// One for each task; a rule may shorten its steps to them, since a step that is cut in its own
  /// metric keeps more of what it wanted than one that the safeguard cuts.
  const std::vector<SafeSet>& safe_sets;
};

/// How a round's loss becomes the unconstrained solution (L̃, S̃), and what is remembered for that of
/// each task. Nothing here is about safety: whatever a rule returns goes through the safeguard.
class LearningRule {
 public:
  virtual ~LearningRule() = default;

  virtual void add_task(const Eigen::VectorXd& anchor) = 0;
  /// `next` comes in as round.knowledge and leaves as (L̃, S̃). What was remembered stays as it was
  /// until accept(), so that a round that fails later leaves no trace.
  virtual RoundStatus solve(const LearningRound& round, Knowledge& next) = 0;
  /// The round that solve() was called for last has become part of the learner, which knows
  /// `accepted` from now on. Cannot fail.
  virtual void accept(const LearningRound& round, const Knowledge& accepted) = 0;
  /// Where a new task with this anchor shall begin; nothing: at the mean of the known coefficients.
  virtual std::optional<Eigen::VectorXd> first_policy(const Eigen::VectorXd& /*anchor*/) const {
    return std::nullopt;
  }

  /// What is believed of a task's policy before its first loss; of a task that was observed, what
  /// was believed then. Nothing for rules that have no such belief.
  virtual std::optional<PolicyPrior> belief_of(int /*task*/) const { return std::nullopt; }

  /// What is remembered of one task; load_task adds it as the next one and throws InvalidInput
  /// unless it fits.
  virtual void save_task(int task, StateWriter& writer) const = 0;
  virtual void load_task(StateReader& reader) = 0;
  /// What is remembered of all of them together, after the tasks.
  virtual void save_shared(StateWriter& /*writer*/) const {}
  virtual void load_shared(StateReader& /*reader*/) {}
};

std::unique_ptr<LearningRule> make_learning_rule(const LearnerSettings& settings, int features,
                                                 int actions);

}  // namespace lifeguard
