#include "lifeguard/runs/experiment.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/systems/lqr.hpp"

namespace lifeguard::config_test {

constexpr const char* kMass = "[family]\nbase = \"mass-spring\"\n";

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_config(text, "test.toml", overrides);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(Config, EmptyExceptForTheFamilyGivesTheDefaults) {
  const ExperimentConfig config = parse_config(kMass, "test.toml");
  EXPECT_EQ(effective_values(config), effective_values(ExperimentConfig{}));
}

TEST(Config, EveryListedKeyCanBeSetToItsOwnDefault) {
  // What effective_values prints, the reader takes back: no key is listed that is not read.
  for (const auto& [key, value] : effective_values(ExperimentConfig{})) {
    const std::string list = key == "experiment.methods" ? "=[\"learner\"]" : "=" + value;
    EXPECT_EQ(error_of(kMass, {key + list}), "(no error)") << key;
  }
}

TEST(Config, AValueReachesItsSetting) {
  const ExperimentConfig config = parse_config(
      std::string("[experiment]\nrounds = 7\nschedule = \"random\"\n[learner]\nk = 2\n"
                  "update = \"alternating\"\n[projection]\nmode = \"none\"\n[pg]\nstep_decay = "
                  "0.25\n[base_learner]\nstep_rule = \"line search\"\n") +
          kMass,
      "test.toml", {"pg_ella.lambda=0.5", "experiment.name=some name"});
  EXPECT_EQ(config.rounds, 7);
  EXPECT_EQ(config.schedule, Schedule::random);
  EXPECT_EQ(config.learner().k, 2);
  EXPECT_EQ(config.learner().update, UpdateRule::alternating);
  EXPECT_EQ(config.learner().projection.mode, ProjectionMode::none);
  EXPECT_EQ(std::get<IndependentSettings>(config.settings).round.base_learner.step.decay, 0.25);
  EXPECT_EQ(config.round.base_learner.step.rule, StepRule::line_search);
  EXPECT_EQ(std::get<PgEllaSettings>(config.settings).lambda, 0.5);
  EXPECT_EQ(config.name, "some name");
}

TEST(Config, MistakesAreNamedWithFileLineKeyValueAndRule) {
  const std::string mass = kMass;
  EXPECT_EQ(error_of(mass + "[experiment]\nrounds = 0\n"),
            "test.toml:4: experiment.rounds = 0: must be at least 1 and at most 10000000");
  EXPECT_THAT(error_of(mass + "[experiment]\nround = 3\n"),
              testing::StartsWith("test.toml:4: experiment.round = 3: unknown key; known are"));
  EXPECT_THAT(error_of(mass + "[lerner]\nk = 3\n"), testing::StartsWith("test.toml:3: lerner"));
  EXPECT_THAT(error_of(mass + "[learner]\nk = 2.5\n"),
              testing::HasSubstr("test.toml:4: learner.k = 2.5: must be an integer"));
  EXPECT_THAT(error_of(mass + "[learner]\nzeta = \"one\"\n"),
              testing::HasSubstr("test.toml:4: learner.zeta = 'one': must be a number"));
  EXPECT_THAT(error_of(mass + "[learner]\nzeta = nan\n"), testing::HasSubstr("must be finite"));
  EXPECT_THAT(error_of(mass + "[learner]\nzeta = inf\n"), testing::HasSubstr("must be finite"));
  EXPECT_THAT(error_of(mass, {"experiment.seed=2147483648"}),
              testing::HasSubstr("must be at most 2147483647"));
  EXPECT_THAT(error_of(mass, {"family.base=3"}),
              testing::StartsWith("--set: family.base = 3: must be one of"));
  EXPECT_THAT(error_of(mass + "[experiment]\nschedule = \"never\"\n"),
              testing::HasSubstr("must be one of \"in turn\", \"random\", \"first only\", "
                                 "\"in sequence\""));
  EXPECT_THAT(error_of(mass + "[experiment]\nmethods = [\"pg\", \"pg\"]\n"),
              testing::HasSubstr("must not appear twice"));
  EXPECT_THAT(error_of(mass + "[projection]\np = 5\nq = 2\n"),
              testing::HasSubstr("test.toml:4: projection.p = 5: must be less than q"));
  EXPECT_THAT(error_of(mass + "[learner]\nk = 100\n"),
              testing::HasSubstr("test.toml:4: learner.k = 100: must be at most 2"));
  EXPECT_THAT(error_of(mass + "[family.settings]\nsigma = -1\n"),
              testing::StartsWith("test.toml:4: family.settings.sigma = -1: "));
  EXPECT_THAT(error_of(mass, {"family.settings.sigma=-1"}),
              testing::StartsWith("--set: family.settings.sigma = -1: "));
  EXPECT_THAT(error_of(mass, {"pg_ella.k=100"}),
              testing::HasSubstr("--set: pg_ella.k = 100: must be at most 2"));
  EXPECT_THAT(error_of(mass, {"learner.k=x"}),
              testing::HasSubstr("--set: learner.k = 'x': must be an integer"));
  EXPECT_THAT(error_of(mass, {"rounds"}), testing::HasSubstr("must be key=value"));
  EXPECT_THAT(error_of("[experiment]\nrounds = 3\n"), testing::HasSubstr("[family]"));
  EXPECT_THAT(error_of("[experiment\n"), testing::HasSubstr("test.toml:1"));
  EXPECT_THAT(error_of("[family]\nbase = \"mass-spring\"\n[safe_set.gain_box]\nlower = 1\n"
                       "upper = \"x\"\n"),
              testing::HasSubstr("test.toml:5: safe_set.gain_box.upper"));
  EXPECT_THAT(error_of("[family]\nbase = \"mass-spring\"\n[safe_set.gain_bax]\nlower = 1\n"),
              testing::HasSubstr("test.toml:3: safe_set.gain_bax"));
}

TEST(Config, NamesAreOneLineOfPlainText) {
  for (const char* name : {"a\\nb", "a\\u001b[31mb", "\\u007f"}) {
    for (const std::string& part : {
             fmt::format("name = \"{}\"\n", name),
             fmt::format("[experiment]\nname = \"{}\"\n", name),
             fmt::format("[variants.\"{}\"]\nmethod = \"pg\"\n", name),
             fmt::format("[[safe_set.half_space]]\nnormal = 1\nlimit = 1\nname = \"{}\"\n", name),
             fmt::format("[safe_set]\ngain_names = [\"a\", \"{}\"]\n", name),
         }) {
      EXPECT_THAT(error_of(kMass + part), testing::HasSubstr("must be one line of plain text"))
          << part;
    }
  }
}

TEST(Config, EvaluationsThatAreFarApartAreTheFirstAndTheLast) {
  const ExperimentConfig config = parse_config(kMass, "test.toml", {"evaluation.spacing=1e300"});
  EXPECT_EQ(next_evaluation(config, 1), config.rounds);
}

TEST(Config, VariantsAreMethodsWithSomeKeysSet) {
  const std::string text = std::string(kMass) +
                           "[variants.ours-3]\nmethod = \"learner\"\nset = [\"learner.k=1\"]\n"
                           "[experiment]\nmethods = [\"ours-3\", \"pg\"]\n";
  const ExperimentConfig config = parse_config(text, "test.toml");
  const ExperimentConfig ours = configuration_of(config, "ours-3", 5);
  EXPECT_EQ(ours.learner().k, 1);
  EXPECT_EQ(ours.seed, 5);
  EXPECT_EQ(base_method(ours), "learner");
  EXPECT_EQ(configuration_of(config, "pg", 5).learner().k, 0);
  EXPECT_THAT(error_of(std::string(kMass) + "[variants.pg]\nmethod = \"learner\"\n"),
              testing::HasSubstr("must not be the name of a method"));
}

TEST(Config, LqrBoxCutsLqrOffAndKeepsZeroInside) {
  const ExperimentConfig config =
      parse_config(std::string(kMass) + "[safe_set.lqr_box]\nreach = 0.5\n", "test.toml");
  const DrawnTasks drawn = draw_tasks(config);
  ASSERT_TRUE(drawn.constrained());
  for (std::size_t t = 0; t < drawn.tasks.size(); ++t) {
    const Eigen::VectorXd best = parameters_from_gains(lqr_gains(drawn.tasks[t]));
    EXPECT_TRUE(strictly_safe(drawn.safe_sets[t], Eigen::VectorXd::Zero(2)));
    EXPECT_TRUE(strictly_safe(drawn.safe_sets[t], 0.49 * best));
    EXPECT_FALSE(strictly_safe(drawn.safe_sets[t], 0.51 * best));
  }
}

TEST(Config, PoliciesMaySeeABiasAndProducts) {
  const std::string text = std::string(kMass) + "[policy]\nbias = true\nsecond_order = true\n" +
                           "[experiment]\ntasks = 2\nrounds = 3\ntrajectories = 8\n";
  const ExperimentConfig config = parse_config(text, "test.toml");
  // Two states, 1, and three products.
  EXPECT_EQ(draw_tasks(config).parameters(), 6);
  for (const std::string& method : config.methods) {
    lifeguard::Run run(configuration_of(config, method, 1));
    while (!run.finished()) EXPECT_EQ(run.play().round.played.size(), 6) << method;
  }
}

constexpr const char* kNarrow =
    "[family]\nbase = \"mass-spring\"\n[safe_set.gain_box]\nlower = -2.0\nupper = -1.0\n"
    "[experiment]\ntasks = 2\n";

TEST(Config, AFirstPolicyThatSomebodyAskedForIsKeptOrRefused) {
  // A share of LQR's gains that lies outside the box, and zero gains.
  for (const char* share : {"1", "0"}) {
    const ExperimentConfig config =
        parse_config(kNarrow, "test.toml", {std::string("experiment.start_lqr_share=") + share});
    try {
      make_learner(config, draw_tasks(config));
      ADD_FAILURE() << "an unsafe first policy was replaced";
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.field(), "experiment.start_lqr_share");
      EXPECT_THAT(error.what(), testing::HasSubstr("breaks \""));
    }
  }
}

TEST(Config, AFirstPolicyThatNobodyAskedForIsReplacedAndThatIsSaid) {
  const ExperimentConfig config = parse_config(kNarrow, "test.toml");
  const DrawnTasks drawn = draw_tasks(config);
  EXPECT_THAT(replaced_first_policies(drawn), testing::HasSubstr("2 of 2 tasks"));
  EXPECT_THAT(replaced_first_policies(drawn), testing::HasSubstr("breaks \""));
  const auto learner = make_learner(config, drawn);
  for (std::size_t t = 0; t < 2; ++t) {
    const Eigen::VectorXd first = learner->policy(drawn.tasks[t].name).parameters();
    EXPECT_TRUE(strictly_safe(drawn.safe_sets[t], first));
    EXPECT_EQ(first, drawn.first[t].parameters);
  }
  const ExperimentConfig roomy = parse_config(kMass, "test.toml");
  EXPECT_EQ(replaced_first_policies(draw_tasks(roomy)), "");
}

TEST(Config, EvaluationsAreDenseFirstAndThenSpaced) {
  ExperimentConfig config;
  config.rounds = 1000;
  config.evaluation_spacing = 0.1;
  EXPECT_EQ(next_evaluation(config, 0), 1);
  EXPECT_EQ(next_evaluation(config, 5), 6);
  EXPECT_EQ(next_evaluation(config, 100), 110);
  EXPECT_EQ(next_evaluation(config, 999), 1000);
  config.evaluation_spacing = 0;
  EXPECT_EQ(next_evaluation(config, 100), 101);
}

TEST(Config, TheReferencePageIsWhatTheProgramReads) {
  std::ifstream file(std::filesystem::path(LIFEGUARD_SOURCE_DIR) / "docs/configuration.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), configuration_reference())
      << "make it with: lifeguard info --keys > docs/configuration.md";
}

TEST(Config, EveryConfigurationInTheTreeIsValid) {
  int found = 0;
  for (const char* folder : {"configs/examples", "configs/paper"}) {
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(LIFEGUARD_SOURCE_DIR) / folder)) {
      const ExperimentConfig config = load_config(entry.path());
      for (const std::string& method : config.methods) {
        EXPECT_NO_THROW(configuration_of(config, method, 0)) << entry.path();
      }
      ++found;
    }
  }
  EXPECT_GE(found, 8);
}

}  // namespace lifeguard::config_test
