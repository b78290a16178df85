#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/regret/theorem_bounds.hpp"
#include "lifeguard/runs/run_table.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// The schema that this lifeguard writes. It reads all from 1 on.
inline constexpr int kSchemaVersion = 8;

const char* to_string(RoundStatus status);
const char* to_string(BasisPath path);
Cell to_cell(RoundStatus status);
std::string from_cell(const Cell& cell, Fit fit, const RunSizes& sizes, RoundStatus& status);

// What is fixed when a run begins.

/// A text under a name: versions, the configuration, whether the run is finished.
struct StoredText {
  std::string key;
  std::string value;
};

/// The experiment in numbers, so that nobody has to read the configuration again.
struct StoredExperiment {
  long id = 1;
  std::string name;
  std::string family;
  std::string method;       // a method or a variant
  std::string base_method;  // the method behind it
  std::string methods;      // all that are compared, as a JSON list
  int seed = 0;
  int rounds = 0;  // planned
  int tasks = 0;
  int states = 0;
  int features = 0;  // that a policy sees
  int actions = 0;
  int steps = 0;
  int trajectories = 0;  // of a round
  int start_states = 0;
  /// The columns of L that the learner has, chosen or given; 0 for methods without.
  int k = 0;
  double p = kNaN;  // p I ⪯ LᵀL ⪯ q I
  double q = kNaN;
  double mu1 = kNaN;  // weights of the theorem's regulariser
  double mu2 = kNaN;
  double zeta = kNaN;

  RunSizes sizes() const { return {tasks, states, features, actions, k}; }
};

/// A drawn task, its constraints and the policy it started with.
struct StoredTask {
  int task = 0;
  std::string name;
  std::string parameters;  // of the system, as JSON
  std::string system;
  std::string integrator;
  TaskSettings settings;
  long safe_set = 0;
  Eigen::VectorXd first_policy;
  /// What a user's own system says of itself, as JSON, for readers that do not know it; empty for
  /// the others.
  std::string description;
};

/// Constraints; tasks with the same ones share a row.
struct StoredSafeSet {
  long safe_set = 0;
  Eigen::VectorXd coefficients;  // row by row
  Eigen::VectorXd limits;
  std::string names;  // a JSON list
  double slack_limit = kInfinity;
  std::string inequalities;  // as write_inequalities writes them
};

/// One setting as the run uses it.
struct StoredSetting {
  long place = 0;
  std::string key;
  std::string value;
};

// What only a run has whose trajectories come from outside (FleetRun).

/// A machine as the fleet's file describes it now; its task has the rest.
struct StoredMachine {
  int task = 0;
  std::string definition;  // all that it says, as JSON
  bool retired = false;
  std::string notes;
};

/// A change of the fleet between two rounds.
struct StoredChange {
  long place = 0;
  long round = 0;  // after which it was made
  int task = 0;
  std::string what;           // "added", "changed", "retired", "returned"
  long former_safe_set = -1;  // of a task that was there before
  std::string former_definition;
};

/// A policy that was handed out, and the constraints that it was proven to keep.
struct StoredIssue {
  long place = 0;
  int task = 0;
  long round = 0;  // after which it is what to play
  std::string fingerprint;
  long safe_set = 0;
  PerAction sigma;
  Eigen::VectorXd parameters;
  std::string checksum;  // over the one before and all of the above
};

/// Where the trajectories of a round came from.
struct StoredObservation {
  long round = 0;
  std::string id;      // that its sender chose; empty if none
  long issue = 0;      // the place of the policy that was played
  std::string source;  // a file's name, or the sender's address
  std::string digest;  // of what was sent
  int trajectories = 0;
  int cut_short = 0;
};

// What each round leaves behind.

/// One round as it is stored. Times are kept apart from what must be the same to the bit.
struct StoredRound {
  long round = 0;  // counts from 1
  int task = 0;
  long visit = 0;
  RoundStatus status = RoundStatus::not_run;
  double mean_cost = kNaN;
  double loss_before = kNaN;
  double loss_after = kNaN;
  double step_kl = kNaN;
  double noise_share = kNaN;
  /// w of empirical Bayes after the round (TaskBeliefs); NaN for other methods and in files of
  /// schemas before 7.
  double agreement = kNaN;
  Eigen::VectorXd played;  // α of the visited task, as it was rolled out
  /// Tasks whose policy after the round breaks its constraints, by the independent checker.
  int unsafe = 0;
  // What the safeguard did; NaN and empty for methods without one.
  std::string projection;
  std::string basis_path;
  int alternations = 0;
  long iterations = 0;
  double worst_margin = kNaN;
  int worst_task = -1;
  std::string worst_row;
  double retraction = kNaN;
  /// How often the learner handed out its anchor in this round, since its last look at a policy
  /// failed.
  long fallbacks = 0;
  // Trajectories of the round in which the machine failed, left its state limits, and in which an
  // action was cut off at its limit.
  int falls = 0;
  int violations = 0;
  int saturations = 0;
  double rollout_seconds = 0;
  double learn_seconds = 0;
  double projection_seconds = 0;
};

/// All tasks' policies after a round: the noise-free cost and the smallest margin of each. Of
/// machines outside the cost is the one last observed, NaN before; of a fleet that has grown since,
/// only the machines that were there are in it.
struct StoredEvaluation {
  long round = 0;  // 0: the initial policies
  Eigen::VectorXd costs;
  Eigen::VectorXd margins;  // lower bounds; infinity without constraints

  /// Over the tasks whose cost is known; NaN if none is.
  double mean_cost() const;
};

/// What is proven of a round's knowledge (Certificate), without the names.
struct StoredCertificate {
  long round = 0;
  std::string fingerprint;
  Eigen::VectorXd margins;      // the smaller of row and slack margin, one for each task
  std::vector<int> worst_rows;  // -1 without rows
  Eigen::VectorXd spectrum;     // of LᵀL, ascending
  bool spectrum_holds = false;
};

/// The regret up to and including a round.
struct StoredRegret {
  long round = 0;
  /// Of the round losses against each task's best safe policy in hindsight; not more than this.
  double surrogate = kNaN;
  /// Of the noise-free cost against the best known safe policies, mean over the tasks.
  double true_cost = kNaN;
  // What the theorem holds `surrogate` to (RegretBound), and its terms; NaN in files of schemas
  // before 6.
  double bound = kNaN;
  double bound_prior = kNaN;
  double bound_rounds = kNaN;
  double bound_off_leader = kNaN;
  double bound_changes = kNaN;
  /// Of a learner that plays the leader, with the logarithm; and without knowledge, from N(0, I).
  double bound_logarithmic = kNaN;
  double bound_without_knowledge = kNaN;

  /// What a learner that plays the leader is held to.
  double bound_of_leader() const { return bound_prior + bound_rounds + bound_changes; }
  bool bounded() const;
};

/// What the theorem's lemmas say of a round (TheoremBounds).
struct StoredLemmas {
  long round = 0;
  LemmaValues values;
};

/// What empirical Bayes believes of tasks after an evaluated round (TaskBeliefs, TaskDirections).
struct StoredBeliefs {
  long round = 0;
  double trust_in_mean = kNaN;
  Eigen::VectorXd mean;        // m
  Eigen::VectorXd units;       // of each gain
  Eigen::VectorXd variances;   // of tasks along all directions, the largest first
  Eigen::MatrixXd directions;  // the first ones, one column each
  Eigen::MatrixXd readings;    // readingsᵀ (α - m): the place of a policy along them
  /// Of each task that is followed (followed_tasks.hpp) the place on the first two directions: its
  /// mean (2), variance, covariance, variance. Before its first round it is that of any task.
  Eigen::MatrixXd places;
};

/// What it believes of one task, before its first round and after some of its rounds
/// (TaskPosterior), if that is followed.
struct StoredTaskBelief {
  long moment = 0;  // 2 round - 1 before a round, 2 round after it
  int task = 0;
  long visit = 0;  // how often it was visited then
  Eigen::VectorXd mean = {};
  Eigen::VectorXd covariance = {};  // its lower half, column by column

  long round() const { return (moment + 1) / 2; }
};

/// What one round left behind, to be stored and shown.
struct RoundOutcome {
  StoredRound round;
  std::optional<StoredEvaluation> evaluation;
  std::optional<StoredCertificate> certificate;
  std::optional<StoredRegret> regret;
  std::optional<StoredLemmas> lemmas;
  std::optional<StoredObservation> observation;  // of a round from outside
  std::optional<StoredBeliefs> beliefs;
  std::vector<StoredTaskBelief> task_beliefs;  // of its task
};

/// A hash of all rows up to a round, and one of all times; see run_checksums.hpp.
struct StoredChecksum {
  long round = 0;
  std::string results;
  std::string times;
};

// What each commit replaces.

/// The state to go on from.
struct StoredCheckpoint {
  long id = 1;
  long round = 0;
  Bytes state;
  std::string checksum;
};

/// What a learner with a basis knew after the last commit.
struct StoredKnowledge {
  long id = 1;
  Knowledge knowledge;
};

/// A task's policy after the last commit.
struct StoredPolicy {
  int task = 0;
  Eigen::VectorXd parameters;
};

/// All that is fixed when a run begins.
struct RunDescription {
  std::vector<StoredText> texts;
  StoredExperiment experiment;
  std::vector<StoredTask> tasks;
  std::vector<StoredSafeSet> safe_sets;
  std::vector<StoredSetting> settings;
  std::vector<StoredMachine> machines;  // and changes, if trajectories come from outside
  std::vector<StoredChange> changes;
};

/// All that a commit replaces.
struct RunState {
  long round = 0;
  std::string state;  // to go on from
  std::vector<StoredPolicy> policies;
  std::optional<StoredKnowledge> knowledge;
  std::string checksum;  // as it was stored
};

/// The one description of each table.
template <class Row>
const Table<Row>& table_of();
template <>
const Table<StoredText>& table_of();
template <>
const Table<StoredExperiment>& table_of();
template <>
const Table<StoredTask>& table_of();
template <>
const Table<StoredSafeSet>& table_of();
template <>
const Table<StoredSetting>& table_of();
template <>
const Table<StoredMachine>& table_of();
template <>
const Table<StoredChange>& table_of();
template <>
const Table<StoredIssue>& table_of();
template <>
const Table<StoredObservation>& table_of();
template <>
const Table<StoredRound>& table_of();
template <>
const Table<StoredEvaluation>& table_of();
template <>
const Table<StoredCertificate>& table_of();
template <>
const Table<StoredRegret>& table_of();
template <>
const Table<StoredLemmas>& table_of();
template <>
const Table<StoredBeliefs>& table_of();
template <>
const Table<StoredTaskBelief>& table_of();
template <>
const Table<StoredChecksum>& table_of();
template <>
const Table<StoredCheckpoint>& table_of();
template <>
const Table<StoredKnowledge>& table_of();
template <>
const Table<StoredPolicy>& table_of();
/// The times of a round: the only numbers that differ between two runs of one configuration.
const Table<StoredRound>& times_table();

/// Calls visitor(table) for every table of a run file.
template <class Visitor>
void visit_tables(const Visitor& visitor) {
  visitor(table_of<StoredText>());
  visitor(table_of<StoredExperiment>());
  visitor(table_of<StoredTask>());
  visitor(table_of<StoredSafeSet>());
  visitor(table_of<StoredSetting>());
  visitor(table_of<StoredMachine>());
  visitor(table_of<StoredChange>());
  visitor(table_of<StoredIssue>());
  visitor(table_of<StoredObservation>());
  visitor(table_of<StoredRound>());
  visitor(table_of<StoredEvaluation>());
  visitor(table_of<StoredCertificate>());
  visitor(table_of<StoredRegret>());
  visitor(table_of<StoredLemmas>());
  visitor(table_of<StoredBeliefs>());
  visitor(table_of<StoredTaskBelief>());
  visitor(table_of<StoredChecksum>());
  visitor(table_of<StoredCheckpoint>());
  visitor(table_of<StoredKnowledge>());
  visitor(table_of<StoredPolicy>());
  visitor(times_table());
}

}  // namespace lifeguard
