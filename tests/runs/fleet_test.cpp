// Fleets: their files, and what they learn from outside.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/fleet_report.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/runs/fleet_template.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/systems/cart_pole.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::fleet_test {

using run_files::results_of;
using testing::HasSubstr;

class Fleets : public run_files::RunFiles {};

std::string refusal(const std::string& toml) {
  try {
    parse_config(toml, "fleet.toml");
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(FleetFiles, WhatAMachineSaysTakesThePlaceOfWhatTheFleetSays) {
  const ExperimentConfig config = small_fleet();
  ASSERT_EQ(config.machines.size(), 2U);
  EXPECT_EQ(config.tasks, 2);
  EXPECT_EQ(parameter(config.machines[0].task.system, "mass_kilograms"), 2.75);
  EXPECT_EQ(parameter(config.machines[1].task.system, "mass_kilograms"), 2.0);
  EXPECT_EQ(config.machines[0].task.settings.sigma, 0.3);
  const DrawnTasks drawn = draw_tasks(config);
  EXPECT_EQ(drawn.tasks[1].name, "b");
  // Limits around each machine's own LQR controller.
  EXPECT_NE(drawn.safe_sets[0], drawn.safe_sets[1]);
}

TEST(FleetFiles, MachinesMayHaveTheirOwnSafeSetsAndFirstControllers) {
  const ExperimentConfig config = small_fleet(R"([[machine]]
name = "c"
first_lqr_share = 0.2
[machine.safe_set.lqr_box]
reach = 0.3
[[machine]]
name = "d"
first_gains = [[-0.1, -0.2]]
settings.sigma = 0.2
)");
  const DrawnTasks drawn = draw_tasks(config);
  const Eigen::VectorXd lqr = parameters_from_gains(lqr_gains(drawn.tasks[2]));
  EXPECT_LT((drawn.first[2].parameters - 0.2 * lqr).norm(), 1e-12);
  EXPECT_GT(margins(drawn.safe_sets[2], 0.29 * lqr).worst(), 0);
  EXPECT_LT(margins(drawn.safe_sets[2], 0.31 * lqr).worst(), 0);
  EXPECT_EQ(drawn.first[3].parameters, Eigen::Vector2d(-0.1, -0.2));
  EXPECT_EQ(drawn.tasks[3].settings.sigma, 0.2);
  // A first controller that somebody gave is kept or refused.
  EXPECT_THAT([] { draw_tasks(small_fleet("[[machine]]\nname = \"e\"\nfirst_lqr_share = 0.9\n")); },
              testing::ThrowsMessage<InvalidInput>(HasSubstr("machine \"e\"")));
}

TEST(FleetFiles, MistakesAreFoundWithTheirPlace) {
  const std::string fleet = small_fleet_text();
  EXPECT_THAT(refusal(fleet + "[[machine]]\n"), HasSubstr("fleet.toml:16: machine[2].name"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"a\"\n"), HasSubstr("must not appear twice"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"c\"\ncolour = 1\n"),
              HasSubstr("fleet.toml:18: machine[2].colour"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"c\"\nparameters = { mass = 1 }\n"),
              HasSubstr("the parameters are"));
  EXPECT_THAT(
      refusal(fleet + "[[machine]]\nname = \"c\"\nparameters = { mass_kilograms = [1, 2] }\n"),
      HasSubstr("must be one number"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"c\"\nsystem = \"cart-pole\"\n"),
              HasSubstr("must be those of a"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"c\"\ntolerance = { mass_kilograms = 0.1 }\n"),
              HasSubstr("without [safe_set.closed_loop]"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"c\"\nfirst_gains = [[1]]\n"),
              HasSubstr("must be 1 x 2"));
  EXPECT_THAT(refusal(fleet + "[[machine]]\nname = \"c\"\nsettings = { sigma = -1 }\n"),
              HasSubstr("machine[2]"));
  EXPECT_THAT(refusal(fleet + "[family]\nbase = \"mass-spring\"\n"), HasSubstr("beside"));
  EXPECT_THAT(refusal("[fleet]\nsystem = \"mass-spring\"\n"), HasSubstr("[[machine]]"));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\n"), HasSubstr("machine[0].system"));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\nsystem = \"linear\"\n"), HasSubstr("model"));
  EXPECT_THAT(refusal("[[machine]]\nname = \"a\"\nsystem = \"mass-spring\"\nretired = true\n"),
              HasSubstr("not retired"));
  EXPECT_THAT(refusal("[experiment]\ntasks = 3\n[[machine]]\nname = \"a\"\n"
                      "system = \"mass-spring\"\n"),
              HasSubstr("the number of machines"));
}

/// Line 8 is [safe_set.lqr_box], line 9 its reach.
TEST(FleetFiles, AMistakeIsNamedWhereItStands) {
  EXPECT_THAT(refusal(small_fleet_text("", "\"far\"")),
              HasSubstr("fleet.toml:9: safe_set.lqr_box.reach (a) = 'far'"));
  EXPECT_THAT(refusal(small_fleet_text("", "-1")),
              HasSubstr("fleet.toml:8: safe_set.lqr_box.from (a) = -1: must be less than reach"));
  EXPECT_THAT(refusal(small_fleet_text("[machine.safe_set.lqr_box]\nreach = \"far\"\n")),
              HasSubstr("fleet.toml:17: machine[1].safe_set.lqr_box.reach (b) = 'far'"));
  EXPECT_THAT(refusal("safe_set = 3\n" + small_fleet_text()), HasSubstr("fleet.toml"));
  const std::string head =
      "[fleet]\nsystem = \"mass-spring\"\n[fleet.settings]\nsigma = 0.1\nnoise_limit = 0.2\n"
      "[fleet.tolerance]\nmass_kilograms = 2\n[safe_set.closed_loop]\ndecay = 0.999\n";
  const std::string machine = "[[machine]]\nname = \"a\"\n";
  EXPECT_THAT(refusal("[fleet]\nsystem = \"mass-spring\"\n[fleet.settings]\nsigma = 0.1\n"
                      "noise_limit = inf\n[safe_set.closed_loop]\ndecay = 0.999\n" +
                      machine),
              HasSubstr("fleet.toml:5: fleet.settings.noise_limit (a) = inf: must be finite"));
  EXPECT_THAT(refusal(head + machine),
              HasSubstr("fleet.toml:7: fleet.tolerance.mass_kilograms (a) = 2"));
  EXPECT_THAT(refusal(head + machine + "tolerance = { mass_kilograms = -1 }\n"),
              HasSubstr("fleet.toml:12: machine[0].tolerance.mass_kilograms (a) = -1"));
  EXPECT_THAT(refusal("[fleet]\nsystem = \"mass-spring\"\n[safe_set.closed_loop]\n"
                      "tolerance = 0.1\n" +
                      machine),
              HasSubstr("fleet.toml:4: safe_set.closed_loop.tolerance"));
}

TEST(FleetFiles, AShareOfZeroIsNotedAsNothing) {
  const ExperimentConfig config = parse_config(
      "[fleet]\nsystem = \"mass-spring\"\n[fleet.settings]\nsigma = 0.1\nnoise_limit = 0.2\n"
      "[fleet.parameters]\ndamping_newton_seconds_per_metre = 0\n"
      "[fleet.tolerance]\ndamping_newton_seconds_per_metre = 0.1\nmass_kilograms = 0.1\n"
      "[safe_set.closed_loop]\ndecay = 0.999\n[[machine]]\nname = \"a\"\n",
      "fleet.toml");
  const FleetReport report = report_fleet(config, {}, 0);  // known without looking for the loop
  EXPECT_THAT(report.machines[0].missing,
              testing::Contains(HasSubstr("no tolerance of damping_newton_seconds_per_metre")));
  EXPECT_EQ(report.machines[0].tolerance_units.size(), 2U);
}

TEST(FleetFiles, AReportNamesWhatItSpeaksOf) {
  const FleetReport report = report_fleet(small_fleet());
  EXPECT_THAT(report.gains,
              testing::ElementsAre("gain on position (N/m)", "gain on speed (N/(m/s))"));
  EXPECT_THAT(report.machines[0].nearest, HasSubstr("gain(0, "));
  EXPECT_THAT(report.machines[0].nearest_meaning, HasSubstr("force per "));
  const std::string json = fleet_report_to_json(report).dump();
  EXPECT_THAT(json, HasSubstr("position [m]"));
  EXPECT_THAT(json, HasSubstr("nearest_meaning"));
}

TEST(FleetFiles, TheTemplatesCanBeUsedAsTheyAre) {
  for (const std::string& system : fleet_systems()) {
    const ExperimentConfig config = parse_config(fleet_template(system), system + ".toml");
    const FleetReport report = report_fleet(config);
    EXPECT_TRUE(report.usable()) << system << ": " << report.machines[0].problem;
    EXPECT_EQ(report.machines.size(), 2U);
    EXPECT_FALSE(fleet_report_to_json(report).dump().empty());
  }
  EXPECT_THROW(fleet_template("unicycle"), InvalidInput);
}

TEST(FleetFiles, ALinearModelIsAMachine) {
  const ExperimentConfig config = parse_config(fleet_template("linear"), "linear.toml");
  const Task& task = config.machines[0].task;
  EXPECT_EQ(parameter(task.system, "a_1_2"), 0.01);
  EXPECT_EQ(parameter(task.system, "b_2_1"), 0.01);
  const Eigen::Vector2d x(0.4, -0.2);
  const Eigen::VectorXd u = Eigen::VectorXd::Constant(1, 3.0);
  EXPECT_LT((task.step(x, u) - Eigen::Vector2d(0.4 - 0.002, -0.2 * 0.999 + 0.03)).norm(), 1e-15);
  EXPECT_NEAR(task.cost(x, u), 0.16 + 0.1 * 0.04 + 0.1 * 9, 1e-15);
  EXPECT_EQ(task.linearise().a, described(task.system)->model->a);
  // Machines are drawn within the tolerance, and none leaves its limits.
  ExperimentConfig short_run = parse_config(fleet_template("linear"), "linear.toml",
                                            {"experiment.rounds=6", "experiment.steps=60"});
  const RunSummary summary = play_in_memory(short_run);
  EXPECT_EQ(summary.falls + summary.violations + summary.saturations, 0);
  EXPECT_EQ(summary.unsafe_policies, 0);
}

TEST(FleetFiles, ExternalMachinesCannotBeSimulatedAndSaySo) {
  const ExperimentConfig config = parse_config(fleet_template("external"), "external.toml");
  EXPECT_FALSE(can_simulate(config.machines[0].task.system));
  EXPECT_THAT([&] { play_in_memory(config); },
              testing::ThrowsMessage<InvalidInput>(HasSubstr("lifeguard observe")));
}

// A machine that is simulated has no limits if it says so; of another one nobody told any.
TEST(FleetFiles, LimitsThatNobodyToldAreNotToldTheLearner) {
  const ExperimentConfig external = parse_config(fleet_template("external"), "external.toml");
  Task robot = external.machines[0].task;
  EXPECT_EQ(told_action_range(robot).high, robot.settings.action_high);
  robot.settings.action_low.setConstant(-kInfinity);
  EXPECT_TRUE(told_action_range(robot).known());
  robot.settings.action_high.setConstant(kInfinity);
  EXPECT_FALSE(told_action_range(robot).known());
  Task simulated = make_task("cart", CartPole{});
  simulated.settings.action_low.setConstant(-kInfinity);
  simulated.settings.action_high.setConstant(kInfinity);
  EXPECT_TRUE(told_action_range(simulated).known());
}

TEST(FleetFiles, RetiredMachinesAreNotPlayed) {
  const ExperimentConfig config =
      small_fleet("[[machine]]\nname = \"c\"\nretired = true\n[[machine]]\nname = \"d\"\n");
  ASSERT_TRUE(config.machines[2].retired);
  for (long round = 1; round <= 6; ++round) EXPECT_NE(scheduled_task(config, round), 2);
  EXPECT_EQ(scheduled_task(config, 3), 3);
}

TEST_F(Fleets, AFleetIsPlayedCheckedAndReplayedAsAnyExperiment) {
  const ExperimentConfig config = parse_config(
      small_fleet_text(), "fleet.toml", {"experiment.rounds=8", "evaluation.start_states=5"});
  start_run(config, path("played.run"));
  EXPECT_THAT(check_run(path("played.run"), true).findings, testing::IsEmpty());
}

TEST_F(Fleets, ALinearModelIsPlayedCheckedAndReplayedToo) {
  const ExperimentConfig config =
      parse_config(fleet_template("linear"), "linear.toml",
                   {"experiment.rounds=4", "evaluation.start_states=5"});
  start_run(config, path("linear.run"));
  EXPECT_THAT(check_run(path("linear.run"), true).findings, testing::IsEmpty());
}

TEST_F(Fleets, LearnsFromOutsideAndEveryPolicyIsProven) {
  const ExperimentConfig config = small_fleet();
  FleetRun fleet(config, path("fleet.run"));
  EXPECT_EQ(fleet.active_machines(), (std::vector<std::string>{"a", "b"}));
  double first = 0;
  double last = 0;
  for (std::uint64_t round = 1; round <= 16; ++round) {
    const ObservedRound observed = fly_round(fleet, config, round % 2 == 1 ? "a" : "b", round);
    EXPECT_EQ(observed.round.status, RoundStatus::ok);
    EXPECT_EQ(observed.round.unsafe, 0);
    (round <= 2 ? first : last) = observed.round.mean_cost;
  }
  EXPECT_LT(last, first);
  const RunView view(path("fleet.run"));
  EXPECT_TRUE(view.header.observed);
  EXPECT_EQ(view.rounds.size(), 16U);
  EXPECT_EQ(view.observations.size(), 16U);
  EXPECT_EQ(view.evaluations.front().round, 1);  // before it nothing is known
  EXPECT_FALSE(view.regrets.empty());
  EXPECT_FALSE(report_of({&view}).dump().empty());
  const RunCheck check = check_run(path("fleet.run"));
  EXPECT_THAT(check.findings, testing::IsEmpty());
  EXPECT_EQ(check.issues, static_cast<long>(view.issues.size()));
}

// Asked for in any order, by any number of processes one after the other: the same bits.
TEST_F(Fleets, OpeningTheFileAnewBeforeEveryCallChangesNothing) {
  const ExperimentConfig config = small_fleet();
  {
    FleetRun fleet(config, path("once.run"));
    for (std::uint64_t i = 1; i <= 5; ++i) fly_round(fleet, config, i % 2 == 1 ? "a" : "b", i);
  }
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const std::string name = i % 2 == 1 ? "a" : "b";
    const ExportedPolicy policy = FleetRun(config, path("often.run")).policy(name);
    const Machine& machine = config.machines[i % 2 == 1 ? 0 : 1];
    FleetRun(config, path("often.run"))
        .observe(name, flown(machine.task, policy, i, config.steps),
                 {"flight " + std::to_string(i), "test.csv", std::to_string(i)});
  }
  EXPECT_EQ(results_of(path("once.run")), results_of(path("often.run")));
}

TEST_F(Fleets, ARetryIsNotCountedTwice) {
  const ExperimentConfig config = small_fleet();
  FleetRun fleet(config, path("fleet.run"));
  const ExportedPolicy policy = fleet.policy("a");
  const Recording flights = flown(config.machines[0].task, policy, 7);
  const ObservedRound first = fleet.observe("a", flights, {"id", "f.csv", "digest"});
  const std::string before = results_of(path("fleet.run"));
  const ObservedRound again = fleet.observe("a", flights, {"id", "f.csv", "digest"});
  EXPECT_FALSE(first.repeated);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.round.round, first.round.round);
  EXPECT_EQ(again.round.mean_cost, first.round.mean_cost);
  EXPECT_EQ(results_of(path("fleet.run")), before);
  EXPECT_THAT(
      [&] {
        fleet.observe("a", flights, {"id", "f.csv", "other"});
      },
      testing::ThrowsMessage<InvalidInput>(HasSubstr("is that of other trajectories")));
}

TEST_F(Fleets, TrajectoriesThatCannotBeOfThePolicyAreRefusedWithTheReason) {
  const ExperimentConfig config = small_fleet();
  FleetRun fleet(config, path("fleet.run"));
  const Task& task = config.machines[0].task;
  const auto refused = [&](const Recording& flights, const std::string& why,
                           const std::string& name = "a") {
    const std::string before = results_of(path("fleet.run"));
    EXPECT_THAT(
        [&] {
          fleet.observe(name, flights, {"", "f.csv", ""});
        },
        testing::ThrowsMessage<InvalidInput>(HasSubstr(why)));
    EXPECT_EQ(results_of(path("fleet.run")), before);
  };
  const ExportedPolicy policy = fleet.policy("a");
  const Recording good = flown(task, policy, 1);
  refused(good, "must be one of: a, b", "z");
  refused(good, "must be b", "b");
  Recording other = good;
  other.policy = std::string(32, '0');
  refused(other, "fingerprint");
  other.policy = "";
  refused(other, "must be named");
  other = good;
  other.trajectories.resize(1);
  refused(other, "at least 2");
  ExportedPolicy quiet = policy;
  quiet.sigma = 1e-9;
  refused(flown(task, quiet, 1), "exploration noise");
  ExportedPolicy strong = policy;
  strong.gains.array() -= 3;
  refused(flown(task, strong, 1), "action");
  Recording longer = flown(task, policy, 1, 41);
  refused(longer, "40");
  Recording renamed = good;
  renamed.states[0].unit = "mm";
  refused(renamed, "mm");
  EXPECT_EQ(fleet.rounds_done(), 0);
  EXPECT_EQ(fleet.observe("a", good, {"", "f.csv", ""}).round.round, 1);
}

TEST_F(Fleets, WhatIsNotUtf8IsRefusedOrMadeSo) {
  const ExperimentConfig config = small_fleet();
  FleetRun fleet(config, path("fleet.run"));
  const Recording flights = flown(config.machines[0].task, fleet.policy("a"), 7);
  for (const char* id : {"\xff", "\xc0\x80", "\xed\xa0\x80", "cut \xe2\x82", "two\nlines"}) {
    EXPECT_THROW(fleet.observe("a", flights, {id, "f.csv", ""}), InvalidInput) << id;
  }
  fleet.observe("a", flights, {"good", "fl\xfcge.csv", ""});
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
  EXPECT_EQ(RunView(path("fleet.run")).observations[0].source, "fl?ge.csv");
}

TEST_F(Fleets, TheSameDataUnderAnotherIdCountOnce) {
  const ExperimentConfig config = small_fleet();
  FleetRun fleet(config, path("fleet.run"));
  const Recording flights = flown(config.machines[0].task, fleet.policy("a"), 7);
  EXPECT_FALSE(fleet.observe("a", flights, {"one", "f.csv", "digest"}).repeated);
  EXPECT_TRUE(fleet.observe("a", flights, {"two", "f.csv", "digest"}).repeated);
  EXPECT_TRUE(fleet.observe("a", flights, {"", "f.csv", "digest"}).repeated);
  EXPECT_EQ(fleet.rounds_done(), 1);
}

// Gains mean nothing to a machine that sees or does something else.
TEST_F(Fleets, SignalsStayWhatTheyAre) {
  const std::string text = fleet_template("external");
  FleetRun(parse_config(text, "e.toml"), path("external.run")).policy("first");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("position [m]", "speed [m/s]")", R"("speed [m/s]", "position [m]")"},
           {R"("position [m]")", R"("position [mm]")"},
           {R"("force [N]")", R"("force [kN]")"}}) {
    std::string edited = text;
    edited.replace(edited.find(from), from.size(), to);
    EXPECT_THAT([&] { FleetRun(parse_config(edited, "e.toml"), path("external.run")); },
                testing::ThrowsMessage<InvalidInput>(HasSubstr("must stay")));
  }
  EXPECT_THAT(refusal(text + "[machine.model]\nstates = [\"position [mm]\", \"speed [m/s]\"]\n"
                             "actions = [\"force [N]\"]\n"),
              HasSubstr("must be those of first"));
}

TEST_F(Fleets, WhatHappenedInTheLastStateIsCounted) {
  const ExperimentConfig config = parse_config(small_fleet_text(), "fleet.toml",
                                               {"fleet.settings.failure_bounds=[50.0, 50.0]"});
  FleetRun fleet(config, path("fleet.run"));
  Recording flights = flown(config.machines[0].task, fleet.policy("a"), 7);
  ASSERT_TRUE(flights.trajectories[0].has_final_state());
  flights.trajectories[0].states(0, flights.trajectories[0].states.cols() - 1) = 60;
  flights.trajectories[1].end = EndReason::failed;
  const ObservedRound observed = fleet.observe("a", flights, {"", "f.csv", ""});
  EXPECT_EQ(observed.round.falls, 1);
  EXPECT_EQ(observed.round.violations, 2);
}

TEST(FleetFiles, LargeIntegersAreNumbers) {
  const ExperimentConfig config =
      parse_config(small_fleet_text("", "9007199254740993"), "fleet.toml");
  EXPECT_GT(margins(draw_tasks(config).safe_sets[0], Eigen::Vector2d(-1e6, -1e6)).worst(), 0);
  EXPECT_THAT(refusal("[experiment]\nrounds = 9007199254740993\n[family]\nbase='mass-spring'\n"),
              HasSubstr("rounds"));
}

TEST(FleetFiles, KeysOfVeryManyPartsAreRefused) {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  EXPECT_THAT(refusal(key + " = 1\n"), HasSubstr("parts"));
  EXPECT_THAT(refusal("[" + key + "]\n"), HasSubstr("parts"));
  EXPECT_THAT(refusal("x = { " + key + " = 1 }\n"), HasSubstr("parts"));
}

// A robot that took long: others have moved its policy meanwhile.
TEST_F(Fleets, DataOfAPolicyThatWasHandedOutBeforeAreLearntFrom) {
  const ExperimentConfig config = small_fleet();
  FleetRun fleet(config, path("fleet.run"));
  const ExportedPolicy slow = fleet.policy("a");
  fly_round(fleet, config, "b", 1);
  const ExportedPolicy now = fleet.policy("a");
  ASSERT_NE(now.fingerprint, slow.fingerprint);
  const ObservedRound observed =
      fleet.observe("a", flown(config.machines[0].task, slow, 2), {"slow", "f.csv", ""});
  EXPECT_EQ(observed.round.status, RoundStatus::ok);
  EXPECT_EQ(observed.round.played, parameters_from_gains(slow.gains));
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
}

/// What the machines cost in the last of some sweeps through a fleet of six. All ask before any
/// tells, or each asks when it is its turn.
double cost_after_sweeps(const std::filesystem::path& run, bool all_ask_first) {
  std::string text = small_fleet_head("0.9");
  for (int i = 0; i < 6; ++i) text += fmt::format("[[machine]]\nname = \"{}\"\n", i);
  const ExperimentConfig config = parse_config(text, "fleet.toml");
  FleetRun fleet(config, run);
  double cost = 0;
  for (std::uint64_t sweep = 0; sweep < 15; ++sweep) {
    std::vector<ExportedPolicy> policies;
    for (const Machine& machine : config.machines) {
      if (all_ask_first) policies.push_back(fleet.policy(machine.task.name));
    }
    cost = 0;
    for (std::size_t i = 0; i < config.machines.size(); ++i) {
      const Task& task = config.machines[i].task;
      const ExportedPolicy policy = all_ask_first ? policies[i] : fleet.policy(task.name);
      const Recording flights = flown(task, policy, 1000 * sweep + i, config.steps, 60);
      cost += fleet.observe(task.name, flights, {"", "f.csv", ""}).round.mean_cost / 6;
    }
  }
  return cost;
}

// All but the first of each sweep are of a policy that others have moved since. That must not keep
// a fleet from learning, nor lead it astray.
TEST_F(Fleets, AFleetWhoseMachinesAllFlyAtOnceLearnsAsWell) {
  const double in_turn = cost_after_sweeps(path("turn.run"), false);
  const double at_once = cost_after_sweeps(path("once.run"), true);
  const double first = RunView(path("turn.run")).rounds.front().mean_cost;
  EXPECT_LT(in_turn, 0.9 * first);
  EXPECT_LT(at_once, 0.9 * first);
  EXPECT_LT(std::abs(at_once - in_turn), 0.5 * (first - in_turn));
  EXPECT_THAT(check_run(path("once.run")).findings, testing::IsEmpty());
}

// What was flown under limits that no longer hold is no way around the new ones.
TEST_F(Fleets, DataFromBeforeTheLimitsWereTightenedLeadNowhereUnsafe) {
  const ExperimentConfig wide = small_fleet("", "0.9");
  const ExperimentConfig tight = small_fleet("", "0.005");
  std::vector<ExportedPolicy> old;
  {
    FleetRun fleet(wide, path("fleet.run"));
    for (std::uint64_t i = 1; i <= 20; ++i) fly_round(fleet, wide, i % 2 == 1 ? "a" : "b", i, 60);
    for (const char* name : {"a", "b"}) old.push_back(fleet.policy(name));
  }
  const DrawnTasks drawn = draw_tasks(tight, {}, Machines::as_known);
  FleetRun fleet(tight, path("fleet.run"));
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::size_t t = i % 2;
    const Recording flights = flown(tight.machines[t].task, old[t], 100 + i, 40, 60);
    EXPECT_EQ(fleet.observe(old[t].task, flights, {"", "f.csv", ""}).round.unsafe, 0);
    const ExportedPolicy policy = fleet.policy(old[t].task);
    EXPECT_TRUE(obeys_exactly(drawn.safe_sets[t], parameters_from_gains(policy.gains)));
  }
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
}

// A pure number has no unit to be written, in a fleet's file nor in a recording.
TEST_F(Fleets, SignalsWithoutUnitsAreFoundInRecordings) {
  std::string text = fleet_template("external");
  const std::string named = R"("position [m]", "speed [m/s]")";
  text.replace(text.find(named), named.size(), R"("x [raw] [m]", "share")");
  const ExperimentConfig config = parse_config(text, "e.toml");
  const SystemDescription system = describe(config.machines[0].task.system);
  EXPECT_EQ(system.states, (std::vector<Signal>{{"x [raw]", "m"}, {"share", "1"}}));
  const Recording recording = read_recording(
      "# lifeguard trajectories 1\n"
      "trajectory,step,state: x [raw] [m],state: share,action: force [N],end\n"
      "0,0,1,2,3,\n0,1,1,2,3,cut short\n",
      RecordingFormat::csv, "f.csv");
  EXPECT_EQ(to_trajectories(recording, config.machines[0].task, {}, 10).count(), 1);
}

TEST(FleetFiles, ALinearModelHasAtMostSoManyStates) {
  std::string states, a, b;
  for (int i = 0; i < 65; ++i) {
    states += fmt::format("\"s{}\", ", i);
    a += "[" + fmt::format("{}", fmt::join(std::vector<int>(65, 0), ", ")) + "], ";
    b += "[1], ";
  }
  EXPECT_THAT(
      refusal(fmt::format("[fleet]\nsystem = \"linear\"\n[fleet.model]\nstates = [{}]\n"
                          "actions = [\"u\"]\na = [{}]\nb = [{}]\n[[machine]]\nname = \"m\"\n",
                          states, a, b)),
      HasSubstr("at most 64"));
}

TEST_F(Fleets, MachinesComeChangeAndGo) {
  play_small_fleet(path("fleet.run"));
  const RunView view(path("fleet.run"));
  ASSERT_EQ(view.tasks.size(), 3U);
  std::vector<std::string> what;
  for (const StoredChange& change : view.changes) what.push_back(change.what);
  EXPECT_EQ(what, (std::vector<std::string>{"changed", "changed", "added"}));
  EXPECT_EQ(view.tasks_after(2), 2);
  EXPECT_EQ(view.tasks_after(3), 3);
  // What was played before was proven against what held then.
  EXPECT_NE(view.safe_set_after(1, 0), view.safe_set(0));
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());

  // b is no longer in the file, a is retired; what was learnt stays.
  const std::string gone = small_fleet_head("0.45") + R"([[machine]]
name = "a"
retired = true
[[machine]]
name = "c"
notes = "the new one"
)";
  const ExperimentConfig config = parse_config(gone, "fleet.toml");
  FleetRun fleet(config, path("fleet.run"));
  EXPECT_EQ(fleet.active_machines(), (std::vector<std::string>{"c"}));
  EXPECT_THROW(fleet.policy("a"), InvalidInput);
  EXPECT_THROW(fleet.policy("b"), InvalidInput);
  EXPECT_EQ(fly_round(fleet, config, "c", 5).round.round, 5);
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
  EXPECT_TRUE(RunView(path("fleet.run")).machines[1].retired);
}

TEST_F(Fleets, NewLimitsHoldFromTheNextPolicyOn) {
  const ExperimentConfig wide = small_fleet("", "0.9");
  {
    FleetRun fleet(wide, path("fleet.run"));
    for (std::uint64_t i = 1; i <= 20; ++i) fly_round(fleet, wide, i % 2 == 1 ? "a" : "b", i, 60);
  }
  const ExperimentConfig tight = small_fleet("", "0.005");
  const DrawnTasks drawn = draw_tasks(tight, {}, Machines::as_known);
  const RunView before(path("fleet.run"));
  EXPECT_FALSE(obeys_exactly(drawn.safe_sets[0], before.policies.col(0)));
  FleetRun fleet(tight, path("fleet.run"));
  for (int t = 0; t < 2; ++t) {
    const ExportedPolicy policy = fleet.policy(t == 0 ? "a" : "b");
    EXPECT_TRUE(obeys_exactly(drawn.safe_sets[static_cast<std::size_t>(t)],
                              parameters_from_gains(policy.gains)));
  }
  EXPECT_THAT(check_run(path("fleet.run")).findings, testing::IsEmpty());
}

TEST_F(Fleets, ARefusedChangeLeavesTheFileAsItWas) {
  play_small_fleet(path("fleet.run"));
  const std::string before = results_of(path("fleet.run"));
  const ExperimentConfig impossible = small_fleet(
      std::string(kThirdMachine) +
          "[machine.safe_set.half_space]\nname = \"none\"\nnormal = [1, 0]\nlimit = -1e6\n",
      "0.45");
  EXPECT_THROW(FleetRun(impossible, path("fleet.run")), InvalidInput);
  const ExperimentConfig other_learner =
      parse_config(small_fleet_text(kThirdMachine, "0.45"), "fleet.toml", {"learner.zeta=2.0"});
  EXPECT_THAT([&] { FleetRun(other_learner, path("fleet.run")); },
              testing::ThrowsMessage<InvalidInput>(HasSubstr("learner.zeta")));
  EXPECT_EQ(results_of(path("fleet.run")), before);
}

TEST_F(Fleets, APlayedRunIsNoFleetAndAFleetIsNotResumed) {
  start_run(run_files::small_config("learner", 3), path("played.run"));
  EXPECT_THROW(FleetRun(small_fleet(), path("played.run")), RunFileError);
  play_small_fleet(path("fleet.run"));
  EXPECT_THROW(resume_run(path("fleet.run")), InvalidInput);
}

TEST_F(Fleets, ExternalMachinesLearn) {
  const ExperimentConfig config =
      parse_config(fleet_template("external"), "external.toml", {"experiment.steps=60"});
  // What is outside: a mass that nobody described.
  Task truth = config.machines[0].task;
  DescribedSystem real = *described(truth.system);
  real.model =
      LinearModel{(Eigen::Matrix2d() << 1, 0.05, -0.05, 0.98).finished(), Eigen::Vector2d(0, 0.05)};
  truth.settings.start_low = Eigen::Vector2d(-1, -0.5);
  truth.settings.start_high = Eigen::Vector2d(1, 0.5);
  truth.system = make_described_system(real, truth.settings);
  FleetRun fleet(config, path("external.run"));
  double first = 0;
  double last = 0;
  for (std::uint64_t i = 1; i <= 12; ++i) {
    const ExportedPolicy policy = fleet.policy("first");
    const ObservedRound observed =
        fleet.observe("first", flown(truth, policy, i, 60, 30), {"", "f.csv", ""});
    (i == 1 ? first : last) = observed.round.mean_cost;
  }
  EXPECT_LT(last, first);
  EXPECT_THAT(check_run(path("external.run")).findings, testing::IsEmpty());
  const RunView view(path("external.run"));
  EXPECT_FALSE(report_of({&view}).dump().empty());
  EXPECT_FALSE(summary_to_json(summarise(view)).dump().empty());
}

}  // namespace lifeguard::fleet_test
