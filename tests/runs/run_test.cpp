#include "lifeguard/runs/run.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/runs/comparison.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/policy_export.hpp"
#include "lifeguard/runs/policy_header.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_summary.hpp"
#include "tests/support/run_files.hpp"

namespace lifeguard::run_test {

using run_files::results_of;
using run_files::RunFiles;
using run_files::small_config;

TEST_F(RunFiles, ARunIsSafeCheckedAndTheSameWhenPlayedAgain) {
  ASSERT_EQ(start_run(small_config(), path("a.run")), RunStatus::finished);
  const RunCheck check = check_run(path("a.run"), /*replay=*/true);
  EXPECT_THAT(check.findings, testing::IsEmpty());
  EXPECT_EQ(check.rounds, 30);
  EXPECT_TRUE(check.certificate_checked);
  EXPECT_TRUE(check.replayed);
  const RunReader reader(path("a.run"));
  EXPECT_TRUE(reader.header().finished);
  EXPECT_EQ(reader.certificates().size(), 30U);
  EXPECT_EQ(reader.evaluations().size(), 31U);
  EXPECT_FALSE(std::filesystem::exists(path("a.run-wal")));
  EXPECT_FALSE(std::filesystem::exists(path("a.run-shm")));
  const RunSummary summary = summarise(reader);
  EXPECT_EQ(summary.unsafe_policies, 0);
  EXPECT_LT(summary.final_cost(), 0.5 * summary.costs.front());
  EXPECT_THAT(summary.observations_until_safe, testing::Each(0.0));
}

TEST_F(RunFiles, AnAnchorInPlaceOfAPolicyIsCountedStoredAndFoundByTheCheck) {
  // After round 5 the last look refuses every policy of task 1, once. The learner is the run's own
  // and not const; nobody else may reach into it.
  RunOptions options;
  options.after_round = [](const lifeguard::Run& run, const RoundOutcome& outcome) {
    auto& learner = const_cast<Learner&>(dynamic_cast<const Learner&>(run.learner()));  // NOLINT
    if (outcome.round.round == 5) {
      learner.inject_refusals([left = 1](int task) mutable { return task == 1 && left-- > 0; });
    }
    return true;
  };
  ASSERT_EQ(start_run(small_config("learner", 12), path("a.run"), options), RunStatus::finished);
  const RunReader reader(path("a.run"));
  for (const StoredRound& round : reader.rounds()) {
    EXPECT_EQ(round.fallbacks, round.round == 6 ? 1 : 0) << round.round;
  }
  const RunSummary summary = summarise(reader);
  EXPECT_EQ(summary.fallbacks, 1);
  EXPECT_EQ(summary_to_json(summary)["fallbacks"], 1);
  const auto said = testing::Contains(testing::HasSubstr("round 6: 1 times a policy"));
  EXPECT_THAT(check_run(path("a.run")).findings, said);
  EXPECT_THAT(check_run(path("a.run"), /*replay=*/true).findings,
              testing::Contains(testing::HasSubstr("column fallbacks")));
}

class RunsOfEveryMethod : public RunFiles, public testing::WithParamInterface<const char*> {};

TEST_P(RunsOfEveryMethod, StoppedAndResumedEndsWithTheSameBits) {
  const ExperimentConfig config = small_config(GetParam());
  start_run(config, path("whole.run"));
  RunOptions stop_often;
  stop_often.after_round = [](const auto&, const RoundOutcome& o) {
    return o.round.round % 7 != 0;
  };
  ASSERT_EQ(start_run(config, path("parts.run"), stop_often), RunStatus::stopped);
  int parts = 1;
  while (resume_run(path("parts.run"), stop_often) == RunStatus::stopped) ++parts;
  EXPECT_EQ(parts, 4);
  EXPECT_EQ(results_of(path("parts.run")), results_of(path("whole.run")));
}

INSTANTIATE_TEST_SUITE_P(All, RunsOfEveryMethod,
                         testing::Values("learner", "pg", "pg-ella", "shared", "lpg-ftw"));

/// Calls `work` in a process of its own that is killed after some microseconds; whether it ended by
/// itself before that.
bool ended_before_kill(const std::function<void()>& work, unsigned microseconds) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  for (unsigned waited = 0; waited < microseconds; waited += 200) {
    if (waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    usleep(200);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(RunFiles, KilledAtRandomMomentsEndsWithTheSameBits) {
  const ExperimentConfig config = small_config("learner", 150);
  start_run(config, path("whole.run"));
  const std::string expected = results_of(path("whole.run"));
  RunOptions every_round;
  every_round.commit_seconds = 0;
  const CounterRandom random(1, RandomStream::user, 0);
  std::uint32_t draw = 0;
  int kills = 0;
  for (int file = 0; file < 3; ++file) {
    const auto run = path(fmt::format("{}.run", file));
    double longest_wait = 10000;
    long last_done = 0;
    bool finished = false;
    while (!finished) {
      const auto wait = static_cast<unsigned>(random.uniform(draw++, 500, longest_wait));
      ended_before_kill(
          [&] {
            if (std::filesystem::exists(run)) {
              resume_run(run, every_round);
            } else {
              start_run(config, run, every_round);
            }
          },
          wait);
      long done = 0;
      if (std::filesystem::exists(run)) {
        const RunReader reader(run);
        finished = reader.header().finished;
        done = reader.header().rounds_done;
      }
      kills += finished ? 0 : 1;
      // A busy machine needs longer to get anywhere.
      if (done == last_done) longest_wait *= 1.3;
      last_done = done;
    }
    EXPECT_EQ(results_of(run), expected);
  }
  EXPECT_GE(kills, 5);
}

TEST_F(RunFiles, KilledWithRoundsNotYetCommittedEndsWithTheSameBits) {
  const ExperimentConfig config = small_config("learner", 60);
  start_run(config, path("whole.run"));
  const CounterRandom random(2, RandomStream::user, 0);
  long kill_after = 0;
  for (std::uint32_t attempt = 0; kill_after < 60; ++attempt) {
    kill_after += 1 + static_cast<long>(random.uniform(attempt) * 12);
    const pid_t child = fork();
    if (child == 0) {
      RunOptions options;
      options.commit_seconds = 1e-3 * random.uniform(attempt + 1000);
      options.after_round = [&](const auto&, const RoundOutcome& outcome) {
        if (kill_after < 60 && outcome.round.round >= kill_after) raise(SIGKILL);
        return true;
      };
      if (std::filesystem::exists(path("killed.run"))) {
        resume_run(path("killed.run"), options);
      } else {
        start_run(config, path("killed.run"), options);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (kill_after < 60) {
      EXPECT_TRUE(WIFSIGNALED(status));
    }
  }
  EXPECT_EQ(results_of(path("killed.run")), results_of(path("whole.run")));
}

TEST_F(RunFiles, AFullDiskIsSaidAndTheRunGoesOnAfterwards) {
  const ExperimentConfig config = small_config("learner", 200);
  start_run(config, path("whole.run"));
  const pid_t child = fork();
  if (child == 0) {
    // A file that may not grow is what a full disk looks like from here.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      RunOptions every_round;
      every_round.commit_seconds = 0;
      start_run(config, path("full.run"), every_round);
    } catch (const RunFileError&) {
      _exit(7);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(RunReader(path("full.run")).header().finished);
  EXPECT_EQ(resume_run(path("full.run")), RunStatus::finished);
  EXPECT_EQ(results_of(path("full.run")), results_of(path("whole.run")));
}

TEST_F(RunFiles, TheLogOfADeletedRunIsNotTakenForTheNewOnes) {
  const ExperimentConfig config = small_config("learner", 40);
  RunOptions every_round;
  every_round.commit_seconds = 0;
  every_round.after_round = [](const auto&, const RoundOutcome& outcome) {
    if (outcome.round.round == 30) raise(SIGKILL);
    return true;
  };
  ended_before_kill([&] { start_run(config, path("a.run"), every_round); }, 3000000);
  ASSERT_TRUE(std::filesystem::exists(path("a.run-wal")));
  std::filesystem::remove(path("a.run"));
  EXPECT_EQ(start_run(config, path("a.run")), RunStatus::finished);
  EXPECT_TRUE(check_run(path("a.run"), /*replay=*/true).findings.empty());
}

TEST_F(RunFiles, CanBeReadWhileItIsWritten) {
  RunOptions options;
  options.commit_seconds = 0;
  long seen = 0;
  options.after_round = [&](const auto&, const RoundOutcome& outcome) {
    if (outcome.round.round % 10 == 0) {
      const RunReader reader(path("live.run"));
      EXPECT_FALSE(reader.header().finished);
      seen = static_cast<long>(reader.rounds().size());
      EXPECT_EQ(seen, reader.header().rounds_done);
    }
    return true;
  };
  start_run(small_config(), path("live.run"), options);
  EXPECT_GE(seen, 18);
}

std::string error_of(const std::filesystem::path& path) {
  try {
    const RunReader reader(path);
    reader.rounds();
    return "(no error)";
  } catch (const RunFileError& error) {
    return error.what();
  }
}

TEST_F(RunFiles, WhatIsNoRunFileIsSaidPlainly) {
  EXPECT_THAT(error_of(path("none.run")), testing::HasSubstr("is not there"));
  std::ofstream(path("text.run")) << std::string(5000, 'x');
  EXPECT_THAT(error_of(path("text.run")), testing::HasSubstr("is not a run file"));
  {
    SQLite::Database other(path("other.run").string(),
                           SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE t (x)");
  }
  EXPECT_THAT(error_of(path("other.run")), testing::HasSubstr("another program"));
  start_run(small_config(), path("new.run"));
  {
    SQLite::Database newer(path("new.run").string(), SQLite::OPEN_READWRITE);
    newer.exec("PRAGMA user_version = 99");
  }
  EXPECT_THAT(error_of(path("new.run")), testing::HasSubstr("schema version 99"));
  EXPECT_THROW(start_run(small_config(), path("new.run")), RunFileError);
}

TEST_F(RunFiles, DamagedBytesAreFound) {
  start_run(small_config("learner", 200), path("good.run"));
  // How often a run was committed, which is a matter of time, says how many pages it has that are
  // not in use any more; what is written there harms nothing.
  SQLite::Database(path("good.run").string(), SQLite::OPEN_READWRITE).exec("VACUUM");
  ASSERT_THAT(check_run(path("good.run"), /*replay=*/true).findings, testing::IsEmpty());
  const auto size = static_cast<long>(std::filesystem::file_size(path("good.run")));
  int found = 0;
  for (int i = 1; i <= 8; ++i) {
    std::filesystem::copy_file(path("good.run"), path("bad.run"),
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream file(path("bad.run"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(size * i / 9);
    file << std::string(4096, '\xff');
    file.close();
    try {
      found += check_run(path("bad.run"), /*replay=*/true).findings.empty() ? 0 : 1;
    } catch (const RunFileError&) {
      ++found;
    }
  }
  EXPECT_EQ(found, 8);
}

TEST_F(RunFiles, AnAlteredPolicyIsFound) {
  start_run(small_config(), path("a.run"));
  {
    SQLite::Database database(path("a.run").string(), SQLite::OPEN_READWRITE);
    SQLite::Statement update(database, "UPDATE rounds SET played = ? WHERE round = 17");
    const double unsafe[2] = {-1000, -1000};
    update.bind(1, unsafe, sizeof(unsafe));
    update.exec();
  }
  const RunCheck check = check_run(path("a.run"));
  // Two rows and the slack limit; and it is not what was committed.
  EXPECT_THAT(check.findings, testing::Contains(testing::HasSubstr("round 17: its rows")));
  EXPECT_THAT(check.findings,
              testing::Contains(testing::AllOf(testing::HasSubstr("round 17, mass-spring"),
                                               testing::HasSubstr("lower limit")))
                  .Times(2));
  EXPECT_THAT(check.findings, testing::Contains(testing::HasSubstr("longer than its limit")));
}

TEST_F(RunFiles, EveryRoundIsHeldAgainstTheRegretTheorem) {
  start_run(small_config(), path("a.run"));
  {
    const RunReader reader(path("a.run"));
    const std::vector<StoredLemmas> lemmas = reader.lemmas();
    ASSERT_EQ(lemmas.size(), 30U);
    for (const StoredLemmas& round : lemmas) {
      EXPECT_TRUE(round.values.hold()) << "round " << round.round;
      EXPECT_GT(round.values.knowledge.measured, 0);
    }
    const RunSummary summary = summarise(reader);
    ASSERT_TRUE(summary.theorem);
    EXPECT_EQ(summary.theorem->rounds, 30);
    EXPECT_LE(summary.regret.back().surrogate, summary.theorem->regret_bound);
    EXPECT_LE(summary.regret.back().surrogate, summary.theorem->excess);
    EXPECT_EQ(check_run(path("a.run")).lemmas, 30);
  }
  {
    SQLite::Database database(path("a.run").string(), SQLite::OPEN_READWRITE);
    database.exec("UPDATE lemmas SET knowledge = 2 * knowledge_bound WHERE round = 4");
  }
  const RunCheck check = check_run(path("a.run"));
  EXPECT_THAT(check.findings, testing::Contains(testing::HasSubstr("round 4: a quantity")));
}

// docs/theorem.md, for a learner in its setting and for others: every row holds, and what was
// changed afterwards does not.
TEST_F(RunFiles, TheRegretIsHeldAgainstItsBound) {
  const std::vector<std::string> updates = {"leader", "linearised", "alternating",
                                            "empirical Bayes"};
  for (const std::string& update : updates) {
    const ExperimentConfig config = parse_config(
        fmt::format("[experiment]\nrounds = 20\ntasks = 3\ntrajectories = 16\nsteps = 60\n"
                    "[family]\nbase = \"mass-spring\"\n[safe_set]\nslack_limit = 100\n"
                    "[safe_set.lqr_box]\nreach = 0.5\n[learner]\nupdate = \"{}\"\n",
                    update),
        "bound.toml");
    const auto file = path(update + ".run");
    start_run(config, file);
    const RunCheck check = check_run(file, /*replay=*/true);
    EXPECT_THAT(check.findings, testing::IsEmpty()) << update;
    const std::vector<StoredRegret> regrets = RunReader(file).regrets();
    EXPECT_EQ(check.bounds, static_cast<long>(regrets.size()));
    for (const StoredRegret& row : regrets) {
      EXPECT_LE(row.surrogate, row.bound) << update << ", round " << row.round;
      EXPECT_LE(row.bound_of_leader(), row.bound_logarithmic * (1 + 1e-6)) << update;
    }
    if (update != "leader") continue;
    const StoredRegret& last = regrets.back();
    EXPECT_LT(std::abs(last.bound_off_leader), 1e-3 * last.bound);
    EXPECT_EQ(last.bound_changes, 0);
    EXPECT_GT(last.surrogate, 0);
    EXPECT_LT(last.bound, 100 * last.surrogate);
    EXPECT_GT(last.bound_without_knowledge, 0);
    const RunSummary summary = summarise(RunReader(file));
    EXPECT_EQ(summary.regret.back().bound, last.bound);
    // A regret above its bound, and a bound that its terms do not make, contradict themselves;
    // terms that were changed with it are not what comes out when it is played again.
    const auto findings = [&](const std::string& sql, bool replay) {
      std::filesystem::copy_file(file, path("changed.run"),
                                 std::filesystem::copy_options::overwrite_existing);
      {
        SQLite::Database database(path("changed.run").string(), SQLite::OPEN_READWRITE);
        database.exec(sql);
      }
      return check_run(path("changed.run"),
                       CheckOptions{.replay = replay, .checksums = Checksums::ignore})
          .findings;
    };
    EXPECT_THAT(findings("UPDATE regret SET surrogate = bound + 1 WHERE round = 20", false),
                testing::ElementsAre(testing::HasSubstr("round 20: the regret")));
    EXPECT_THAT(findings("UPDATE regret SET bound = 1.1 * bound WHERE round = 20", false),
                testing::ElementsAre(testing::HasSubstr("round 20: the bound of the regret")));
    const std::string both =
        "UPDATE regret SET bound = bound + 1, bound_rounds = bound_rounds + 1 WHERE round = 20";
    EXPECT_THAT(findings(both, false), testing::IsEmpty());
    EXPECT_THAT(findings(both, true),
                testing::Contains(testing::HasSubstr("table regret, round 20, column bound:")));
  }
}

TEST_F(RunFiles, KIsChosenByCrossValidation) {
  const std::string text =
      "[experiment]\nrounds = 12\ntasks = 3\ntrajectories = 16\nsteps = 60\n"
      "[family]\nbase = \"cart-pole\"\n[safe_set.lqr_box]\nreach = 0.7\n"
      "[learner]\nupdate = \"linearised\"\ncross_validate_k = true\n";
  std::set<int> chosen;
  for (int seed = 0; seed < 6; ++seed) {
    const ExperimentConfig config =
        parse_config(text, "k.toml", {fmt::format("experiment.seed={}", seed)});
    const lifeguard::Run run(config);
    const int k = dynamic_cast<const Learner&>(run.learner()).knowledge().basis_size();
    EXPECT_TRUE(k == 1 || k == 2 || k == 4) << k;
    chosen.insert(k);
  }
  EXPECT_GT(chosen.size(), 1U) << "the choice does not depend on the data";
  start_run(parse_config(text, "k.toml"), path("k.run"));
  EXPECT_TRUE(check_run(path("k.run"), /*replay=*/true).findings.empty());
}

TEST_F(RunFiles, TheTheoremSaysNothingOfUnboundedSets) {
  ExperimentConfig config = parse_config(
      "[experiment]\nrounds = 3\ntasks = 1\n[family]\nbase = \"mass-spring\"\n"
      "[safe_set.lqr_box]\nreach = 0.5\n",
      "unbounded.toml");
  start_run(config, path("a.run"));
  EXPECT_TRUE(RunReader(path("a.run")).lemmas().empty());
  EXPECT_FALSE(summarise(RunReader(path("a.run"))).theorem);
}

TEST_F(RunFiles, AnExportedHeaderComputesThePolicysActions) {
  const std::vector<Features> seen = {{}, {.bias = true}, {false, true}, {true, true}};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const Features& features = seen[i];
    const ExperimentConfig config =
        parse_config(small_config("learner", 6).source_text, "small.toml",
                     {fmt::format("policy.bias={}", features.bias),
                      fmt::format("policy.second_order={}", features.second_order)});
    const std::filesystem::path run = path(fmt::format("{}.run", i));
    start_run(config, run);
    const RunView view(run);
    const ExportedPolicy policy = export_policy(view, "1");
    EXPECT_EQ(policy.features, features);
    EXPECT_EQ(policy.gains, gains_from_parameters(view.policies.col(1), 1));
    EXPECT_GT(policy.gains.cwiseAbs().minCoeff(), 0);
    EXPECT_GT(policy.margin, 0);
    const nlohmann::ordered_json json = policy_to_json(policy);
    EXPECT_EQ(json["bias"], features.bias);
    EXPECT_EQ(json["second_order"], features.second_order);
    EXPECT_EQ(json["gains"][0].size(), static_cast<std::size_t>(features.count(2)));
    const Eigen::VectorXd inputs =
        features.evaluate(Eigen::Vector2d(0.3, -0.2), view.tasks[1].settings.goal);
    double expected = 0;
    for (Eigen::Index f = 0; f < inputs.size(); ++f) expected += policy.gains(0, f) * inputs(f);
    for (const bool c : {false, true}) {
      std::ofstream(path("policy.h"))
          << policy_to_header(policy, c ? HeaderLanguage::c99 : HeaderLanguage::cpp);
      const std::filesystem::path source = path(c ? "main.c" : "main.cpp");
      const std::string act = c ? "mass_spring_1_act" : "mass_spring_1::act";
      std::ofstream(source) << "#include \"policy.h\"\n#include \"policy.h\"\n#include <stdio.h>\n"
                               "int main(void) {\n"
                               "  const double x[2] = {0.3, -0.2};\n  double u[1] = {7};\n"
                            << "  const int valid = " << act << "(x, u);\n"
                            << "  printf(\"%d %.17g \", valid, u[0]);\n"
                            << "  const double lost[2] = {0.3, NAN};\n"
                            << "  const int lost_valid = " << act << "(lost, u);\n"
                            << "  printf(\"%d %.17g\", lost_valid, u[0]);\n  return 0;\n}\n";
      const std::string program = path("program").string();
      // The guard must hold even where the compiler is told that there is no NaN.
      for (const char* flags : {"-ffp-contract=off", "-O2 -ffinite-math-only"}) {
        ASSERT_EQ(
            std::system(fmt::format("{} -pedantic -Wall -Wextra -Wconversion -Werror {} -o {} {}",
                                    c ? "cc -std=c99" : "c++ -std=c++17", flags, program,
                                    source.string())
                            .c_str()),
            0);
        ASSERT_EQ(std::system(fmt::format("{} > {}", program, path("out").string()).c_str()), 0);
        int valid = -1, lost_valid = -1;
        double action = kNaN, lost_action = kNaN;
        std::ifstream(path("out")) >> valid >> action >> lost_valid >> lost_action;
        EXPECT_EQ(valid, 1);
        EXPECT_NEAR(action, expected, 1e-15 * std::abs(expected));
        EXPECT_EQ(lost_valid, 0);
        EXPECT_EQ(lost_action, 0);
      }
    }
    EXPECT_THROW(export_policy(view, "mass-spring 9"), InvalidInput);
  }
}

TEST_F(RunFiles, AnUnsafePolicyIsNotExported) {
  ExperimentConfig config = small_config("shared", 60);
  start_run(config, path("shared.run"));
  const RunView view(path("shared.run"));
  ASSERT_GT(summarise(view).unsafe_policies, 0);
  int refused = 0;
  for (const char* task : {"0", "1", "2"}) {
    try {
      export_policy(view, task);
    } catch (const RunFileError&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 1);
}

TEST_F(RunFiles, AComparisonIsTheSameOnAnyNumberOfThreadsWithAndWithoutFiles) {
  const ExperimentConfig config = small_config();
  const Comparison one = compare_methods(config, {.threads = 1});
  const Comparison all = compare_methods(config, {.threads = 4});
  const Comparison files = compare_methods(config, {.folder = folder_ / "runs"});
  const Comparison again = compare_methods(config, {.folder = folder_ / "runs"});
  ASSERT_EQ(one.methods.size(), 4U);
  for (const Comparison* other : {&all, &files, &again}) {
    for (std::size_t m = 0; m < one.methods.size(); ++m) {
      EXPECT_EQ(one.methods[m].final_cost.mean, other->methods[m].final_cost.mean);
      EXPECT_EQ(one.methods[m].mean_cost.ci95, other->methods[m].mean_cost.ci95);
      EXPECT_EQ(one.methods[m].unsafe_policies, other->methods[m].unsafe_policies);
      for (std::size_t s = 0; s < one.runs[m].size(); ++s) {
        EXPECT_EQ(one.runs[m][s].costs, other->runs[m][s].costs);
      }
    }
  }
  EXPECT_EQ(one.methods[0].unsafe_policies, 0);
  EXPECT_GT(one.methods[3].unsafe_policies, 0);
  // More seeds are added to those that are there.
  const auto written = std::filesystem::last_write_time(folder_ / "runs" / "pg-0.run");
  ExperimentConfig more = small_config();
  more.overrides.emplace_back(fmt::format("experiment.seeds={}", config.seeds + 1));
  more.seeds = config.seeds + 1;
  const Comparison added = compare_methods(more, {.folder = folder_ / "runs"});
  EXPECT_EQ(std::filesystem::last_write_time(folder_ / "runs" / "pg-0.run"), written);
  EXPECT_EQ(added.runs[1].size(), one.runs[1].size() + 1);
  EXPECT_EQ(added.runs[1][0].costs, one.runs[1][0].costs);
  ExperimentConfig longer = small_config("learner", 31);
  EXPECT_THROW(compare_methods(longer, {.folder = folder_ / "runs"}), RunFileError);
}

TEST(Schedules, InSequenceHasOneStayForEachTask) {
  ExperimentConfig config = small_config("lpg-ftw", 14);
  config.schedule = Schedule::in_sequence;
  config.tasks = 4;
  std::vector<int> visits(4, 0);
  int last = 0;
  for (long round = 1; round <= config.rounds; ++round) {
    const int task = scheduled_task(config, round);
    EXPECT_GE(task, last);
    last = task;
    ++visits.at(static_cast<std::size_t>(task));
  }
  EXPECT_THAT(visits, testing::Each(testing::AllOf(testing::Ge(3), testing::Le(4))));
}

TEST_F(RunFiles, TasksInSequenceAreStoppedResumedAndReplayedToo) {
  const ExperimentConfig config = parse_config(small_config("lpg-ftw").source_text, "small.toml",
                                               {"experiment.schedule=in sequence"});
  start_run(config, path("whole.run"));
  EXPECT_TRUE(check_run(path("whole.run"), /*replay=*/true).replayed);
  RunOptions stop_often;
  stop_often.after_round = [](const auto&, const RoundOutcome& o) {
    return o.round.round % 7 != 0;
  };
  ASSERT_EQ(start_run(config, path("parts.run"), stop_often), RunStatus::stopped);
  while (resume_run(path("parts.run"), stop_often) == RunStatus::stopped) {
  }
  EXPECT_EQ(results_of(path("parts.run")), results_of(path("whole.run")));
}

TEST(Shards, AreDisjointCompleteEvenAndMixMethods) {
  for (int methods = 1; methods <= 6; ++methods) {
    for (const int parts : {1, 2, 3, 4, 5, 8, 16}) {
      const int runs = methods * 48;
      std::vector<int> found(static_cast<std::size_t>(runs), 0);
      int fewest = runs, most = 0;
      for (int part = 1; part <= parts; ++part) {
        const Shard shard{part, parts};
        shard.validate();
        int count = 0;
        std::set<int> of_methods;
        for (int run = 0; run < runs; ++run) {
          if (!shard.holds(run, methods)) continue;
          ++found[static_cast<std::size_t>(run)];
          ++count;
          of_methods.insert(run % methods);
        }
        fewest = std::min(fewest, count);
        most = std::max(most, count);
        EXPECT_EQ(of_methods.size(), static_cast<std::size_t>(std::min(methods, count)))
            << methods << " methods, " << parts << " parts";
      }
      EXPECT_THAT(found, testing::Each(1));
      EXPECT_LE(most - fewest, 1);
    }
  }
  for (const Shard& wrong : {Shard{0, 3}, Shard{4, 3}, Shard{1, 0}}) {
    EXPECT_THROW(wrong.validate(), InvalidInput);
  }
}

TEST_F(RunFiles, APartOfAComparisonIsPlayedApartAndMergedByItsFiles) {
  ExperimentConfig config = small_config();
  config.seeds = 2;
  const Comparison whole = compare_methods(config, {.threads = 2});
  std::set<std::filesystem::path> files;
  for (int part = 1; part <= 3; ++part) {
    const auto folder = folder_ / std::to_string(part);
    for (const auto& file : play_shard(config, {part, 3}, {.folder = folder})) {
      EXPECT_TRUE(files.insert(file.filename()).second) << file;
      std::filesystem::create_directories(folder_ / "all");
      std::filesystem::rename(file, folder_ / "all" / file.filename());
    }
  }
  EXPECT_EQ(files.size(), 8U);
  const auto nothing_is_played = [](std::string_view, long done, long total) {
    EXPECT_EQ(done % 30, 0) << done << " of " << total;
  };
  ComparisonOptions options;
  options.folder = folder_ / "all";
  options.work.tell = [&](std::string_view what, long done, long total) {
    if (what == kComparisonRounds) nothing_is_played(what, done, total);
  };
  const Comparison merged = compare_methods(config, options);
  for (std::size_t m = 0; m < whole.methods.size(); ++m) {
    EXPECT_EQ(whole.methods[m].final_cost.mean, merged.methods[m].final_cost.mean);
    for (std::size_t s = 0; s < whole.runs[m].size(); ++s) {
      EXPECT_EQ(whole.runs[m][s].costs, merged.runs[m][s].costs);
    }
  }
  EXPECT_THROW(play_shard(config, {1, 2}, {}), InvalidInput);
}

TEST(Summary, MeanCostWeighsEachRoundOnce) {
  RunSummary summary;
  summary.rounds = {0, 1, 2, 4};
  summary.costs = {100, 8, 4, 2};
  summary.rounds_done = 5;
  EXPECT_DOUBLE_EQ(summary.mean_cost(), (8 + 4 + 4 + 2 + 2) / 5.0);
  EXPECT_EQ(summary.rounds_to(4), 2);
  EXPECT_EQ(summary.rounds_to(1), 5);
}

}  // namespace lifeguard::run_test
