#include "lifeguard/report/charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "lifeguard/report/chart_json.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/drawn_tasks.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "tests/support/played_runs.hpp"

namespace lifeguard::charts_test {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

class Charts : public PlayedRuns {
 protected:
  /// The charts of one experiment.
  std::vector<Chart> charts_of_files(const std::vector<std::filesystem::path>& paths) {
    auto experiments = report_charts(paths);
    EXPECT_EQ(experiments.size(), 1);
    return std::move(experiments[0].charts);
  }
};

Chart find_chart(const std::vector<Chart>& charts, const std::string& name,
                 const std::string& run = "", int task = -1) {
  const auto found = std::find_if(charts.begin(), charts.end(), [&](const Chart& chart) {
    return chart.name == name && chart.run == run && chart.task == task;
  });
  if (found == charts.end()) throw std::runtime_error("no chart " + name + " " + run);
  return *found;
}

std::vector<std::string> names_of(const std::vector<Chart>& charts) {
  std::vector<std::string> names;
  for (const Chart& chart : charts) {
    if (names.empty() || names.back() != chart.name) names.push_back(chart.name);
  }
  return names;
}

TEST_F(Charts, EveryKindIsThereInTheOrderOfThePage) {
  const auto charts =
      charts_of_files({play(small_experiment("learner", 0)), play(small_experiment("pg", 0))});
  EXPECT_THAT(names_of(charts),
              ElementsAre("cost", "safe-region", "margins", "falls", "saturations", "spectrum",
                          "knowledge-spectrum", "knowledge-directions", "knowledge-tasks",
                          "knowledge-belief", "knowledge-agreement", "regret-losses", "regret-cost",
                          "coefficients", "resemblance"));
  EXPECT_EQ(find_chart(charts, "margins", "pg").title, "Constraint margins, pg");
  EXPECT_EQ(find_chart(charts, "safe-region", "learner", 2).title,
            "Safe region of mass-spring 2, learner");
}

TEST_F(Charts, CostAndRegretAreTheMediansAndBandsOfTheRunFiles) {
  const std::vector<std::filesystem::path> paths = {play(small_experiment("learner", 0)),
                                                    play(small_experiment("learner", 1)),
                                                    play(small_experiment("pg", 0))};
  const auto charts = charts_of_files(paths);
  const Chart cost = find_chart(charts, "cost");
  ASSERT_EQ(cost.tables.size(), 2);
  const auto first = RunReader(paths[0]).evaluations();
  const auto second = RunReader(paths[1]).evaluations();
  ASSERT_EQ(cost.tables[0].rounds.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(cost.tables[0].rounds[i], first[i].round);
    const auto [low, high] = std::minmax({first[i].costs.mean(), second[i].costs.mean()});
    EXPECT_THAT(cost.tables[0].values[i], ElementsAre(low / 2 + high / 2, low, high));
  }
  EXPECT_EQ(cost.lines[0].legend, "learner (2 seeds)");
  EXPECT_EQ(cost.lines[1].legend, "pg (1 seed)");
  // One seed is its own band.
  const double only = cost.tables[1].values[0][0];
  EXPECT_THAT(cost.tables[1].values[0], ElementsAre(only, only, only));
  EXPECT_NE(cost.lines[0].style.colour, cost.lines[1].style.colour);
  EXPECT_NE(cost.lines[0].style.dash, cost.lines[1].style.dash);

  const auto regrets = RunReader(paths[2]).regrets();
  ASSERT_FALSE(regrets.empty());
  const Chart losses = find_chart(charts, "regret-losses");
  const Chart true_cost = find_chart(charts, "regret-cost");
  for (std::size_t i = 0; i < regrets.size(); ++i) {
    EXPECT_EQ(losses.tables[1].rounds[i], regrets[i].round);
    EXPECT_EQ(losses.tables[1].values[i][0], regrets[i].surrogate);
    EXPECT_EQ(true_cost.tables[1].values[i][0], regrets[i].true_cost);
  }
  // A method has one look in all charts.
  EXPECT_EQ(losses.lines[1].style.colour, cost.lines[1].style.colour);
  EXPECT_EQ(losses.scales, (std::vector{Scale::linear, Scale::log_xy}));
}

RunView snapshot_of(const std::filesystem::path& path) { return RunView(path); }

TEST_F(Charts, TheRootEndsAtTheLastPointOfTheFirstMethodWithRegret) {
  RunView none = snapshot_of(play(small_experiment("learner", 0)));
  RunView some = none;
  none.regrets = {{.round = 1, .surrogate = 2, .true_cost = 1},
                  {.round = 10000, .surrogate = -5, .true_cost = 1}};
  some.regrets = {{.round = 1, .surrogate = 1, .true_cost = 1},
                  {.round = 10000, .surrogate = 300, .true_cost = 1}};
  ChartSource source{{{"learner", {&none}}, {"pg", {&some}}}, {}, -1};
  const Chart chart = find_chart(charts_of(source), "regret-losses");
  const ChartLine& root = chart.lines.back();
  EXPECT_EQ(root.legend, "√R, scaled");
  const ChartTable& table = chart.tables[root.table];
  EXPECT_THAT(table.heads, testing::IsEmpty());
  EXPECT_EQ(table.rounds.front(), 1);
  EXPECT_EQ(table.rounds.back(), 10000);
  EXPECT_TRUE(std::is_sorted(table.rounds.begin(), table.rounds.end()));
  for (std::size_t i = 0; i < table.rounds.size(); ++i) {
    EXPECT_NEAR(table.values[i][0], 3 * std::sqrt(static_cast<double>(table.rounds[i])), 1e-9);
  }
  // Without a regret there is nothing to compare with.
  source.methods.pop_back();
  const Chart alone = find_chart(charts_of(source), "regret-losses");
  EXPECT_EQ(alone.lines.size(), 1);
  EXPECT_THAT(alone.note, Not(testing::HasSubstr("√R")));
}

TEST_F(Charts, MarginsAndSpectrumAreThoseOfTheRunFile) {
  const auto path = play(small_experiment("learner", 0));
  const auto charts = charts_of_files({path});
  const RunReader reader(path);
  const Chart margins = find_chart(charts, "margins", "learner");
  const auto evaluations = reader.evaluations();
  ASSERT_EQ(margins.tables[0].rounds.size(), evaluations.size());
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    EXPECT_EQ(margins.tables[0].rounds[i], evaluations[i].round);
    for (std::size_t t = 0; t < 3; ++t) {
      EXPECT_EQ(margins.tables[0].values[i][t], evaluations[i].margins(static_cast<long>(t)));
    }
  }
  // The task of the least margin is in front and looks different.
  Eigen::Index worst = 0;
  evaluations.back().margins.minCoeff(&worst);
  EXPECT_EQ(margins.lines.back().column, static_cast<std::size_t>(worst));
  EXPECT_EQ(margins.lines.back().legend, "mass-spring " + std::to_string(worst) + ", the worst");
  EXPECT_NE(margins.lines.back().style.colour, margins.lines.front().style.colour);
  EXPECT_EQ(report_charts({path})[0].worst_tasks.at("learner"), static_cast<int>(worst));

  const Chart spectrum = find_chart(charts, "spectrum", "learner");
  const auto certificates = reader.certificates();
  ASSERT_EQ(spectrum.tables[0].rounds.size(), certificates.size());
  EXPECT_EQ(spectrum.tables[0].values[5][1], certificates[5].spectrum(1));
  EXPECT_EQ(spectrum.rules[0].value, 1e-6);
  EXPECT_EQ(spectrum.rules[1].value, 100.0);
  EXPECT_EQ(spectrum.scales, std::vector{Scale::log_y});
}

TEST_F(Charts, TheSafeRegionIsTheSetAtTheLastPolicyAndThePathWhatWasPlayed) {
  const auto path = play(small_experiment("learner", 0));
  const auto charts = charts_of_files({path});
  const RunReader reader(path);
  const DrawnTasks drawn = draw_tasks(reader.header().config());
  const auto rounds = reader.rounds();
  for (int t = 0; t < 3; ++t) {
    const Chart chart = find_chart(charts, "safe-region", "learner", t);
    const SafeSet& set = drawn.safe_sets[static_cast<std::size_t>(t)];
    const Eigen::VectorXd policy = RunView(reader).policies.col(t);
    EXPECT_EQ(chart.region->rows, set.coefficients());
    EXPECT_TRUE(chart.region->at.isApprox(policy, 1e-5));
    EXPECT_THAT(chart.plane->axes,
                ElementsAre("gain on position (N/m)", "gain on speed (N/(m/s))"));
    EXPECT_THAT(chart.tables[0].rounds, ElementsAre(t + 1, t + 4, t + 7, t + 10));
    for (std::size_t i = 0; i < 4; ++i) {
      const Eigen::VectorXd& played = rounds[static_cast<std::size_t>(t) + 3 * i].played;
      EXPECT_NEAR(chart.tables[0].values[i][1], played(1), 1e-5 * std::abs(played(1)));
    }
    const auto points = points_of(chart, chart.lines[0]);
    ASSERT_EQ(points.size(), 5);
    EXPECT_NEAR(points.back()[0], policy(0), 1e-5 * std::abs(policy(0)));
    // Everything is in view, and a box of limits on two gains has the four corners of the set.
    const auto& view = chart.plane->view;
    const auto is_seen = [&](double x, double y) {
      return x > view[0][0] && x < view[0][1] && y > view[1][0] && y < view[1][1];
    };
    for (const Point2& p : points) EXPECT_TRUE(is_seen(p[0], p[1]));
    for (const ChartMark& mark : chart.marks) EXPECT_TRUE(is_seen(mark.at[0], mark.at[1]));
    const auto corners = cross_section(*chart.region, 0, 1, view);
    ASSERT_EQ(corners.size(), 4);
    for (const Point2& corner : corners) {
      Eigen::VectorXd slack =
          (set.limits() - set.coefficients() * Eigen::Vector2d(corner[0], corner[1])).cwiseAbs();
      std::sort(slack.begin(), slack.end());
      EXPECT_LT(slack(1), 2e-5 * set.limits().cwiseAbs().maxCoeff());
    }
  }
}

TEST_F(Charts, CoefficientsAreTheLearnersAndTheirPlaneKeepsDistances) {
  const auto charts = charts_of_files({play(small_experiment("learner", 0))});
  const auto values = find_chart(charts, "coefficients", "learner").cells->values;
  const auto marks = find_chart(charts, "resemblance", "learner").marks;
  ASSERT_EQ(values.size(), 3);
  // Two entries of s: their principal plane is the whole plane, so no distance may change.
  const auto distance = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::hypot(a[0] - b[0], a[1] - b[1]);
  };
  EXPECT_NEAR(distance(marks[0].at, marks[2].at), distance(values[0], values[2]), 1e-9);
  EXPECT_NEAR(distance(marks[1].at, marks[2].at), distance(values[1], values[2]), 1e-9);
  EXPECT_EQ(marks[1].name, "mass-spring 1");
}

TEST_F(Charts, WithoutConstraintsThereAreNoMarginsAndNoRegion) {
  const auto charts = charts_of_files({play(small_free_experiment("pg"))});
  EXPECT_THAT(names_of(charts), Not(Contains("margins")));
  EXPECT_THAT(names_of(charts), Not(Contains("spectrum")));
  const Chart path = find_chart(charts, "safe-region", "pg", 0);
  EXPECT_FALSE(path.region.has_value());
  EXPECT_EQ(path.title, "Path of mass-spring 0, pg");
  EXPECT_THAT(find_chart(charts, "coefficients", "pg").x_label, testing::HasSubstr("α"));
}

TEST_F(Charts, ThePageGetsTheSameDescriptions) {
  const auto path = play(small_experiment("learner", 0));
  const auto charts = charts_of_files({path});
  const nlohmann::ordered_json report = report_data({path});
  EXPECT_EQ(report["experiments"][0]["charts"].dump(), charts_to_json(charts).dump());
  const auto& json = report["experiments"][0]["charts"][0];
  EXPECT_EQ(json["name"], "cost");
  EXPECT_EQ(json["tables"][0]["values"][3][0].get<double>(), charts[0].tables[0].values[3][0]);
  EXPECT_TRUE(report["palette"].contains(json["lines"][0]["colour"].get<std::string>()));
  EXPECT_EQ(report["palette"]["blue"]["light"], kPalette[0].light);
}

/// The sources of the page that draw charts; the systems that move are no charts.
std::string chart_sources_of_the_page() {
  std::ostringstream text;
  for (const auto& entry : std::filesystem::directory_iterator(LIFEGUARD_SOURCE_DIR "/web/src")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".ts" || name == "animation.ts" || name == "quadrotor.ts") {
      continue;
    }
    text << std::ifstream(entry.path()).rdbuf();
  }
  return text.str();
}

TEST_F(Charts, ThePageHasNoColourDashOrTitleOfItsOwn) {
  const std::string sources = chart_sources_of_the_page();
  ASSERT_THAT(sources, testing::HasSubstr("Plot.plot("));
  const std::regex colour(R"(["'`:( ]#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(|var\(--c\d)");
  EXPECT_FALSE(std::regex_search(sources, colour));
  for (const PaletteEntry& entry : kPalette) {
    const std::regex name("[\"'`]" + std::string(entry.name) + "[\"'`]");
    EXPECT_FALSE(std::regex_search(sources, name)) << entry.name;
  }
  EXPECT_FALSE(std::regex_search(sources, std::regex(R"([Dd]asharray"?: "[\d ]+")")));
  for (const Chart& chart : charts_of_files({play(small_experiment("learner", 0))})) {
    const std::string title = chart.title.substr(0, chart.title.find(','));
    EXPECT_THAT(sources, Not(testing::HasSubstr(title)));
    EXPECT_THAT(sources, Not(testing::HasSubstr("\"" + chart.name + "\""))) << "a chart by name";
  }
}

TEST(Palette, ColoursDifferAndCanBeReadOnTheirGround) {
  const auto brightness = [](std::string_view hex) {
    const auto part = [&](std::size_t i) {
      const double v = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
      return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2) + 0.05;
  };
  std::set<std::string_view> seen;
  for (const PaletteEntry& entry : kPalette) {
    EXPECT_TRUE(seen.insert(entry.light).second);
    EXPECT_TRUE(seen.insert(entry.dark).second);
    // Three to one, as WCAG asks of what is not text.
    EXPECT_GE(brightness("#ffffff") / brightness(entry.light), 3.0) << entry.name;
    EXPECT_GE(brightness(entry.dark) / brightness("#1d2229"), 3.0) << entry.name;
  }
  EXPECT_EQ(palette_entry(Colour::grey).name, "grey");  // the order of the palette is the enum's
}

}  // namespace lifeguard::charts_test
