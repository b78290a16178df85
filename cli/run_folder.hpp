#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lifeguard {

struct RunView;

/// What a request gets; shared, since many ask for the same.
using Answer = std::shared_ptr<const std::string>;

/// The run files of a folder, or a single one, for those who ask again and again. However many ask,
/// files are looked at once in kRefresh at most, and never so often that it takes more than one
/// part in kIdle of the time. Each look opens and closes a file and reads only what is new in it,
/// so a run that is being written is not held up. Nothing outside the folder can be named. Safe to
/// use from any number of threads.
class RunFolder {
 public:
  static constexpr std::chrono::milliseconds kRefresh{1000};
  static constexpr int kIdle = 10;
  /// So many of the last states of a run are known as something to go on from.
  static constexpr std::size_t kRemembered = 4;

  /// A run file or a folder of them (*.run). Throws InvalidInput if it is neither.
  explicit RunFolder(const std::filesystem::path& path);

  std::string name() const { return shown_name_; }
  /// {"runs": […]}: which runs there are and how far they are. A file that cannot be read has a row
  /// of its own that says why, and costs nothing else.
  Answer list();
  /// report_data of one run, after round `since` if that is one of the last rounds that a report
  /// ended with, else from the beginning; of all runs that can be read if `run` is empty. Null if
  /// there is no such run. Throws RunFileError if that one run cannot be read.
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
    std::string problem;  // why it cannot be read

    bool operator==(const State&) const = default;
  };
  using Clock = std::chrono::steady_clock;
  void refresh();
  std::optional<State> look(const std::filesystem::path& path);
  void read_state(const std::string& name, State& state);
  void write_list();
  Answer build(const std::string& run, long since);

  std::filesystem::path root_;  // canonical
  std::string only_;            // the one file that is served; empty for all
  std::string shown_name_;

  std::mutex mutex_;
  Clock::time_point next_look_{};
  Clock::duration spent_{};  // on reading and writing since the last look
  std::map<std::string, State> runs_;
  std::map<std::string, std::shared_ptr<RunView>> views_;  // of runs that were asked for
  std::map<std::string, std::deque<long>> remembered_;  // rounds that reports of a run ended with
  std::map<std::pair<std::string, long>, Answer> reports_;
  Answer list_;
};

}  // namespace lifeguard
