#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/runs/run_rows.hpp"
#include "lifeguard/runs/run_view.hpp"

namespace lifeguard {

/// What the learner of these tasks believes after a round, as it is stored. Nothing but for
/// empirical Bayes, and before it knows anything.
std::optional<StoredBeliefs> stored_beliefs(const PolicyLearner& learner,
                                            const std::vector<Task>& tasks, long round);
/// Likewise what it believes of one task; moment, task and visit are those of the row, which is
/// given back with what is believed.
std::optional<StoredTaskBelief> stored_task_belief(const PolicyLearner& learner, const Task& task,
                                                   StoredTaskBelief row);
/// w of empirical Bayes; NaN for all others, and before the first round.
double agreement_of(const PolicyLearner& learner);

/// A covariance as it is stored, and what it is of: aᵀ Σ a.
Eigen::VectorXd lower_half(const Eigen::MatrixXd& covariance);
double variance_along(const Eigen::VectorXd& lower_half, const Eigen::VectorXd& a);

/// A direction in which tasks differ, for people.
struct DirectionSummary {
  struct Part {
    std::string name;
    double share = 0;
  };
  double explained = 0;  // of all differences between tasks
  /// Its gains with their shares, the largest first.
  std::vector<Part> gains;
  /// The same for each input of the policy, whatever actions it moves: "yaw rate". Several actions
  /// that answer to one thing are one thing to people.
  std::vector<Part> inputs;

  /// "the gains on yaw rate (61 %), roll rate (20 %)": as many as say nine tenths, at most three.
  std::string words() const;
  /// The first of these without their shares: "yaw rate, roll rate".
  std::string short_words() const;
};

/// What the directions in which tasks differ say to people.
struct KnowledgeSummary {
  double effective = 0;  // number of directions: (Σλ)² / Σλ²
  long directions = 0;   // that there are
  std::vector<DirectionSummary> first;
};

/// Of the last stored beliefs; nothing without any.
std::optional<KnowledgeSummary> summarise_knowledge(const RunView& run);

/// The parts of stored direction i in each gain: its changes in their units, whose squares are the
/// shares and sum up to 1.
Eigen::VectorXd gains_of(const StoredBeliefs& beliefs, Eigen::Index i);
/// How much of the differences between tasks lies along direction i.
double explained_by(const StoredBeliefs& beliefs, Eigen::Index i);

}  // namespace lifeguard
