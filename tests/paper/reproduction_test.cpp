#include "lifeguard/paper/reproduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/run_file.hpp"
#include "tests/support/folder.hpp"

namespace lifeguard::reproduction_test {

class Reproduction : public test_support::Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    options_.folder = path("reproduction");
    options_.quick = true;
  }
  ReproductionOptions options_;
};

TEST_F(Reproduction, APathFigureHoldsTheWayTheRegionAndTheClaims) {
  options_.figures = {"path-mass-spring"};
  const std::vector<FigureResult> results = reproduce(options_);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].comparison.methods.size(), 7U);

  std::ifstream file(options_.folder / "path-mass-spring.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  const auto a = json["safe_region"]["A"].get<std::vector<std::vector<double>>>();
  const auto b = json["safe_region"]["b"].get<std::vector<double>>();
  ASSERT_EQ(a.size(), 4U);
  int outside = 0;
  for (const nlohmann::json& method : json["methods"]) {
    const auto path = method["path"].get<std::vector<std::vector<double>>>();
    EXPECT_EQ(path.size(), 60U);
    EXPECT_GE(method["detour"].get<double>(), 1.0);
    const bool ours =
        method["name"] == "learner" || std::string(method["name"]).starts_with("ours");
    for (const auto& point : path) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        const bool safe = a[i][0] * point[0] + a[i][1] * point[1] <= b[i];
        if (ours) {
          EXPECT_TRUE(safe) << method["name"];
        }
        outside += safe ? 0 : 1;
      }
    }
  }
  EXPECT_GT(outside, 0);  // the others leave it

  const std::vector<Claim> claims = judge_claims(results);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].verdict, Verdict::undecided);  // two seeds
  EXPECT_EQ(claims[1].verdict, Verdict::confirmed);  // counted
  EXPECT_THAT(results_page(results), testing::HasSubstr("Path against the safe region"));
}

TEST_F(Reproduction, FinishedRunsAreReadAndNotMadeAgain) {
  options_.figures = {"until-safe-mass-spring"};
  const std::vector<FigureResult> first = reproduce(options_);
  const auto run = options_.folder / "until-safe-mass-spring" / "learner-30000.run";
  const auto written = std::filesystem::last_write_time(run);
  const std::vector<FigureResult> second = reproduce(options_);
  EXPECT_EQ(std::filesystem::last_write_time(run), written);
  EXPECT_EQ(figure_to_json(first[0]).dump(), figure_to_json(second[0]).dump());
  EXPECT_EQ(first[0].comparison.methods[0].observations_until_safe.mean, 0);
  EXPECT_EQ(first[0].comparison.methods[0].unsafe_policies, 0);
  EXPECT_GT(first[0].comparison.methods[2].unsafe_policies, 0);
}

TEST_F(Reproduction, EveryFigureHasAConfigurationAndAnUnknownOneIsRefused) {
  for (const Figure& figure : paper_figures()) {
    EXPECT_NO_THROW(parse_config(paper_configuration(figure.name), figure.name)) << figure.name;
  }
  options_.figures = {"no such figure"};
  EXPECT_THROW(reproduce(options_), InvalidInput);
}

}  // namespace lifeguard::reproduction_test
