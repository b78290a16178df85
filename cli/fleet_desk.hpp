#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/recording_file.hpp"

namespace lifeguard {

class FleetRun;
struct ExperimentConfig;

/// A name in a request that cannot be one.
class BadName : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// Where robots ask what to play and tell what happened: one fleet, any number of them at once. The
/// fleet's file may be edited meanwhile; a description that is refused leaves the old one in force.
/// Safe to use from any number of threads.
class FleetDesk {
 public:
  /// Opens the fleet, and its run file or makes it. Throws as FleetRun does.
  FleetDesk(std::filesystem::path fleet_file, std::filesystem::path run_file);
  ~FleetDesk();

  /// {"name", "rounds", "steps", "machines": […]}, and "problem" if the fleet's file was edited in
  /// vain.
  nlohmann::ordered_json machines();
  /// What the machine shall play. Throws InvalidInput for one that is not there.
  nlohmann::ordered_json policy(const std::string& machine);
  /// One round. Throws InvalidInput that says why it is refused.
  nlohmann::ordered_json observe(const std::string& machine, const std::string& id,
                                 std::string_view text, RecordingFormat format,
                                 const std::string& sender);

 private:
  using Clock = std::chrono::steady_clock;
  /// Calls action(fleet) while nobody else does. What the file could not take in is forgotten, and
  /// read again from the file.
  template <class Action>
  auto with_fleet(const Action& action);
  void open();
  void look_for_edits();

  std::filesystem::path fleet_file_;
  std::filesystem::path run_file_;
  std::mutex mutex_;
  std::unique_ptr<ExperimentConfig> config_;  // in force
  std::unique_ptr<FleetRun> fleet_;
  bool opened_ = false;
  std::string text_;     // of the fleet's file when it was last looked at
  std::string problem_;  // why it was refused
  Clock::time_point next_look_{};
};

}  // namespace lifeguard
