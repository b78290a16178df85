#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/policy/policy.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// What a run file held at one moment, complete and consistent, also of a run that goes on. A value
/// without a file behind it: whoever looks at runs looks at this, and nobody has to build a learner
/// for that. Reading checks every value and the checksums of header and state; the checksums of the
/// rounds are `check`'s work.
///
/// Files before schema 4 do not hold all of it. What they lack is made from their configuration, by
/// building their learner.
struct RunView {
  /// Throws RunFileError that says what is wrong with the file.
  explicit RunView(const std::filesystem::path& path);
  RunView(const RunReader& reader);  // NOLINT: a reader is as good as a view
  /// Takes over what was added to the same run since the last time; another run is read anew.
  void read_on(const RunReader& reader);

  std::string file;  // its name
  RunHeader header;
  std::vector<std::string> methods;  // that the experiment compares
  /// Every setting as the run uses it, key and value.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Task> tasks;
  /// Of a fleet that learns from outside: its machines and how it changed, and what was handed out.
  std::vector<StoredMachine> machines;
  std::vector<StoredChange> changes;
  std::vector<StoredIssue> issues;
  std::vector<StoredObservation> observations;
  Eigen::MatrixXd first_policies;  // one column for each task
  std::vector<StoredRound> rounds;
  std::vector<StoredEvaluation> evaluations;
  std::vector<StoredCertificate> certificates;
  std::vector<StoredRegret> regrets;
  std::vector<StoredLemmas> lemmas;
  /// What empirical Bayes believed on the way; empty with other methods.
  std::vector<StoredBeliefs> beliefs;
  std::vector<StoredTaskBelief> task_beliefs;
  /// After header.rounds_done; the first ones before the first commit.
  Eigen::MatrixXd policies;
  /// Of a learner with a basis, likewise.
  std::optional<Knowledge> knowledge;
  std::string certificate_json;  // of a finished run, if its method has one

  /// What its policies see of the state.
  Features features() const;
  int parameters() const { return static_cast<int>(first_policies.rows()); }
  const SafeSet& safe_set(int task) const {
    return safe_sets_[places_[static_cast<std::size_t>(task)]];
  }
  /// Of each system that is not registered here, its first task: empty if all are known.
  std::vector<Task> absent() const;
  /// Whether any task has constraints.
  bool constrained() const;
  /// The one that was in force after a round.
  const SafeSet& safe_set_after(long round, int task) const;
  /// The one that the policy of a round was proven to keep when it was handed out.
  const SafeSet& safe_set_played(const StoredRound& round) const;
  /// How many tasks there were after a round.
  int tasks_after(long round) const;
  /// Those that differ from each other.
  const std::vector<SafeSet>& safe_sets() const { return safe_sets_; }

 private:
  /// Files before schema 4 have no description: theirs is that of a run of their configuration.
  void fill_in_old_description(const RunReader& reader);
  void take(const RunReader& reader, const RunDescription& description);
  void take(const RunState& state);
  void take_rows(const RunReader& reader);
  /// Rows from when a fleet was smaller become as long as the others.
  void fill_in_machines_added_later(const RunReader& reader);

  std::vector<SafeSet> safe_sets_;   // different ones
  std::vector<std::size_t> places_;  // of each task's set
};

}  // namespace lifeguard
