#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

class Run;
class SettingVisitor;
struct DrawnTasks;
struct RoundOutcome;

/// Which task a round visits.
enum class Schedule {
  in_turn,      // 1, 2, …, T, 1, 2, …
  random,       // drawn uniformly, from the run's seed
  first_only,   // always the first
  in_sequence,  // all rounds of the first, then all of the second, …
};

/// A method under another name with some keys set, for comparisons:
///   [variants.ours-10]
///   method = "learner"
///   set = ["learner.update=alternating", "learner.alternations=10"]
struct Variant {
  std::string name;
  std::string method;
  std::vector<std::string> overrides;
};

/// One machine of a fleet, as a [[machine]] table describes it (docs/fleets.md).
struct Machine {
  Task task;  // the machine as it is known, under its name
  /// Its constraints as TOML: those of [safe_set] and its own; empty means none.
  std::string safe_set_toml;
  /// Its first policy: gains (actions × inputs), or a share of its LQR controller's.
  std::optional<Eigen::MatrixXd> first_gains;
  std::optional<double> first_lqr_share;
  /// No longer played. What was learnt on it stays.
  bool retired = false;
  std::string notes;
};

/// An experiment as a TOML file describes it: a family from which tasks are drawn or a fleet of
/// machines, constraints, the methods, how long and how often. docs/configuration.md is generated
/// from visit_keys().
struct ExperimentConfig {
  std::string name = "experiment";
  int rounds = 300;
  int tasks = 10;
  int trajectories = 50;
  int steps = 150;
  int seed = 0;
  int seeds = 20;
  Schedule schedule = Schedule::in_turn;
  /// The first policy of every task: this share of the family's mean LQR gains, mean over 100
  /// draws.
  double start_lqr_share = -1.0;  // negative: as suits the system
  /// That share of its own LQR gains instead: a controller that works for this machine.
  bool start_own = false;
  std::string method = "learner";
  std::vector<std::string> methods = {"learner", "pg", "pg-ella", "shared"};
  std::vector<Variant> variants;

  int start_states = 100;
  /// After round j the next evaluation is max(1, ⌊j · spacing⌋) rounds later, or at the last round.
  double evaluation_spacing = 0.02;
  bool regret = true;

  Family family = mass_spring_family();
  /// The machines of a fleet, which are the tasks then; empty if tasks are drawn from the family.
  std::vector<Machine> machines;
  /// The places of those that are not retired.
  std::vector<int> active;
  /// The [safe_set] table as TOML text; empty means no constraints. Its keys are those of
  /// docs/safe_sets.md.
  std::string safe_set_toml;
  /// The same of one task, whose machine may have its own.
  const std::string& safe_set_text(int place) const;

  /// What every method's policies see of the state.
  Features features;
  /// How trajectories become losses: what all methods share. Each method's settings hold it too.
  RoundSettings round;
  /// The settings of every method.
  Methods settings;

  /// The settings of the lifelong learner.
  LearnerSettings& learner() { return std::get<LearnerSettings>(settings); }
  const LearnerSettings& learner() const { return std::get<LearnerSettings>(settings); }

  /// What the file said, to be stored with a run: the file's name and text, and the overrides.
  std::string source;
  std::string source_text;
  std::vector<std::string> overrides;
};

/// Every key but [family] and [safe_set], which have readers of their own.
void visit_keys(SettingVisitor& visitor, ExperimentConfig& config);

/// `overrides` are "key=value" with a dotted key, e.g. "learner.k=4"; a value that is not TOML is
/// taken as text. Throws InvalidInput naming file, line, key, value and rule; unknown keys are
/// errors. The safe set of the first drawn task is built once, so that mistakes in it are found.
/// `defaults`, written likewise, are what keys mean that neither the text nor an override sets.
/// `absent` are tasks of systems that are not registered here, as a run file describes them: they
/// stand for the systems of their names, and the first one for a family that is not known; what
/// would have to play them is not looked at.
ExperimentConfig parse_config(std::string_view toml, std::string_view source,
                              const std::vector<std::string>& overrides = {},
                              const std::vector<std::string>& defaults = {},
                              const std::vector<Task>& absent = {});
ExperimentConfig load_config(const std::filesystem::path& path,
                             const std::vector<std::string>& overrides = {});

/// The configuration in which `label`, a method or a variant, runs alone with this seed.
ExperimentConfig configuration_of(const ExperimentConfig& config, const std::string& label,
                                  int seed);

/// The safe set of one task of the experiment, or of one like the task at this place; all of R^d
/// without a [safe_set] table.
SafeSet safe_set_of(const ExperimentConfig& config, const Task& task, int place = 0);

/// What the parameters of a task may be in truth when it is known up to the tolerance of
/// [safe_set.closed_loop]; empty without one.
std::vector<ParameterRange> tolerances_of(const ExperimentConfig& config, const Task& task,
                                          int place = 0);

/// The page that docs/configuration.md holds.
std::string configuration_reference();

/// "key = value" for every key, as the run uses it.
std::vector<std::pair<std::string, std::string>> effective_values(const ExperimentConfig& config);

/// How playing ended.
enum class RunStatus { finished, stopped };

/// How to watch a run while it is played.
struct RunOptions {
  /// Told what a user should know before the first round, e.g. of first policies that had to be
  /// replaced.
  std::function<void(const std::string&)> warn = {};
  /// Called after every round; false stops the run after it, ready to resume.
  std::function<bool(const Run&, const RoundOutcome&)> after_round = {};
  /// A commit is made when so much time has passed since the last one, and at the end. 0 commits
  /// every round. Decides nothing but how much is played again after a crash.
  double commit_seconds = 0.25;
  /// Told and asked where after_round() is not: while the run is set up, and inside long rounds.
  LongWork work = {};
  /// What the configuration draws, for a new run, if the caller has it already; making safe sets
  /// may take longer than playing.
  std::shared_ptr<const DrawnTasks> drawn = {};
};

/// Plays a run into a new file, or goes on with one that was left unfinished. Throws Stopped if
/// `work` asks for it: rounds since the last commit are then played again by resume_run(), and
/// there is no file if the run was not yet set up.
RunStatus start_run(const ExperimentConfig& config, const std::filesystem::path& path,
                    const RunOptions& options = {});
RunStatus resume_run(const std::filesystem::path& path, const RunOptions& options = {});

}  // namespace lifeguard
