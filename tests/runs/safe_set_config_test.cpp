#include "lifeguard/runs/safe_set_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/sets/gain_cloud.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"

namespace lifeguard::safe_set_config_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

SafeSetContext mass_context() {
  SafeSetContext context;
  context.goal = Eigen::Vector2d(0, 0);
  return context;
}

std::string message(const std::string& text, const SafeSetContext& context = mass_context()) {
  try {
    safe_set_from_toml(text, context);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

std::string read_file(const std::string& path) {
  std::ifstream file(std::string(LIFEGUARD_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The blocks of one language in docs/safe_sets.md.
std::vector<std::string> documented(const std::string& language) {
  const std::string text = read_file("docs/safe_sets.md");
  const std::string begin = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

/// Without blanks and line breaks, so that indentation does not matter.
std::string squeezed(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' && c != '\n') result += c;
  }
  return result;
}

SafeSet documented_set() {
  // docs/safe_sets.md shows what stands between the two marks, word for word.
  // begin example
  // A mass on a spring: position and velocity gain of one force.
  const SafeSet gains = gain_box(Eigen::Vector2d(-20, -20), Eigen::Vector2d(5, 0),
                                 {"position gain", "velocity gain"});
  const SafeSet force = action_limits({.state_low = Eigen::Vector2d(-1, -2),
                                       .state_high = Eigen::Vector2d(1, 2),
                                       .goal = Eigen::Vector2d(0, 0),
                                       .action_low = Eigen::VectorXd::Constant(1, -10),
                                       .action_high = Eigen::VectorXd::Constant(1, 10),
                                       .action_names = {"force"}});
  const SafeSet stable = mass_stability({.spring_newtons_per_metre = 5.5,
                                         .damping_newton_seconds_per_metre = 0.105,
                                         .mass_kilograms = 2.75,
                                         .decay_rate_per_second = 0.1});
  const SafeSet set = intersect({gains, force, stable}).with_slack_limit(60);

  const Anchor anchor = choose_anchor(set, Eigen::Vector2d(-1, -2));
  if (anchor.source == AnchorSource::none) {
    throw std::runtime_error(anchor.feasibility.message());
  }
  // end example
  EXPECT_EQ(anchor.source, AnchorSource::given);
  return set;  // NOLINT(performance-no-automatic-move): const in the example
}

TEST(SafeSetConfigTest, TheDocumentedExamplesAreTrue) {
  const std::string source = read_file("tests/runs/safe_set_config_test.cpp");
  const std::string mark = "// begin example\n";
  const std::size_t begin = source.find(mark) + mark.size();
  const std::string example = source.substr(begin, source.find("  // end example") - begin);
  const std::vector<std::string> shown = documented("cpp");
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(squeezed(shown[0]), squeezed(example));

  const std::vector<std::string> configs = documented("toml");
  ASSERT_EQ(configs.size(), 2U);
  EXPECT_EQ(safe_set_from_toml(configs[0], mass_context()), documented_set());

  SafeSetContext with_lqr = mass_context();
  with_lqr.lqr = Eigen::Vector2d(-8, -6);
  const SafeSet others = safe_set_from_toml(configs[1], with_lqr);
  Eigen::MatrixXd points(2, 4);
  points << -4, -1, -6, -2, -1, -4, -6, -1;
  const SafeSet expected =
      intersect({gain_box_towards(Eigen::Vector2d(-8, -6), 0.5, -1.0, default_gain_names(1, 2)),
                 half_space(Eigen::Vector2d(1, -0.5), 6, "stiffness against damping"),
                 barrier_rows({{.state = Eigen::Vector2d(0.9, 1.0),
                                .direction = Eigen::VectorXd::Ones(1),
                                .limit = -0.5,
                                .name = "brake before the wall"}},
                              {}, Eigen::Vector2d(0, 0)),
                 gain_cloud_hull(points, "tried on the bench")});
  EXPECT_EQ(others, expected);
  EXPECT_EQ(check_feasibility(others).status, FeasibilityStatus::strictly_feasible);
}

TEST(SafeSetConfigTest, ThePlantOfTheTaskIsUsedUnlessTheTableSaysOtherwise) {
  SafeSetContext context = mass_context();
  context.features.bias = true;
  context.plant = MassStability{.spring_newtons_per_metre = 3,
                                .damping_newton_seconds_per_metre = 0.5,
                                .mass_kilograms = 2,
                                .actuator_gain = 0.5};
  MassStability plant = *context.plant;
  plant.features.bias = true;
  EXPECT_EQ(safe_set_from_toml("[mass_stability]", context), mass_stability(plant));
  plant.spring_newtons_per_metre = 4;
  EXPECT_EQ(safe_set_from_toml("[mass_stability]\nspring_newtons_per_metre = 4", context),
            mass_stability(plant));
  EXPECT_THAT(message("[mass_stability]\nmass_kilograms = 1"),
              StartsWith("mass_stability.spring_newtons_per_metre = (missing): must be given"));
}

TEST(SafeSetConfigTest, AnEmptyTextAllowsEverything) {
  EXPECT_EQ(safe_set_from_toml("", mass_context()), SafeSet(2));
}

TEST(SafeSetConfigTest, ErrorsNameKeyValueAndRule) {
  EXPECT_THAT(message("[half_space"), HasSubstr("safe set = line 1"));
  EXPECT_THAT(message("gain_bax = 3"), StartsWith("gain_bax = 3: is not a key here; known are: "
                                                  "action_limits, action_names, barrier"));
  EXPECT_EQ(message("[half_space]\nname = 'x'\nnormal = [1, 2]\nlimit = 'high'"),
            "half_space.limit = 'high': must be a number");
  EXPECT_EQ(message("[[half_space]]\nname = 'x'\nnormal = [1, 2]\nlimit = 1\n"
                    "[[half_space]]\nname = 'y'\nnormal = [1, 'z']\nlimit = 1"),
            "half_space[1].normal[1] = 'z': must be a number");
  EXPECT_EQ(message("[half_space]\nname = 'x'\nnormal = [1]\nlimit = 1"),
            "half_space.normal = 1 entries: must have 2 entries");
  EXPECT_EQ(message("[half_space]\nname = 'x'\nnormal = [0, 0]\nlimit = 1"),
            "half_space.coefficients of \"x\" = 0: a row must have a coefficient that is not 0");
  EXPECT_EQ(message("[half_space]\nnormal = [0, 0]\nlimit = 1"),
            "half_space.name = (missing): must be given");
  EXPECT_EQ(message("[gain_box]\nlower = 1\nupper = nan"),
            "gain_box.upper[0] = nan: must be a number or infinity");
  EXPECT_EQ(message("[gain_box]\nlower = 1\nupper = 2\ncolour = 'red'"),
            "gain_box.colour = 'red': is not a key here; known are: lower, upper");
  EXPECT_EQ(message("slack_limit = 0"), "slack_limit = 0: must be greater than 0");
  EXPECT_EQ(message("gain_names = ['only one']"), "gain_names = 1 entries: must have 2 entries");
  EXPECT_EQ(message("gain_names = [1, 2]"), "gain_names[0] = 1: must be a text");
  EXPECT_EQ(message("barrier = 3"), "barrier = 3: must be a table");
  EXPECT_EQ(message("[known_good]\npoints = [[1, 2], [3]]"),
            "known_good.points[1] = 1 entries: must have 2 entries");
  EXPECT_THAT(message("[known_good]\npoints = [[1, 2], [2, 3], [3, 4]]"),
              HasSubstr("known_good.points = 3 in 2 parameters: must not lie in a plane"));
  EXPECT_THAT(message("[action_limits]\nstate_low = 1\nstate_high = 0\naction_low = 0\n"
                      "action_high = 1"),
              StartsWith("action_limits.state_low[0] = 1"));
  SafeSetContext two_actions = mass_context();
  two_actions.actions = 2;
  EXPECT_EQ(message("[mass_stability]", two_actions),
            "mass_stability = 2 states, 2 actions: needs the 2 states and 1 action of a mass");
}

TEST(SafeSetConfigTest, InfiniteBoundsGiveNoRow) {
  const SafeSet set =
      safe_set_from_toml("[gain_box]\nlower = -inf\nupper = [1, inf]", mass_context());
  EXPECT_EQ(set.rows(), 1);
  EXPECT_EQ(set.name(0), "gain(0, 0) upper limit");
}

}  // namespace lifeguard::safe_set_config_test
