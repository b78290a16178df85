#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lifeguard {

/// What a request gets; shared, since many ask for the same.
using Answer = std::shared_ptr<const std::string>;

/// The run files of a folder, or a single one, for those who ask again and again. Files are looked
/// at once in kRefresh at most, however many ask, and each look opens and closes them, so a run
/// that is being written is never held up. Nothing outside the folder can be named. Safe to use
/// from any number of threads.
class RunFolder {
 public:
  static constexpr std::chrono::milliseconds kRefresh{1000};

  /// A run file or a folder of them (*.run). Throws InvalidInput if it is neither.
  explicit RunFolder(const std::filesystem::path& path);

  std::string name() const { return shown_name_; }
  /// {"runs": […]}: which runs there are and how far they are.
  Answer list();
  /// report_data of one run, after round `since`; of all runs if `run` is empty. Null if there is
  /// no such run.
  Answer report(const std::string& run, long since);

 private:
  struct State {
    std::filesystem::path path;
    std::filesystem::file_time_type changed;
    std::string experiment;
    std::string method;
    int seed = 0;
    long rounds_done = 0;
    long rounds_planned = 0;
    bool finished = false;

    bool operator==(const State&) const = default;
  };
  void refresh();
  std::optional<State> look(const std::filesystem::path& path) const;

  std::filesystem::path root_;  // canonical
  std::string only_;            // the one file that is served; empty for all
  std::string shown_name_;

  std::mutex mutex_;
  std::chrono::steady_clock::time_point looked_{};
  std::map<std::string, State> runs_;
  std::map<std::pair<std::string, long>, Answer> reports_;
  Answer list_;
};

}  // namespace lifeguard
