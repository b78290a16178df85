// Runs of systems that the program which reads them does not know: all but playing works, and what
// was not checked is said.

#include "lifeguard/systems/absent_system.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::absent_system_test {

using run_files::RunFiles;
using test_support::expect_invalid;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A pendulum whose policy sees other things than its state. The one that is registered has another
/// name.
template <bool kRegistered>
struct Swing {
  static constexpr std::string_view kName = kRegistered ? "known-swing" : "swing";
  static constexpr std::string_view kMeaning = "a seat on a rope";
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr int kFeatures = 3;
  static constexpr std::array<SignalName, 2> kStateNames = {{{"angle", "rad"}, {"rate", "rad/s"}}};
  static constexpr std::array<SignalName, 1> kActionNames = {{{"push", "N"}}};
  static constexpr std::array<SignalName, 3> kFeatureNames = {
      {{"sine", "1"}, {"cosine", "1"}, {"rate", "rad/s"}}};
  static constexpr std::string_view kDrawing = "mass-spring";
  static constexpr std::array<int, 1> kPositions = {0};

  double length_metres = 2;
  static constexpr auto parameters() {
    return std::to_array<Parameter<Swing>>(
        {{"length_metres", &Swing::length_metres, ParameterRule::positive(), "m",
          "length of the rope"}});
  }
  std::array<double, 2> start(const CounterRandom& random) const {
    return {random.uniform(0, -0.5, 0.5), 0};
  }
  std::array<double, 2> step(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    const double rate = x[1] + 0.05 * (u[0] - 9.81 / length_metres * std::sin(x[0]));
    return {x[0] + 0.05 * rate, rate};
  }
  double cost(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return x[0] * x[0] + 0.01 * u[0] * u[0];
  }
  std::array<double, 3> features(const std::array<double, 2>& x) const {
    return {std::sin(x[0]), std::cos(x[0]), x[1]};
  }
  bool operator==(const Swing&) const = default;
};

/// A configuration that only a program understands in which the system is registered.
ExperimentConfig swings(const std::string& more = "", const std::string& method = "learner") {
  const std::string text = fmt::format(
      "[experiment]\nname = \"swings\"\nrounds = 12\ntasks = 3\ntrajectories = 12\nsteps = 40\n"
      "method = \"{}\"\n[evaluation]\nstart_states = 4\nregret = true\n"
      "[safe_set.gain_box]\nlower = -20\nupper = 20\n{}\n[family]\n",
      method, more);
  ExperimentConfig config = parse_config(text + "base = \"mass-spring\"\n", "swings.toml");
  config.source_text = text + "base = \"swing\"\n";
  config.family =
      make_family("swing", make_custom_system(Swing<false>{}), {{"length_metres", 1.5, 2.5}});
  return config;
}

/// A cart that begins with a share of its LQR gains and may go around them.
struct Trolley {
  static constexpr std::string_view kName = "trolley";
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  std::array<double, 2> start(const CounterRandom& random) const { return {random.uniform(0), 0}; }
  std::array<double, 2> step(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return {x[0] + 0.1 * x[1], x[1] + 0.1 * u[0]};
  }
  double cost(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return x[0] * x[0] + 0.1 * u[0] * u[0];
  }
  static TaskSettings default_settings() {
    TaskSettings settings = TaskSettings::unlimited(2, 1);
    settings.state_weights << 1, 0;
    settings.action_weights << 0.1;
    return settings;
  }
};

class AbsentSystems : public RunFiles {
 protected:
  std::filesystem::path play(const ExperimentConfig& config) {
    start_run(config, path("a.run"));
    return path("a.run");
  }
  void change(const std::string& sql) {
    SQLite::Database(path("a.run").string(), SQLite::OPEN_READWRITE).exec(sql);
  }
  static CheckOptions without_checksums() { return {.checksums = Checksums::ignore}; }
};

TEST_F(AbsentSystems, AreReadFromTheRunFile) {
  const ExperimentConfig config = swings();
  const auto file = play(config);
  const RunView view(file);
  ASSERT_EQ(view.tasks.size(), 3U);
  const DrawnTasks drawn = draw_tasks(config);
  for (std::size_t t = 0; t < 3; ++t) {
    const Task& task = view.tasks[t];
    EXPECT_TRUE(is_absent(task.system));
    EXPECT_FALSE(can_simulate(task.system));
    EXPECT_EQ(task.name, drawn.tasks[t].name);
    EXPECT_EQ(task.settings, drawn.tasks[t].settings);
    EXPECT_EQ(parameter(task.system, "length_metres"),
              parameter(drawn.tasks[t].system, "length_metres"));
    const SystemDescription now = describe(task.system);
    const SystemDescription then = describe(drawn.tasks[t].system);
    EXPECT_EQ(now.name, "swing");
    EXPECT_EQ(now.meaning, then.meaning);
    EXPECT_TRUE(now.custom);
    EXPECT_EQ(now.states, then.states);
    EXPECT_EQ(now.actions, then.actions);
    EXPECT_EQ(now.features, then.features);
    EXPECT_EQ(now.drawing, then.drawing);
    EXPECT_EQ(now.positions, then.positions);
    ASSERT_EQ(now.parameters.size(), 1U);
    EXPECT_EQ(now.parameters[0].unit, "m");
    EXPECT_EQ(now.parameters[0].meaning, "length of the rope");
  }
  EXPECT_NE(view.tasks[0], view.tasks[1]);
  EXPECT_EQ(view.tasks, RunView(file).tasks);
  ASSERT_EQ(view.absent().size(), 1U);
  EXPECT_EQ(view.absent()[0], view.tasks[0]);
}

TEST_F(AbsentSystems, AreReportedAndExported) {
  const auto file = play(swings());
  const RunView view(file);
  EXPECT_EQ(summarise(view).unsafe_policies, 0);
  const auto report = report_data({file});
  const auto& run = report["experiments"][0]["runs"][0];
  EXPECT_EQ(run["system"], "swing");
  EXPECT_EQ(run["drawing"], "mass-spring");
  EXPECT_EQ(run["signals"].dump(), R"([{"name":"angle","unit":"rad"}])");
  EXPECT_EQ(run["parameters"][0], "gain on sine (N)");
  EXPECT_THAT(run["tasks"][0]["last_flights"], IsEmpty());
  EXPECT_FALSE(report_charts({file}).front().charts.empty());
  const ExportedPolicy policy = export_policy(view, "1");
  EXPECT_EQ(policy.system, "swing");
  EXPECT_EQ(policy.inputs[1], (Signal{"cosine", "1"}));
  EXPECT_THAT(policy_to_header(policy), HasSubstr("kFeatures = 3"));
}

TEST_F(AbsentSystems, AreCheckedAsFarAsNobodyMustPlayThem) {
  for (const char* more :
       {"", "[learner]\nupdate = \"linearised\"\n[projection]\np = 0.01\n",
        "[learner]\ncross_validate_k = true\nupdate = \"linearised\"\n[projection]\np = 0.01\n"}) {
    const auto file = play(swings(more));
    for (const Checksums checksums : {Checksums::verify, Checksums::ignore}) {
      const RunCheck check = check_run(file, {.checksums = checksums});
      EXPECT_THAT(check.findings, IsEmpty()) << more;
      EXPECT_THAT(check.not_checked, HasSubstr("does not know the system \"swing\""));
      EXPECT_EQ(check.checksums_checked, checksums == Checksums::verify);
      EXPECT_TRUE(check.certificate_checked);
      EXPECT_EQ(check.policies, 12);
      EXPECT_EQ(check.evaluations, 0);
      EXPECT_GT(check.bounds, 0);
    }
    std::filesystem::remove(file);
  }
}

TEST_F(AbsentSystems, OfMethodsWithoutConstraintsAreChecked) {
  for (const char* method : {"pg", "pg-ella", "shared", "lpg-ftw"}) {
    ExperimentConfig config = swings("", method);
    config.safe_set_toml.clear();
    config.source_text.replace(
        config.source_text.find("[safe_set"),
        config.source_text.find("[family") - config.source_text.find("[safe_set"), "");
    const auto file = play(config);
    EXPECT_THAT(check_run(file).findings, IsEmpty()) << method;
    EXPECT_NO_THROW(report_data({file})) << method;
    std::filesystem::remove(file);
  }
}

TEST_F(AbsentSystems, WithLqrControllersAreChecked) {
  const std::string text =
      "[experiment]\nrounds = 6\ntasks = 2\ntrajectories = 12\nsteps = 30\n"
      "start_lqr_share = 0.5\n[evaluation]\nstart_states = 4\n"
      "[safe_set.lqr_box]\nreach = 1.5\nfrom = 0.2\n[family]\n";
  ExperimentConfig config = parse_config(text + "base = \"mass-spring\"\n", "trolleys.toml");
  config.source_text = text + "base = \"trolley\"\n";
  config.family = make_family("trolley", make_custom_system(Trolley{}), {});
  const RunCheck check = check_run(play(config));
  EXPECT_THAT(check.findings, IsEmpty());
  EXPECT_THAT(check.not_checked, HasSubstr("\"trolley\""));
  EXPECT_NO_THROW(report_data({path("a.run")}));
}

TEST_F(AbsentSystems, AreNotPlayedAgain) {
  const auto file = play(swings());
  try {
    check_run(file, /*replay=*/true);
    ADD_FAILURE() << "a system that nobody knows was played";
  } catch (const UnknownSystem& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot be played again"));
    EXPECT_THAT(error.what(), HasSubstr("\"swing\""));
  }
  const Task task = RunView(file).tasks[0];
  RolloutSettings settings;
  settings.trajectories = 2;
  settings.steps = 2;
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 3), 0.1);
  expect_invalid([&] { rollout(task, policy, settings); }, "system", "swing", "not known");
  expect_invalid([&] { evaluate(task, policy, settings); }, "system", "swing", "not known");
  expect_invalid([&] { task.step(Eigen::Vector2d::Zero(), Eigen::VectorXd::Zero(1)); }, "system",
                 "swing", "not known");
}

TEST_F(AbsentSystems, DoNotGoOn) {
  RunOptions options;
  options.after_round = [](const auto&, const RoundOutcome& o) { return o.round.round < 5; };
  start_run(swings(), path("a.run"), options);
  EXPECT_THAT(check_run(path("a.run")).findings, IsEmpty());
  try {
    resume_run(path("a.run"));
    ADD_FAILURE() << "a system that nobody knows was played";
  } catch (const UnknownSystem& error) {
    EXPECT_THAT(error.what(), HasSubstr("it can be gone on with where that system is registered"));
  }
  EXPECT_EQ(RunView(path("a.run")).rounds.size(), 5U);
}

TEST_F(AbsentSystems, DamageIsFoundAllTheSame) {
  play(swings());
  std::filesystem::copy_file(path("a.run"), path("whole.run"));
  for (const char* sql :
       {"UPDATE rounds SET played = zeroblob(24) WHERE round = 7",
        "UPDATE rounds SET visit = visit + 1 WHERE round = 7",
        "UPDATE certificates SET fingerprint = 'x' WHERE round = 12",
        "UPDATE evaluations SET margins = zeroblob(24) WHERE round = 0",
        "UPDATE policies SET parameters = zeroblob(24) WHERE task = 1",
        "UPDATE checkpoint SET state = substr(state, 1, 400)", "UPDATE tasks SET description = ''",
        "UPDATE tasks SET description = '{}'",
        "UPDATE tasks SET description = replace(description, '[\"push\",\"N\"]', '')",
        "UPDATE tasks SET description = replace(description, '[0]', '[2]')",
        "UPDATE tasks SET description = replace(description, '[0]', '[-1]')",
        "UPDATE tasks SET description = replace(description, '[0]', '[1e300]')",
        "UPDATE tasks SET description = replace(description, 'length_metres', 'width')"}) {
    std::filesystem::copy_file(path("whole.run"), path("a.run"),
                               std::filesystem::copy_options::overwrite_existing);
    change(sql);
    EXPECT_THAT(check_run(path("a.run")).findings, Not(IsEmpty())) << sql;
    EXPECT_THAT(check_run(path("a.run"), without_checksums()).findings, Not(IsEmpty())) << sql;
    EXPECT_THAT(check_run(path("a.run"), /*replay=*/true).findings, Not(IsEmpty())) << sql;
  }
  // A word that says nothing to the numbers is the checksums' to find.
  std::filesystem::copy_file(path("whole.run"), path("a.run"),
                             std::filesystem::copy_options::overwrite_existing);
  change("UPDATE tasks SET description = replace(description, 'seat', 'boat')");
  EXPECT_THROW(RunView(path("a.run")), DamagedRunFile);
  EXPECT_THAT(check_run(path("a.run")).findings, Not(IsEmpty()));
}

/// Which says nothing of what its systems are.
TEST_F(AbsentSystems, OfAnOlderSchemaAreNoFinding) {
  play(swings());
  change("ALTER TABLE tasks DROP COLUMN description");
  change("PRAGMA user_version = 7");
  EXPECT_THROW(check_run(path("a.run"), without_checksums()), UnknownSystem);
  const std::string checksum =
      header_checksum(RunReader(path("a.run"), Checksums::ignore).description(), 7);
  change("UPDATE meta SET value = '" + checksum + "' WHERE key = 'header_checksum'");
  try {
    RunView view(path("a.run"));
    ADD_FAILURE() << "a system was read that the file does not describe";
  } catch (const UnknownSystem& error) {
    EXPECT_THAT(error.what(), HasSubstr("it can be read where that system is registered"));
  }
}

/// Whoever knows the system believes the system; the stored words may be older.
TEST_F(AbsentSystems, ThatAreKnownMayBeDescribedInOtherWords) {
  static std::once_flag once;
  std::call_once(once, [] { register_system(Swing<true>{}); });
  ExperimentConfig config = swings();
  config.source_text.replace(config.source_text.find("\"swing\""), 7, "\"known-swing\"");
  const auto file = play(parse_config(config.source_text, config.source));
  EXPECT_THAT(RunView(file).absent(), IsEmpty());
  EXPECT_TRUE(check_run(file, /*replay=*/true).replayed);
  EXPECT_THAT(check_run(file, /*replay=*/true).findings, IsEmpty());
  change("UPDATE tasks SET description = replace(description, 'seat', 'boat')");
  EXPECT_THAT(check_run(file).findings, Not(IsEmpty()));
  // Without a checksum it is what another version of the program may have written.
  EXPECT_THAT(check_run(file, without_checksums()).findings, testing::SizeIs(1));
  change("UPDATE tasks SET description = replace(description, '\"N\"', '\"kN\"')");
  EXPECT_THAT(check_run(file, without_checksums()).findings, Not(IsEmpty()));
}

}  // namespace lifeguard::absent_system_test
