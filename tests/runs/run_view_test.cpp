#include "lifeguard/runs/run_view.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "lifeguard/core/check.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_description.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "lifeguard/version.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::run_view_test {

using run_files::results_of;
using run_files::RunFiles;
using run_files::small_config;

class RunViews : public RunFiles {};

TEST_F(RunViews, HoldWhatConfigurationAndSeedGiveToTheBit) {
  for (const char* family : {"mass-spring", "wide-cart-pole", "quadrotor"}) {
    const ExperimentConfig config = parse_config(
        fmt::format("[experiment]\nrounds = 5\ntasks = 3\ntrajectories = 8\nsteps = 30\nseed = 7\n"
                    "[evaluation]\nstart_states = 2\n[family]\nbase = \"{}\"\n"
                    "[family.settings]\nintegrator = \"runge_kutta_4\"\n"
                    "[safe_set.lqr_box]\nreach = 0.5\n",
                    family),
        "test.toml");
    const auto file = path(fmt::format("{}.run", family));
    lifeguard::Run run(config);
    start_run(config, file);
    run.evaluate_now();
    const Eigen::MatrixXd first = run.policies();
    while (!run.finished()) run.play();

    const RunView view(file);
    const DrawnTasks drawn = draw_tasks(config);
    EXPECT_EQ(view.tasks, drawn.tasks);
    for (int t = 0; t < 3; ++t) {
      EXPECT_EQ(view.safe_set(t), drawn.safe_sets[static_cast<std::size_t>(t)]);
    }
    EXPECT_EQ(view.first_policies, first);
    EXPECT_EQ(view.policies, run.policies());
    const auto& learner = dynamic_cast<const Learner&>(run.learner());
    EXPECT_EQ(view.header.experiment.k, learner.knowledge().basis_size());
    ASSERT_TRUE(view.knowledge);
    EXPECT_EQ(*view.knowledge, learner.knowledge());
    EXPECT_EQ(view.settings, effective_values(config));
    EXPECT_EQ(view.methods, config.methods);
    EXPECT_EQ(view.header.experiment.family, family);
    EXPECT_EQ(view.rounds.size(), 5U);
  }
}

TEST_F(RunViews, TasksWithTheSameConstraintsShareThem) {
  const ExperimentConfig config = parse_config(
      "[experiment]\nrounds = 2\ntasks = 4\ntrajectories = 4\nsteps = 20\n"
      "[evaluation]\nstart_states = 2\n[family]\nbase = \"mass-spring\"\n"
      "[safe_set.gain_box]\nlower = -5\nupper = 5\n",
      "test.toml");
  start_run(config, path("a.run"));
  EXPECT_EQ(RunReader(path("a.run")).description().safe_sets.size(), 1U);
  EXPECT_EQ(RunView(path("a.run")).safe_set(3), draw_tasks(config).safe_sets[3]);
  EXPECT_THAT(check_run(path("a.run"), true).findings, testing::IsEmpty());
}

TEST_F(RunViews, TheChosenKIsStored) {
  const ExperimentConfig config = parse_config(
      "[experiment]\nrounds = 3\ntasks = 2\ntrajectories = 8\nsteps = 30\n"
      "[evaluation]\nstart_states = 2\n[family]\nbase = \"cart-pole\"\n"
      "[learner]\ncross_validate_k = true\n[safe_set.lqr_box]\nreach = 0.7\n",
      "test.toml");
  start_run(config, path("a.run"));
  const RunView view(path("a.run"));
  const lifeguard::Run run(config);
  EXPECT_EQ(view.header.experiment.k,
            dynamic_cast<const Learner&>(run.learner()).knowledge().basis_size());
  EXPECT_THAT(check_run(path("a.run")).findings, testing::IsEmpty());
}

TEST_F(RunViews, AnExperimentWithoutConstraintsHasSetsWithoutRows) {
  const ExperimentConfig config = parse_config(
      "[experiment]\nrounds = 3\ntasks = 2\nsteps = 10\n[family]\nbase = \"mass-spring\"\n",
      "test.toml");
  for (const char* method : {"learner", "pg"}) {
    const auto file = path(fmt::format("{}.run", method));
    start_run(configuration_of(config, method, 1), file);
    const RunView view(file);
    EXPECT_FALSE(view.constrained());
    EXPECT_EQ(view.safe_set(1).parameters(), 2);
    EXPECT_EQ(view.knowledge.has_value(), std::string(method) == "learner");
    EXPECT_THAT(check_run(file, true).findings, testing::IsEmpty());
    EXPECT_EQ(export_policy(view, "0").worst_row, "");
  }
}

/// Before its first commit a run has a header and nothing else.
TEST_F(RunViews, AYoungRunCanBeLookedAtAndGoesOn) {
  const ExperimentConfig config = small_config();
  RunWriter::create(path("young.run"), lifeguard::Run(config).description());
  const RunView view(path("young.run"));
  EXPECT_FALSE(view.header.begun);
  EXPECT_EQ(view.policies, view.first_policies);
  const RunSummary summary = summarise(view);
  EXPECT_TRUE(std::isnan(summary.initial_cost()));
  EXPECT_TRUE(std::isnan(summary.final_cost()));
  EXPECT_TRUE(std::isnan(summary.mean_cost()));
  EXPECT_TRUE(nlohmann::json::parse(summary_to_json(summary).dump())["initial_cost"].is_null());
  const auto report = report_data({path("young.run")});
  EXPECT_FALSE(report["experiments"][0]["methods"][0].contains("first_cost"));
  EXPECT_EQ(export_policy(view, "1").round, 0);
  EXPECT_THAT(check_run(path("young.run"), true).findings, testing::IsEmpty());
  EXPECT_EQ(resume_run(path("young.run")), RunStatus::finished);
  start_run(config, path("whole.run"));
  EXPECT_EQ(results_of(path("young.run")), results_of(path("whole.run")));
}

TEST_F(RunViews, AReaderSeesOneMomentHoweverTheRunGoesOn) {
  RunOptions options;
  options.commit_seconds = 0;
  std::optional<RunReader> reader;
  std::optional<RunView> live;
  options.after_round = [&](const auto&, const RoundOutcome& outcome) {
    if (outcome.round.round == 10) {
      reader.emplace(path("live.run"));
      live.emplace(path("live.run"));
    }
    if (outcome.round.round == 20) {
      const RunView then(*reader);
      EXPECT_EQ(then.header.rounds_done, 9);
      EXPECT_EQ(then.rounds.size(), 9U);
      EXPECT_EQ(then.certificates.back().round, 9);
      live->read_on(RunReader(path("live.run")));
      EXPECT_EQ(live->header.rounds_done, 19);
      EXPECT_EQ(live->rounds.size(), 19U);
      reader.reset();
    }
    return true;
  };
  start_run(small_config(), path("live.run"), options);
  live->read_on(RunReader(path("live.run")));
  const RunView whole(path("live.run"));
  EXPECT_TRUE(live->header.finished);
  EXPECT_EQ(live->policies, whole.policies);
  EXPECT_EQ(*live->knowledge, *whole.knowledge);
  EXPECT_EQ(live->rounds.size(), whole.rounds.size());
  EXPECT_EQ(report_of({&*live}).dump(), report_of({&whole}).dump());
  // Another run under the same name is another run.
  std::filesystem::remove(path("live.run"));
  start_run(small_config("pg", 5), path("live.run"));
  live->read_on(RunReader(path("live.run")));
  EXPECT_EQ(live->header.experiment.method, "pg");
  EXPECT_EQ(live->rounds.size(), 5U);
}

std::filesystem::path old_file(const std::string& name) {
  return std::filesystem::path(LIFEGUARD_SOURCE_DIR) / "tests/data/runs" / name;
}

/// Files that lifeguard 0.1.0 wrote.
class OldRuns : public RunFiles {};

TEST_F(OldRuns, AreReadAndChecked) {
  const RunView view(old_file("schema3.run"));
  EXPECT_EQ(view.header.schema_version, 3);
  EXPECT_EQ(view.header.lifeguard_version, "0.1.0");
  EXPECT_EQ(view.header.experiment.name, "old");
  EXPECT_EQ(view.tasks, draw_tasks(view.header.config()).tasks);
  const RunSummary summary = summarise(view);
  EXPECT_NEAR(summary.initial_cost(), 1.19955, 1e-5);
  EXPECT_NEAR(summary.final_cost(), 1.1998, 1e-4);
  EXPECT_NEAR(export_policy(view, "0").gains(0, 0), 0.020258357988785683, 1e-12);
  EXPECT_EQ(report_data({old_file("schema3.run")})["experiments"][0]["runs"][0]["rounds_done"], 6);
  const RunCheck check = check_run(old_file("schema3.run"));
  EXPECT_THAT(check.findings, testing::IsEmpty());
  EXPECT_EQ(check.policies, 6);
  EXPECT_FALSE(check.checksums_checked);
}

TEST_F(OldRuns, UnfinishedOnesAreReadOrRefusedPlainly) {
  try {
    const RunView view(old_file("schema3-unfinished.run"));
    EXPECT_EQ(view.header.rounds_done, 3);
    EXPECT_NEAR(export_policy(view, "0").gains(0, 0), -11.4341388564331, 1e-9);
  } catch (const RunFileError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("older lifeguard (0.1.0)"));
  }
  std::filesystem::copy_file(old_file("schema3-unfinished.run"), path("old.run"));
  try {
    resume_run(path("old.run"));
    ADD_FAILURE() << "an older run went on";
  } catch (const RunFileError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("was begun by lifeguard 0.1.0"));
  }
  // One that says it is ours, in a schema that is not.
  {
    SQLite::Database database(path("old.run").string(), SQLite::OPEN_READWRITE);
    database.exec(
        fmt::format("UPDATE meta SET value = '{}' WHERE key = 'lifeguard_version'", kVersion));
  }
  try {
    resume_run(path("old.run"));
    ADD_FAILURE() << "a run of an older schema went on";
  } catch (const RunFileError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("schema version 3"));
  }
}

TEST_F(OldRuns, WithoutABoundOfTheRegretHold) {
  const RunView view(old_file("schema5.run"));
  EXPECT_EQ(view.header.schema_version, 5);
  ASSERT_FALSE(view.regrets.empty());
  EXPECT_FALSE(view.regrets.back().bounded());
  const RunCheck check = check_run(old_file("schema5.run"));
  EXPECT_THAT(check.findings, testing::IsEmpty());
  EXPECT_TRUE(check.checksums_checked);
  EXPECT_EQ(check.bounds, 0);
}

TEST_F(OldRuns, OfEmpiricalBayesWithoutBeliefsHold) {
  const RunView view(old_file("schema6.run"));
  EXPECT_EQ(view.header.schema_version, 6);
  EXPECT_EQ(view.rounds.size(), 6U);
  EXPECT_TRUE(std::isnan(view.rounds.back().agreement));
  EXPECT_TRUE(view.beliefs.empty());
  EXPECT_TRUE(view.task_beliefs.empty());
  const auto report = report_data({old_file("schema6.run")});
  for (const auto& chart : report["experiments"][0]["charts"]) {
    EXPECT_THAT(chart["name"].get<std::string>(), testing::Not(testing::StartsWith("knowledge")));
  }
  const RunCheck check = check_run(old_file("schema6.run"));
  EXPECT_THAT(check.findings, testing::IsEmpty());
  EXPECT_TRUE(check.checksums_checked);
}

TEST_F(OldRuns, WithoutDescriptionsOfSystemsHold) {
  EXPECT_EQ(RunView(old_file("schema7.run")).header.schema_version, 7);
  const RunCheck check = check_run(old_file("schema7.run"));
  EXPECT_THAT(check.findings, testing::IsEmpty());
  EXPECT_TRUE(check.checksums_checked);
}

TEST_F(OldRuns, OfTheFirstSchemasHaveNoRegretAndNoLemmas) {
  for (const int version : {1, 2}) {
    const auto file = path(fmt::format("{}.run", version));
    std::filesystem::copy_file(old_file("schema3.run"), file);
    {
      SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
      if (version < 2) database.exec("DROP TABLE regret");
      database.exec(fmt::format("DROP TABLE lemmas; PRAGMA user_version = {}", version));
    }
    const RunView view(file);
    EXPECT_EQ(view.regrets.empty(), version < 2);
    EXPECT_TRUE(view.lemmas.empty());
    EXPECT_EQ(view.rounds.size(), 6U);
  }
}

TEST_F(OldRuns, DamageToThemIsFoundWhereTheyContradictThemselves) {
  for (const char* sql :
       {"DELETE FROM certificates", "DELETE FROM rounds WHERE round = 4", "DELETE FROM policies",
        "UPDATE rounds SET unsafe = 1", "UPDATE tasks SET name = 'x' WHERE task = 1",
        "UPDATE tasks SET parameters = '{}' WHERE task = 1", "DELETE FROM tasks",
        "UPDATE meta SET value = 'pg' WHERE key = 'method'", "DELETE FROM checkpoint",
        "UPDATE rounds SET played = zeroblob(8)", "UPDATE evaluations SET costs = zeroblob(16)"}) {
    const auto file = path("old.run");
    std::filesystem::copy_file(old_file("schema3.run"), file,
                               std::filesystem::copy_options::overwrite_existing);
    {
      SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
      database.exec(sql);
    }
    EXPECT_THAT(check_run(file).findings, testing::Not(testing::IsEmpty())) << sql;
  }
}

TEST(StoredTasks, WhatIsNoTaskIsRefused) {
  const ExperimentConfig config = small_config();
  const RunDescription description = lifeguard::Run(config).description();
  StoredTask task = description.tasks[1];
  EXPECT_EQ(task_of(task), draw_tasks(config).tasks[1]);
  task.system = "submarine";
  EXPECT_THROW(task_of(task), InvalidInput);
  task = description.tasks[1];
  task.parameters = "{\"mass_kilograms\": 1}";
  EXPECT_THROW(task_of(task), InvalidInput);
  task.parameters = std::string(100000, '[');
  EXPECT_THROW(task_of(task), InvalidInput);
  task = description.tasks[1];
  task.integrator = "none";
  EXPECT_THROW(task_of(task), InvalidInput);
  task = description.tasks[1];
  task.settings.dt_seconds = -1;
  EXPECT_THROW(task_of(task), InvalidInput);
  StoredSafeSet set = description.safe_sets[0];
  set.names = "[]";
  EXPECT_THROW(safe_set_of(set, 2), InvalidInput);
  set = description.safe_sets[0];
  EXPECT_THROW(safe_set_of(set, 3), InvalidInput);
}

}  // namespace lifeguard::run_view_test
