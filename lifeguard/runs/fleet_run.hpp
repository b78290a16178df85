#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/trajectories/recording.hpp"

namespace lifeguard {

/// A machine that the fleet does not have, or that is retired.
class UnknownMachine : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// An id that other trajectories came under before.
class TakenId : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// What came with trajectories from outside.
struct ObservationOrigin {
  /// Chosen by the sender: what has the id of an earlier observation is that one, sent again.
  std::string id;
  std::string source;  // a file's name, or the sender's address
  std::string digest;  // of what was sent
};

/// What became of an observation.
struct ObservedRound {
  StoredRound round;
  StoredObservation observation;
  /// It had been counted before, and was not counted again.
  bool repeated = false;
};

nlohmann::ordered_json observed_to_json(const ObservedRound& observed, const std::string& machine);

/// A fleet that learns from outside: whoever has the machines asks what to play, plays it, and
/// tells what happened. All of it is in one run file. Every call is one transaction, so that a
/// process that is killed loses nothing that was answered, and goes on to the same bits.
class FleetRun {
 public:
  /// Goes on with the run file, or makes it if it is not there, and takes over what the fleet's
  /// description says otherwise than before: machines that were added, changed, retired, or are not
  /// in it any more. Waits some seconds if another process has the file. Throws InvalidInput if the
  /// description is refused; the file is then what it was.
  FleetRun(const ExperimentConfig& fleet, std::filesystem::path run_file,
           const LongWork& work = {});
  ~FleetRun();

  /// What was taken over on opening: the names of machines and what became of them.
  const std::vector<std::pair<std::string, std::string>>& changes() const { return changes_; }
  long rounds_done() const { return run_->rounds_done(); }
  std::vector<std::string> active_machines() const;

  /// What the machine shall play next, proven now and written down before it leaves. Throws
  /// InvalidInput for a machine that is not there or retired.
  ExportedPolicy policy(const std::string& machine);
  /// One round. Throws InvalidInput that says why trajectories are refused; nothing has changed
  /// then.
  ObservedRound observe(const std::string& machine, const Recording& recording,
                        const ObservationOrigin& origin);

  /// Where the run of a fleet's file is kept if nobody says otherwise: the same name with .run.
  static std::filesystem::path default_run_file(const std::filesystem::path& fleet_file);

 private:
  void create(const LongWork& work);
  void open(const LongWork& work);
  void take_changes(const LongWork& work);
  /// The place of a machine that is active.
  int active_place(const std::string& machine) const;
  /// What an observation was that came again.
  ObservedRound repeated(const StoredObservation& earlier) const;
  const StoredIssue& issue_for(int task, const Recording& recording) const;

  ExperimentConfig fleet_;
  std::vector<Machine> machines_;  // as they are described now
  std::filesystem::path path_;
  RunDescription description_;
  std::unique_ptr<Run> run_;
  std::unique_ptr<RunWriter> writer_;
  std::vector<std::pair<std::string, std::string>> changes_;
  std::map<std::string, int, std::less<>> places_;  // of machines, by name
  std::vector<StoredIssue> issues_;
  std::map<std::pair<int, std::string>, long> issue_places_;  // by task and fingerprint
  std::map<std::string, StoredObservation> observations_;     // those with an id
  std::map<std::string, StoredObservation> digests_;          // by what was sent
};

/// All that a machine's tables say of it but its name, notes and whether it is retired.
std::string definition_of(const Machine& machine);

/// What the description of a fleet's run file must be by the configuration in it: what `stored`
/// says of machines that the configuration describes is worked out again.
RunDescription described_again(const ExperimentConfig& fleet, const RunDescription& stored);
/// The run that such a file holds, before its state is restored.
std::unique_ptr<Run> run_of(const ExperimentConfig& fleet, const RunDescription& stored);

/// The fingerprint under which a policy is handed out.
std::string policy_fingerprint(std::string_view machine, const Eigen::VectorXd& parameters,
                               const PerAction& sigma);

}  // namespace lifeguard
