#include "lifeguard/runs/check_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/version.hpp"

namespace lifeguard {
namespace {

class DescriptionCheck {
 public:
  explicit DescriptionCheck(CheckedRun& run) : run_(run) {}

  void check_description() {
    if (run_.observed()) {
      compare_description(described_again(run_.config, run_.description), kDrawnAgain, "");
      run_.again = run_of(run_.config, run_.description);
    } else if (!run_.absent.empty()) {
      run_.again =
          std::make_unique<Run>(run_.config, drawn_tasks_of(run_.config, run_.description));
      compare_description(run_.again->description(), kDrawnAgain, "");
    } else {
      run_.again = std::make_unique<Run>(run_.config);
      compare_description(run_.again->description(), kDrawnAgain, "");
    }
    for (const SafeSet& set : run_.view->safe_sets()) {
      for (const auto& closed_loop : set.closed_loops()) {
        run_.options.work.step("proving closed loops", 0, 0);
        for (const ClosedLoopFinding& finding : check_closed_loop(*closed_loop)) {
          run_.find_unsafe(fmt::format("a closed loop: {}", finding.message));
        }
      }
    }
  }

  void compare_description(const RunDescription& expected, double tolerance,
                           std::string_view when) {
    std::vector<StoredTask> tasks = expected.tasks;
    for (std::size_t t = 0; t < std::min(tasks.size(), run_.description.tasks.size()); ++t) {
      // A system may say the same in other words than it once did.
      const StoredTask& stored = run_.description.tasks[t];
      if (tolerance > 0 && stored.description != tasks[t].description &&
          same_signals(stored, tasks[t])) {
        tasks[t].description = stored.description;
      }
    }
    run_.compare(run_.description.tasks, tasks, tolerance, when);
    if (run_.schema() < 4) {
      if (run_.experiment().method != expected.experiment.method) {
        run_.find(fmt::format("{}the method is {} and not {}", when, expected.experiment.method,
                              run_.experiment().method));
      }
      return;
    }
    run_.compare(table_of<StoredExperiment>(), run_.experiment(), expected.experiment, tolerance,
                 when);
    run_.compare(run_.description.safe_sets, expected.safe_sets, tolerance, when);
    if (run_.header().lifeguard_version == kVersion && run_.schema() == kSchemaVersion) {
      run_.compare(run_.description.settings, expected.settings, 0, when);
    } else {
      compare_common_settings(expected.settings, when);
    }
    run_.compare(run_.description.machines, expected.machines, 0, when);
    compare_texts(expected.texts, when);
  }

 private:
  /// Versions have different settings; what both know must be the same.
  void compare_common_settings(const std::vector<StoredSetting>& expected, std::string_view when) {
    std::map<std::string, std::string> known;
    for (const StoredSetting& setting : expected) known.emplace(setting.key, setting.value);
    for (const StoredSetting& setting : run_.description.settings) {
      const auto now = known.find(setting.key);
      if (now != known.end() && now->second != setting.value) {
        run_.find(fmt::format("{}table settings, {}: is \"{}\" instead of \"{}\"", when,
                              setting.key, setting.value, now->second));
      }
    }
  }

  void compare_texts(const std::vector<StoredText>& expected, std::string_view when) {
    std::map<std::string, std::optional<std::string>> known;
    for (const StoredText& text : expected) known.emplace(text.key, text.value);
    known["lifeguard_version"] = run_.header().lifeguard_version;
    known[std::string(kFinished)] = run_.header().finished ? "true" : "false";
    known[std::string(kHeaderChecksum)] = header_checksum(run_.description, run_.schema());
    if (run_.header().finished) known[std::string(kCertificate)] = std::nullopt;
    if (run_.observed()) known[std::string(kFirstHeader)] = std::nullopt;
    for (const StoredText& text : run_.description.texts) {
      const auto now = known.find(text.key);
      if (now == known.end()) {
        run_.find(
            fmt::format("{}table meta has the key \"{}\", which is not known", when, text.key));
        continue;
      }
      if (now->second && *now->second != text.value) {
        run_.find(fmt::format("{}table meta, {}: is not what it must be", when, text.key));
      }
      known.erase(now);
    }
    for (const auto& [key, value] : known) {
      run_.find(fmt::format("{}table meta has no \"{}\"", when, key));
    }
  }

  CheckedRun& run_;
};

}  // namespace

void compare_description(CheckedRun& run, const RunDescription& expected, double tolerance,
                         std::string_view when) {
  DescriptionCheck(run).compare_description(expected, tolerance, when);
}

void check_description(CheckedRun& run) { DescriptionCheck(run).check_description(); }

}  // namespace lifeguard
