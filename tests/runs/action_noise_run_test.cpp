// Actions with noises of their own, from a configuration to a run file and what leaves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lifeguard/runs/family_config.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/played_runs.hpp"

namespace lifeguard::action_noise_run_test {

using ::testing::HasSubstr;

/// Quadrotors whose rotors explore differently, with limits on their gains.
ExperimentConfig drones(const std::string& method) {
  return configuration_of(parse_config(R"(
[experiment]
name = "drones"
rounds = 6
tasks = 2
trajectories = 10
steps = 30
[evaluation]
start_states = 4
[family]
base = "quadrotor"
[family.settings]
sigma = [0.05, 0.1, 0.15, 0.2]
noise_limit = [0.1, 0.2, inf, 0.4]
[safe_set.lqr_box]
reach = 0.5
)",
                                       "test"),
                          method, 0);
}

PerAction drone_noise() {
  return PerAction(Eigen::VectorXd(Eigen::Vector4d(0.05, 0.1, 0.15, 0.2)));
}

struct ActionNoiseRun : PlayedRuns {};

TEST_F(ActionNoiseRun, IsPlayedKeptContinuedAndChecked) {
  for (const char* method : {"learner", "pg-ella", "pg", "shared", "lpg-ftw"}) {
    const auto path = play(drones(method), 3);
    play(drones(method));  // resumed
    const RunView view(path);
    EXPECT_EQ(view.tasks[1].settings.sigma, drone_noise()) << method;
    EXPECT_EQ(view.tasks[1].settings.noise_limit.of(3), 0.4);
    CheckOptions options;
    options.replay = true;
    const RunCheck result = check_run(path, options);
    EXPECT_TRUE(result.replayed);
    // Only the learner knows its constraints; all else holds for everyone.
    for (const std::string& finding : result.findings) {
      EXPECT_THAT(finding, HasSubstr("is violated")) << method;
      EXPECT_STRNE(method, "learner") << finding;
    }
  }
}

TEST_F(ActionNoiseRun, LeavesWithThePolicy) {
  const auto path = play(drones("learner"));
  const RunView view(path);
  const ExportedPolicy policy = export_policy(view, "0");
  const nlohmann::json json = policy_to_json(policy);
  EXPECT_EQ(json["sigma"], nlohmann::json({0.05, 0.1, 0.15, 0.2}));
  EXPECT_EQ(json["noise_limit"].size(), 4u);
  EXPECT_GT(json["noise_scale"][0], 0.05);
  EXPECT_EQ(json["noise_scale"][2], 0.15);
  EXPECT_THAT(policy_to_header(policy), HasSubstr("kSigma[kActions] = {0.05, 0.1, 0.15, 0.2};"));
}

TEST_F(ActionNoiseRun, AFleetHandsItOutAndLearnsFromIt) {
  const ExperimentConfig config = parse_config(R"([experiment]
name = "drones"
steps = 30
[fleet]
system = "quadrotor"
[fleet.settings]
sigma = [0.05, 0.1, 0.15, 0.2]
[safe_set.lqr_box]
reach = 0.5
[[machine]]
name = "a"
[[machine]]
name = "b"
settings = {sigma = 0.1}
)",
                                               "fleet.toml");
  const auto path = folder_ / "fleet.run";
  std::string issued;
  {
    FleetRun fleet(config, path);
    EXPECT_EQ(fleet.policy("a").sigma, drone_noise());
    EXPECT_EQ(fleet.policy("b").sigma, PerAction(0.1));
    issued = fleet.policy("a").fingerprint;
    EXPECT_EQ(fly_round(fleet, config, "a", 1).round.status, RoundStatus::ok);
    EXPECT_EQ(fly_round(fleet, config, "b", 2).round.status, RoundStatus::ok);
  }
  {
    FleetRun fleet(config, path);
    EXPECT_EQ(fly_round(fleet, config, "a", 3).round.status, RoundStatus::ok);
    // What one rotor's noise is wrong in was not played by this policy.
    ExportedPolicy other = fleet.policy("a");
    other.sigma = PerAction(Eigen::VectorXd(Eigen::Vector4d(0.05, 0.1, 0.15, 0.1)));
    EXPECT_THROW(
        fleet.observe("a", flown(config.machines[0].task, other, 5, 30), {"x", "test", "digest"}),
        InvalidInput);
  }
  CheckOptions options;
  const RunCheck result = check_run(path, options);
  EXPECT_TRUE(result.findings.empty()) << result.findings.front();
}

TEST(ActionNoiseConfig, IsANumberOrAListOfTheRightLength) {
  const auto family = [](const std::string& settings) {
    return parse_family("[family]\nbase = \"quadrotor\"\n[family.settings]\n" + settings,
                        "drones.toml");
  };
  EXPECT_EQ(family("sigma = 0.2").settings.sigma, PerAction(0.2));
  EXPECT_EQ(family("sigma = [0.05, 0.1, 0.15, 0.2]").settings.sigma, drone_noise());
  const auto refusal = [&](const std::string& settings) -> std::string {
    try {
      family(settings);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("sigma = [1, 2]"), HasSubstr("drones.toml:4: family.settings.sigma"));
  EXPECT_THAT(refusal("sigma = [1, 2]"), HasSubstr("must have 4 entries"));
  EXPECT_THAT(refusal("sigma = [0.1, 0.1, 0.1, -1]"), HasSubstr("sigma[3] = -1"));
}

TEST(ActionNoiseConfig, IsANumberOrBytesInARunFile) {
  const RunSizes sizes{.actions = 4};
  for (const PerAction& value : {PerAction(0.2), drone_noise()}) {
    PerAction back;
    EXPECT_EQ(from_cell(to_cell(value), Fit::any, sizes, back), "");
    EXPECT_EQ(back, value);
  }
  EXPECT_TRUE(std::holds_alternative<double>(to_cell(PerAction(Eigen::VectorXd::Ones(4)))));
  PerAction back;
  const Eigen::VectorXd alike = Eigen::VectorXd::Ones(4);
  EXPECT_THAT(from_cell(to_cell(alike), Fit::any, sizes, back), HasSubstr("the same number"));
  const Eigen::VectorXd few = Eigen::VectorXd::LinSpaced(3, 1, 2);
  EXPECT_THAT(from_cell(to_cell(few), Fit::any, sizes, back), HasSubstr("must have 32"));
  EXPECT_THAT(from_cell(Cell(std::string_view("1")), Fit::any, sizes, back), HasSubstr("a text"));
}

}  // namespace lifeguard::action_noise_run_test
