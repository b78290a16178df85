#include "lifeguard/report/report_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_run.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/played_runs.hpp"

namespace lifeguard::report_data_test {

using Json = nlohmann::ordered_json;

class ReportData : public PlayedRuns {};

TEST_F(ReportData, MethodsBeginAndEndWithTheMeanCostOfTheRunFiles) {
  const std::vector<std::filesystem::path> paths = {play(small_experiment("learner", 0)),
                                                    play(small_experiment("learner", 1)),
                                                    play(small_experiment("pg", 0))};
  const Json report = report_data(paths);
  ASSERT_EQ(report["experiments"].size(), 1);
  const Json& methods = report["experiments"][0]["methods"];
  ASSERT_EQ(methods.size(), 2);
  EXPECT_EQ(methods[0]["name"], "learner");
  EXPECT_EQ(methods[0]["seeds"], 2);

  const auto first = RunReader(paths[0]).evaluations();
  const auto second = RunReader(paths[1]).evaluations();
  EXPECT_EQ(methods[0]["first_cost"].get<double>(),
            first.front().costs.mean() / 2 + second.front().costs.mean() / 2);
  const auto [low, high] = std::minmax({first.back().costs.mean(), second.back().costs.mean()});
  EXPECT_EQ(methods[0]["last_cost"].get<double>(), low / 2 + high / 2);
  EXPECT_EQ(methods[0]["last_cost_low"].get<double>(), low);
  EXPECT_EQ(methods[0]["last_cost_high"].get<double>(), high);
  EXPECT_EQ(methods[1]["last_cost_low"], methods[1]["last_cost"]);
}

TEST_F(ReportData, OnlyTheFirstSeedOfAMethodHasDetails) {
  const Json report =
      report_data({play(small_experiment("learner", 1)), play(small_experiment("learner", 0))});
  const Json& runs = report["experiments"][0]["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0]["seed"], 0);
  EXPECT_TRUE(runs[0].contains("tasks"));
  EXPECT_EQ(runs[1]["seed"], 1);
  EXPECT_FALSE(runs[1].contains("tasks"));
}

TEST_F(ReportData, DetailsAreThoseOfTheRun) {
  const auto path = play(small_experiment("learner", 0));
  const RunReader reader(path);
  const Json report = report_data({path});
  const Json& run = report["experiments"][0]["runs"][0];
  EXPECT_EQ(run["system"], "mass-spring");
  EXPECT_EQ(run["parameters"], Json({"gain on position (N/m)", "gain on speed (N/(m/s))"}));
  EXPECT_EQ(run["settings"]["experiment.rounds"], "12");
  ASSERT_EQ(run["tasks"].size(), 3);

  const Eigen::MatrixXd policies = RunView(reader).policies;
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(run["tasks"][t]["policy"][0].get<double>(), policies(0, static_cast<long>(t)));
  }
}

TEST_F(ReportData, FlightsFollowTheSystemWithoutNoise) {
  const auto path = play(small_experiment("learner", 0));
  const DrawnTasks drawn = draw_tasks(RunReader(path).header().config());
  const Json report = report_data({path});
  const Json& run = report["experiments"][0]["runs"][0];
  const Json& json = run["tasks"][1];
  const Task& task = drawn.tasks[1];
  const Json& flight = json["last_flights"][2];
  ASSERT_EQ(flight.size(), 10);  // every second of 20 steps
  EXPECT_EQ(flight[0], json["first_flights"][2][0]);
  EXPECT_NE(flight.back(), json["first_flights"][2].back());
  // The last policy by hand, step by step from the same start.
  const ExperimentConfig config = RunReader(path).header().config();
  RolloutSettings settings;
  settings.trajectories = 3;
  settings.steps = 1;
  settings.seed = run_seed(config, SeedOf::evaluation);
  const Eigen::VectorXd alpha = RunView(path).policies.col(1);
  const auto policy = GaussianPolicy::from_parameters(alpha, 1, 0.0);
  const Trajectories starts = rollout(task, policy, settings);
  const Eigen::VectorXd& goal = task.settings.goal;
  Eigen::VectorXd state = goal + Eigen::Vector2d(starts.feature(2, 0, 0), starts.feature(2, 0, 1));
  for (std::size_t frame = 0; frame < flight.size(); ++frame) {
    EXPECT_NEAR(flight[frame][0].get<double>(), state(0) - goal(0), 2e-6) << frame;
    for (int i = 0; i < 2; ++i) state = task.step(state, policy.mean(state - goal));
  }
  EXPECT_DOUBLE_EQ(run["frame_seconds"].get<double>(), 2 * task.settings.dt_seconds);
}

/// As it arrives: what is not finite is null.
Json written_and_read(const Json& json) { return Json::parse(json.dump()); }

/// The same runs up to a later round, from what was known before and what came after it, as the
/// page does it.
Json brought_up_to_date(const Json& known, const Json& news) {
  Json result = news;
  result.erase("since");
  result["palette"] = known["palette"];
  Json& experiment = result["experiments"][0];
  const Json& before = known["experiments"][0];
  for (const auto& [key, value] : before["runs"][0].items()) {
    if (!experiment["runs"][0].contains(key)) experiment["runs"][0][key] = value;
  }
  for (std::size_t t = 0; t < before["runs"][0]["tasks"].size(); ++t) {
    Json& task = experiment["runs"][0]["tasks"][t];
    for (const auto& [key, value] : before["runs"][0]["tasks"][t].items()) {
      if (!task.contains(key)) task[key] = value;
    }
  }
  for (Json& chart : experiment["charts"]) {
    const auto same = [&](const Json& other) {
      return other["name"] == chart["name"] && other.value("task", -1) == chart.value("task", -1);
    };
    const auto found = std::find_if(before["charts"].begin(), before["charts"].end(), same);
    if (found == before["charts"].end()) continue;
    for (const char* part : {"plane", "region"}) {
      if (!chart.contains(part)) continue;
      for (const auto& [key, value] : (*found)[part].items()) {
        if (!chart[part].contains(key)) chart[part][key] = value;
      }
    }
    if (!chart.contains("tables")) continue;
    for (std::size_t i = 0; i < chart["tables"].size(); ++i) {
      Json& table = chart["tables"][i];
      const Json& old = (*found)["tables"][i];
      if (!table["rounds"].empty() && table["rounds"].front() <= old["rounds"].back()) continue;
      for (const char* key : {"rounds", "values"}) {
        table[key].insert(table[key].begin(), old[key].begin(), old[key].end());
      }
    }
  }
  return result;
}

TEST_F(ReportData, WhatCameLaterAddsUpToTheWhole) {
  const ExperimentConfig config = small_experiment("learner", 0);
  const Json report = written_and_read(report_data({play(config, 5)}));
  EXPECT_EQ(report["experiments"][0]["runs"][0]["rounds_done"], 5);
  EXPECT_EQ(report["experiments"][0]["runs"][0]["finished"], false);
  const auto path = play(config);
  const Json news = written_and_read(report_data({path}, 5));
  EXPECT_FALSE(news["experiments"][0]["runs"][0].contains("settings"));
  EXPECT_EQ(news["since"], 5);
  EXPECT_FALSE(news.contains("palette"));
  const Json& cost = news["experiments"][0]["charts"][0]["tables"][0];
  EXPECT_EQ(cost["rounds"], Json({6, 7, 8, 9, 10, 11, 12}));
  // In whatever order the keys are.
  EXPECT_EQ(nlohmann::json(brought_up_to_date(report, news)),
            nlohmann::json(written_and_read(report_data({path}))));
}

// Regions that are curved, trajectories that are made anew, and counts that go on.
TEST_F(ReportData, WhatCameLaterAddsUpToTheWholeWithClosedLoops) {
  const ExperimentConfig config = small_closed_loop_experiment("learner");
  const Json report = written_and_read(report_data({play(config, 3)}));
  const auto path = play(config);
  const Json news = written_and_read(report_data({path}, 3));
  const nlohmann::json difference =
      nlohmann::json::diff(nlohmann::json(brought_up_to_date(report, news)),
                           nlohmann::json(written_and_read(report_data({path}))));
  EXPECT_TRUE(difference.empty()) << difference.dump(1).substr(0, 2000);
}

TEST_F(ReportData, WithoutConstraintsThereIsNoMargin) {
  const Json report = report_data({play(small_free_experiment("pg"))});
  EXPECT_FALSE(report["experiments"][0]["runs"][0].contains("least_margin"));
}

TEST(Thinned, KeepsBothEndsAndTheOrder) {
  EXPECT_THAT(thinned(2, 5, 10), testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(thinned(3, 3, 10), testing::IsEmpty());
  const auto kept = thinned(10, 100000, 600);
  EXPECT_EQ(kept.size(), 600);
  EXPECT_EQ(kept.front(), 10);
  EXPECT_EQ(kept.back(), 99999);
  EXPECT_EQ(std::set<std::size_t>(kept.begin(), kept.end()).size(), 600);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
}

TEST(ReportDataInput, NoRunsAndBadFilesAreRefused) {
  EXPECT_THROW(report_data(std::vector<std::filesystem::path>{}), InvalidInput);
  EXPECT_THROW(report_data({"/nowhere.run"}), RunFileError);
}

}  // namespace lifeguard::report_data_test
