// Long work tells how far it is, and stops when it is asked to; what was committed goes on later.
#include "lifeguard/core/stop.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>

#include "lifeguard/paper/reproduction.hpp"
#include "lifeguard/runs/comparison.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "tests/support/folder.hpp"

namespace lifeguard::stop_test {

ExperimentConfig config_of(int tasks, int rounds) {
  return parse_config(
      fmt::format("[experiment]\nname = \"small\"\nrounds = {}\ntasks = {}\ntrajectories = 16\n"
                  "steps = 50\nseeds = 2\n[evaluation]\nstart_states = 4\n"
                  "[family]\nbase = \"mass-spring\"\n[safe_set.lqr_box]\nreach = 0.5\n",
                  rounds, tasks),
      "small.toml");
}

class Stopping : public test_support::Folder {};

TEST_F(Stopping, TheDefaultNeverStops) {
  EXPECT_FALSE(StopToken().stop_requested());
  EXPECT_NO_THROW(LongWork().step("anything", 1, 2));
  const StopToken always([] { return true; });
  EXPECT_THROW(always.throw_if_requested(), Stopped);
}

TEST_F(Stopping, SettingUpARunTellsOfEveryTask) {
  std::map<std::string, long> told;
  LongWork work;
  work.tell = [&](std::string_view what, long done, long total) {
    EXPECT_EQ(total, 20);
    EXPECT_EQ(done, told[std::string(what)]++);
  };
  const lifeguard::Run run(config_of(20, 1), work);
  EXPECT_EQ(told["building safe sets"], 20);
  EXPECT_EQ(told["setting up the learner"], 20);
}

TEST_F(Stopping, ARunIsStoppedWhileItIsSetUpAndLeavesNoFile) {
  for (const char* at : {"building safe sets", "setting up the learner"}) {
    bool stop = false;
    RunOptions options;
    options.work.stop = StopToken([&] { return stop; });
    options.work.tell = [&](std::string_view what, long done, long) {
      stop = stop || (what == at && done == 7);
    };
    EXPECT_THROW(start_run(config_of(20, 1), path("a.run"), options), Stopped) << at;
    EXPECT_TRUE(stop);
    EXPECT_EQ(files(), 0) << at;
  }
}

TEST_F(Stopping, ARunThatIsStoppedInsideARoundGoesOnToTheSameBits) {
  const ExperimentConfig config = config_of(5, 30);
  bool stop = false;
  int evaluations = 0;
  RunOptions options;
  options.work.stop = StopToken([&] { return stop; });
  options.work.tell = [&](std::string_view what, long done, long) {
    if (what == "evaluating policies" && done == 3) stop = ++evaluations == 4;
  };
  EXPECT_THROW(start_run(config, path("a.run"), options), Stopped);
  stop = false;
  EXPECT_EQ(resume_run(path("a.run"), options), RunStatus::finished);
  EXPECT_TRUE(check_run(path("a.run"), /*replay=*/true).findings.empty());
  start_run(config, path("b.run"));
  EXPECT_EQ(RunReader(path("a.run")).state()->state, RunReader(path("b.run")).state()->state);
}

TEST_F(Stopping, AComparisonStopsAllItsWorkersAndGoesOn) {
  const ExperimentConfig config = config_of(3, 2000);
  std::atomic<bool> stop = false;
  ComparisonOptions options;
  options.folder = path("runs");
  options.threads = 3;
  options.work.stop = StopToken([&] { return stop.load(); });
  options.work.tell = [&](std::string_view what, long done, long total) {
    if (what != kComparisonRounds) return;
    EXPECT_EQ(total, 4 * 2 * 2000);
    stop = stop || done > 600;
  };
  EXPECT_THROW(compare_methods(config, options), Stopped);
  long rounds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("runs"))) {
    if (entry.path().extension() == ".run") rounds += RunReader(entry.path()).header().rounds_done;
  }
  EXPECT_LT(rounds, 700);
  options.folder.clear();
  EXPECT_THROW(compare_methods(config, options), Stopped);
}

TEST_F(Stopping, AComparisonRefusesAnothersFilesBeforeItPlays) {
  ExperimentConfig config = config_of(2, 5);
  compare_methods(config, {.folder = path("runs")});
  std::filesystem::remove(path("runs/learner-0.run"));
  EXPECT_THROW(compare_methods(config_of(2, 6), {.folder = path("runs")}), RunFileError);
  EXPECT_FALSE(std::filesystem::exists(path("runs/learner-0.run")));
  config.seed = 2147483647;
  EXPECT_THROW(compare_methods(config), InvalidInput);
  EXPECT_THROW(comparison_file("runs", "../evil", 1), InvalidInput);
}

TEST_F(Stopping, ADeletedRunFileIsMissedAtTheNextCommit) {
  RunOptions options;
  options.commit_seconds = 0;
  long last = 0;
  options.after_round = [&](const lifeguard::Run&, const RoundOutcome& outcome) {
    last = outcome.round.round;
    if (last == 5) std::filesystem::remove(path("a.run"));
    return true;
  };
  EXPECT_THROW(start_run(config_of(2, 1000), path("a.run"), options), RunFileError);
  EXPECT_EQ(last, 5);
  // Another run under the same name keeps its log when the first one ends.
  last = 0;
  options.after_round = [&](const lifeguard::Run&, const RoundOutcome& outcome) {
    last = outcome.round.round;
    if (last != 5) return true;
    std::filesystem::remove(path("a.run"));
    RunOptions stopped;
    stopped.after_round = [](const lifeguard::Run&, const RoundOutcome& other) {
      return other.round.round < 3;
    };
    start_run(config_of(2, 30), path("a.run"), stopped);
    return true;
  };
  EXPECT_THROW(start_run(config_of(2, 1000), path("a.run"), options), RunFileError);
  EXPECT_EQ(resume_run(path("a.run")), RunStatus::finished);
  EXPECT_TRUE(check_run(path("a.run"), /*replay=*/true).findings.empty());
}

TEST_F(Stopping, TwoDoNotWriteTheSameRun) {
  RunOptions options;
  options.commit_seconds = 0;
  int refused = 0;
  options.after_round = [&](const lifeguard::Run&, const RoundOutcome&) {
    for (const auto& other :
         {+[](const std::filesystem::path& p) { resume_run(p); },
          +[](const std::filesystem::path& p) { start_run(config_of(2, 3), p); }}) {
      try {
        other(path("a.run"));
      } catch (const RunFileError&) {
        ++refused;
      }
    }
    return true;
  };
  EXPECT_EQ(start_run(config_of(2, 10), path("a.run"), options), RunStatus::finished);
  EXPECT_EQ(refused, 20);
  EXPECT_TRUE(check_run(path("a.run"), /*replay=*/true).findings.empty());
}

TEST_F(Stopping, AReproductionStops) {
  ReproductionOptions options;
  options.quick = true;
  options.folder = path("reproduction");
  options.figures = {"mass-spring"};
  bool stop = false;
  options.work.stop = StopToken([&] { return stop; });
  options.before_figure = [&](const Figure&) { stop = true; };
  EXPECT_THROW(reproduce(options), Stopped);
  options.figures = {"mass-spring", "mass-spring"};
  EXPECT_THROW(reproduce(options), InvalidInput);
  EXPECT_EQ(files(), 0);
}

}  // namespace lifeguard::stop_test
