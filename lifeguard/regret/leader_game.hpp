#pragma once

#include <Eigen/Core>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/policy/policy_prior.hpp"
#include "lifeguard/regret/comparator.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// A convex set of policies, and one of them that is strictly inside.
struct SafeRegion {
  const SafeSet& set;
  const Eigen::VectorXd& interior;
};

/// What bounds the regret of one task's rounds, term by term (docs/theorem.md). For every safe u
///   Σ l_j(α_j) - Σ l_j(u) ≤ prior + rounds + off_leader + changes,
/// whoever chose the policies α_j that were played.
struct BoundTerms {
  /// ½‖u - m‖²_{P⁻¹} - min ½‖α - m‖²_{P⁻¹} over the safe α of the first round: how far from what
  /// was believed the best policy lies.
  double prior = 0;
  /// Σ_j (a_j + 2√(a_j ε_j)) with a_j = ½ g_jᵀ H_j⁻¹ g_j: what a leader pays for not having seen
  /// the round. g_j is the loss's gradient at the leader, H_j = P⁻¹ + Σ_{i ≤ j} G_i, and ε_j
  /// bounds how far the computed leader is from the exact one.
  double rounds = 0;
  /// Σ_j (l_j(α_j) - l_j(leader)): what was played in place of the leader. Of either sign.
  double off_leader = 0;
  /// What is paid where the prior or the safe set changed between two rounds. Of either sign.
  double changes = 0;
  /// log det(I + P Σ G_j), and the largest loss Λ of the leader above the loss's own minimum: the
  /// corollary's Λ log det bounds `rounds` (of an exact leader).
  double log_det = 0;
  double largest_excess = 0;

  double total() const { return prior + rounds + off_leader + changes; }
  /// The same for a learner that plays the leader.
  double of_leader() const { return prior + rounds + changes; }
  /// `of_leader` with the logarithm in place of the sum over rounds.
  double logarithmic() const { return prior + largest_excess * log_det + changes; }
  BoundTerms& operator+=(const BoundTerms& other);
};

/// One task's rounds as a game of online quadratic losses over a convex set, and in it
/// follow-the-regularised-leader with a Gaussian prior,
///   leader_j = argmin { ½‖α - m‖²_{P⁻¹} + Σ_{i < j} l_i(α) : α safe },
/// which is followed whether or not it is what is played. The summed losses are kept by whoever
/// keeps the game (RegretLedger); memory is O(d²), whatever the number of rounds.
class LeaderGame {
 public:
  /// Before the first round. Throws InvalidInput unless the covariance is positive definite and of
  /// the policies' size.
  LeaderGame(const PolicyPrior& prior, const LossSum& losses, const SafeRegion& region);

  /// A round in which `played` was played, with the losses so far, this one included. A round
  /// without signal must not be recorded: it prefers no policy.
  void record(const RoundLoss& loss, const Eigen::VectorXd& played, const LossSum& losses,
              const SafeRegion& region);
  /// From now on this prior and this region hold.
  void change(const PolicyPrior& prior, const LossSum& losses, const SafeRegion& region);

  const PolicyPrior& prior() const { return prior_; }
  /// What a leader plays next, and a bound on how far it is above the minimum.
  const Eigen::VectorXd& leader() const { return leader_; }
  double leader_gap() const { return gap_; }
  /// Against a comparator, which must be safe.
  BoundTerms terms(const Eigen::VectorXd& comparator) const;

  void save(StateWriter& writer) const;
  /// What save() wrote; throws InvalidInput unless it fits.
  static LeaderGame load(StateReader& reader, const LossSum& losses);

 private:
  LeaderGame() = default;
  void set_prior(const PolicyPrior& prior, Eigen::Index parameters);
  /// The prior's weight ½‖α - m‖²_{P⁻¹}, and with it the losses: what a leader minimises.
  double weight(const Eigen::VectorXd& alpha) const;
  void add_prior(const LossSum& losses);
  void find_leader(const SafeRegion& region);

  PolicyPrior prior_;
  Eigen::MatrixXd precision_;  // P⁻¹, blocks as those of the covariance
  LossSum sum_;                // the prior's weight and all losses
  Eigen::MatrixXd factor_;     // Cholesky factors of the blocks of its curvature, lower part
  double log_det_ = 0;         // of that curvature
  Eigen::VectorXd leader_;
  double gap_ = 0;
  double first_least_ = 0;  // weight of the first leader, a lower bound
  BoundTerms terms_;        // all but `prior`
};

}  // namespace lifeguard
