#include "lifeguard/report/report_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_run.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/setting.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::report_data_test {

using Json = nlohmann::ordered_json;

constexpr const char* kConfig = R"(
[experiment]
name = "small"
rounds = 12
tasks = 3
trajectories = 10
steps = 20
[evaluation]
start_states = 4
[family]
base = "mass-spring"
[safe_set.lqr_box]
reach = 0.5
)";

ExperimentConfig config_of(const std::string& method, int seed) {
  return configuration_of(parse_config(kConfig, "test"), method, seed);
}

class ReportData : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("lifeguard-report-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Plays `rounds` rounds, or all.
  std::filesystem::path play(const ExperimentConfig& config, long rounds = 1000) {
    const auto path = folder_ / (config.method + "-" + std::to_string(config.seed) + ".run");
    RunOptions options;
    options.after_round = [&](const lifeguard::Run& run, const RoundOutcome&) {
      return run.rounds_done() < rounds;
    };
    if (std::filesystem::exists(path)) {
      resume_run(path, options);
    } else {
      start_run(config, path, options);
    }
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(ReportData, MeansAndIntervalsAreThoseOfTheRunFiles) {
  const std::vector<std::filesystem::path> paths = {
      play(config_of("learner", 0)), play(config_of("learner", 1)), play(config_of("pg", 0))};
  const Json report = report_data(paths);
  ASSERT_EQ(report["experiments"].size(), 1);
  const Json& methods = report["experiments"][0]["methods"];
  ASSERT_EQ(methods.size(), 2);
  EXPECT_EQ(methods[0]["name"], "learner");
  EXPECT_EQ(methods[0]["seeds"], 2);

  const auto first = RunReader(paths[0]).evaluations();
  const auto second = RunReader(paths[1]).evaluations();
  const Json& cost = methods[0]["cost"];
  ASSERT_EQ(cost["rounds"].size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(cost["rounds"][i], first[i].round);
    const MeanInterval expected = mean_interval({first[i].costs.mean(), second[i].costs.mean()});
    EXPECT_EQ(cost["mean"][i].get<double>(), expected.mean);
    EXPECT_EQ(cost["mean_ci95"][i].get<double>(), expected.ci95);
  }
  // One seed has no interval.
  EXPECT_TRUE(std::isnan(methods[1]["cost"]["mean_ci95"][0].get<double>()));
  EXPECT_EQ(Json::parse(report.dump())["experiments"][0]["methods"][1]["cost"]["mean_ci95"][0],
            nullptr);
}

TEST_F(ReportData, OnlyTheFirstSeedOfAMethodHasDetails) {
  const Json report = report_data({play(config_of("learner", 1)), play(config_of("learner", 0))});
  const Json& runs = report["experiments"][0]["runs"];
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0]["seed"], 0);
  EXPECT_TRUE(runs[0].contains("tasks"));
  EXPECT_EQ(runs[1]["seed"], 1);
  EXPECT_FALSE(runs[1].contains("tasks"));
}

TEST_F(ReportData, DetailsAreThoseOfTheRun) {
  const auto path = play(config_of("learner", 0));
  const RunReader reader(path);
  const Setting setting = draw_setting(reader.header().config);
  const Json report = report_data({path});
  const Json& run = report["experiments"][0]["runs"][0];
  EXPECT_EQ(run["system"], "mass-spring");
  EXPECT_EQ(run["parameters"], Json({"gain on position", "gain on speed"}));
  EXPECT_EQ(run["settings"]["experiment.rounds"], "12");
  ASSERT_EQ(run["tasks"].size(), 3);

  const Eigen::MatrixXd policies = *reader.policies();
  const auto rounds = reader.rounds();
  for (std::size_t t = 0; t < 3; ++t) {
    const Json& task = run["tasks"][t];
    EXPECT_EQ(task["policy"][0].get<double>(), policies(0, static_cast<long>(t)));
    const SafeSet& set = setting.safe_sets[t];
    ASSERT_EQ(task["safe_set"]["names"].size(), set.rows());
    EXPECT_EQ(task["safe_set"]["coefficients"][1][1].get<double>(), set.coefficients()(1, 1));
    EXPECT_EQ(task["safe_set"]["limits"][3].get<double>(), set.limits()(3));
    EXPECT_EQ(task["path"]["rounds"], Json({t + 1, t + 4, t + 7, t + 10}));
    EXPECT_NEAR(task["path"]["values"][2][1].get<double>(), rounds[t + 6].played(1),
                1e-5 * std::abs(rounds[t + 6].played(1)));
  }
  const auto margins = reader.evaluations();
  EXPECT_EQ(run["margins"]["values"].back()[2].get<double>(), margins.back().margins(2));
  const auto certificates = reader.certificates();
  ASSERT_EQ(run["spectrum"]["rounds"].size(), certificates.size());
  EXPECT_EQ(run["spectrum"]["values"][5][1].get<double>(), certificates[5].spectrum(1));
  EXPECT_EQ(run["spectrum"]["q"], 100.0);
}

TEST_F(ReportData, FlightsFollowTheSystemWithoutNoise) {
  const auto path = play(config_of("learner", 0));
  const Setting setting = draw_setting(RunReader(path).header().config);
  const Json report = report_data({path});
  const Json& run = report["experiments"][0]["runs"][0];
  const Json& json = run["tasks"][1];
  const Task& task = setting.tasks[1];
  const Json& flight = json["last_flights"][2];
  ASSERT_EQ(flight.size(), 10);  // every second of 20 steps
  EXPECT_EQ(flight[0], json["first_flights"][2][0]);
  EXPECT_NE(flight.back(), json["first_flights"][2].back());
  // The last policy by hand, step by step from the same start.
  const ExperimentConfig config = RunReader(path).header().config;
  RolloutSettings settings;
  settings.trajectories = 3;
  settings.steps = 1;
  settings.seed = run_seed(config, SeedOf::evaluation);
  const Eigen::VectorXd alpha = RunReader(path).policies()->col(1);
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

TEST_F(ReportData, PrincipalComponentsKeepDistances) {
  // Two entries of s: their principal plane is the whole plane, so no distance may change.
  const Json report = report_data({play(config_of("learner", 0))});
  const Json& found = report["experiments"][0]["runs"][0]["coefficients"];
  EXPECT_EQ(found["of"], "coefficients");
  const auto distance = [](const Json& a, const Json& b) {
    return std::hypot(a[0].get<double>() - b[0].get<double>(),
                      a[1].get<double>() - b[1].get<double>());
  };
  const Json& places = found["principal"]["places"];
  EXPECT_NEAR(distance(places[0], places[2]), distance(found["tasks"][0], found["tasks"][2]), 1e-9);
  EXPECT_NEAR(distance(places[1], places[2]), distance(found["tasks"][1], found["tasks"][2]), 1e-9);
  EXPECT_GE(found["principal"]["shares"][0], found["principal"]["shares"][1]);
}

/// Appends the curves of `news` to those of `known`, as the page does.
void append_curves(Json& known, const Json& news) {
  if (news.is_array()) {
    for (std::size_t i = 0; i < news.size(); ++i) append_curves(known[i], news[i]);
  } else if (news.is_object()) {
    for (const auto& [key, value] : news.items()) {
      if (news.contains("rounds") && value.is_array()) {
        known[key].insert(known[key].end(), value.begin(), value.end());
      } else if (value.is_object() ||
                 (value.is_array() && !value.empty() && value[0].is_object())) {
        append_curves(known[key], value);
      } else {
        known[key] = value;
      }
    }
  }
}

TEST_F(ReportData, WhatCameLaterAddsUpToTheWhole) {
  const ExperimentConfig config = config_of("learner", 0);
  Json report = report_data({play(config, 5)});
  EXPECT_EQ(report["experiments"][0]["runs"][0]["rounds_done"], 5);
  EXPECT_EQ(report["experiments"][0]["runs"][0]["finished"], false);
  const auto path = play(config);
  const Json news = report_data({path}, 5);
  EXPECT_FALSE(news["experiments"][0]["runs"][0].contains("settings"));
  EXPECT_EQ(news["since"], 5);
  append_curves(report, news);
  report.erase("since");
  EXPECT_EQ(report.dump(), report_data({path}).dump());
}

TEST_F(ReportData, WithoutConstraintsThereAreNoMargins) {
  const ExperimentConfig config = configuration_of(
      parse_config(
          "[experiment]\nname='free'\nrounds=4\ntasks=2\nsteps=10\n[family]\nbase='mass-spring'\n",
          "test"),
      "pg", 0);
  const Json report = report_data({play(config)});
  const Json& run = report["experiments"][0]["runs"][0];
  EXPECT_FALSE(run.contains("margins"));
  EXPECT_FALSE(run.contains("spectrum"));
  EXPECT_FALSE(run.contains("least_margin"));
  EXPECT_FALSE(run["tasks"][0].contains("safe_set"));
  EXPECT_EQ(run["coefficients"]["of"], "policies");
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
