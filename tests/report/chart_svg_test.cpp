#include "lifeguard/report/chart_svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/report/mark_labels.hpp"
#include "lifeguard/report/report_data.hpp"
#include "tests/support/played_runs.hpp"

namespace lifeguard::chart_svg_test {

using testing::HasSubstr;
using testing::Not;
using Xml = boost::property_tree::ptree;

Xml parsed(const std::string& svg) {
  std::istringstream stream(svg);
  Xml tree;
  read_xml(stream, tree);  // throws if it is not well formed
  return tree;
}

/// Well-formed, without a number that is none, and with everything in the picture.
void expect_sound(const std::string& svg, const std::string& what) {
  const Xml tree = parsed(svg);
  EXPECT_THAT(svg, Not(testing::ContainsRegex("[^a-z](nan|inf)[^a-z]"))) << what;
  const double width = tree.get<double>("svg.<xmlattr>.width");
  const double height = tree.get<double>("svg.<xmlattr>.height");
  for (const auto& [tag, element] : tree.get_child("svg")) {
    if (tag != "text") continue;
    EXPECT_GE(element.get<double>("<xmlattr>.x"), 0) << what;
    EXPECT_LE(element.get<double>("<xmlattr>.x"), width) << what;
    EXPECT_LE(element.get<double>("<xmlattr>.y"), height) << what;
  }
}

class ChartSvg : public PlayedRuns {};

TEST_F(ChartSvg, EveryChartOfRealRunsIsSoundOnEveryScale) {
  const auto experiments =
      report_charts({play(small_experiment("learner", 0)), play(small_experiment("learner", 1)),
                     play(small_experiment("pg", 0)), play(small_free_experiment("shared"))});
  ASSERT_EQ(experiments.size(), 2);
  for (const ExperimentCharts& experiment : experiments) {
    for (const Chart& chart : experiment.charts) {
      for (const Scale scale : chart.scales) {
        const std::string svg = to_svg(chart, scale);
        expect_sound(svg, chart.title);
        const Xml tree = parsed(svg);
        EXPECT_EQ(tree.get<std::string>("svg.title"), chart.title);
        EXPECT_EQ(tree.get<std::string>("svg.desc"), chart.note);
        for (const ChartLine& line : chart.lines) {
          EXPECT_THAT(svg, HasSubstr(palette_entry(line.style.colour).light));
          if (!line.legend.empty()) {
            EXPECT_THAT(svg, HasSubstr(">" + line.legend + "<"));
          }
        }
        for (const ChartMark& mark : chart.marks) {
          if (!mark.label.empty()) {
            EXPECT_THAT(svg, HasSubstr(">" + mark.label + "<"));
          }
        }
      }
    }
  }
}

Chart chart_of(const std::vector<std::vector<double>>& values) {
  Chart chart;
  chart.name = chart.title = "by hand";
  chart.x_label = "round";
  chart.y_label = "value";
  ChartTable table{"", {"value", "low", "high"}};
  for (const auto& row : values) {
    table.rounds.push_back(static_cast<long>(table.rounds.size()));
    table.values.push_back({row[0], row[0] - row[1], row[0] + row[1]});
  }
  chart.tables = {table};
  chart.lines = {{.name = "line", .band = 1}};
  return chart;
}

/// The points of the first line: of all paths without a fill that one has no dash and round ends.
std::vector<Point2> drawn_points(const std::string& svg) {
  std::smatch match;
  const std::regex path("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"#0072b2\"");
  if (!std::regex_search(svg, match, path)) return {};
  std::string numbers = match[1];
  for (char& c : numbers) {
    if (std::string("MLZ").find(c) != std::string::npos) c = ' ';
  }
  std::istringstream stream(numbers);
  std::vector<Point2> points;
  for (Point2 p{}; stream >> p[0] >> p[1];) points.push_back(p);
  return points;
}

TEST(ChartSvgByHand, LinesAreWhereTheNumbersAre) {
  // 0, 10, 5: the middle one highest, the last one half way.
  const auto linear = drawn_points(to_svg(chart_of({{0, 0}, {10, 0}, {5, 0}}), Scale::linear));
  ASSERT_EQ(linear.size(), 3);
  EXPECT_NEAR(linear[1][0] - linear[0][0], linear[2][0] - linear[1][0], 0.011);
  EXPECT_LT(linear[1][1], linear[0][1]);
  EXPECT_NEAR(linear[2][1], (linear[0][1] + linear[1][1]) / 2, 0.011);
  // 1, 100, 10: on a logarithmic axis the last one is half way.
  const auto log = drawn_points(to_svg(chart_of({{1, 0}, {100, 0}, {10, 0}}), Scale::log_y));
  ASSERT_EQ(log.size(), 3);
  EXPECT_NEAR(log[2][1], (log[0][1] + log[1][1]) / 2, 0.011);
}

TEST(ChartSvgByHand, WhatCannotBeDrawnIsAGap) {
  const Chart chart =
      chart_of({{1, kNaN}, {kNaN, kNaN}, {-3, 0.5}, {kInfinity, 1}, {4, kInfinity}, {5, 2}});
  for (const Scale scale : {Scale::linear, Scale::log_y, Scale::log_xy}) {
    expect_sound(to_svg(chart, scale), "gaps");
  }
  EXPECT_EQ(drawn_points(to_svg(chart, Scale::linear)).size(), 4);
  EXPECT_EQ(drawn_points(to_svg(chart, Scale::log_y)).size(), 3);
  EXPECT_EQ(drawn_points(to_svg(chart, Scale::log_xy)).size(), 2);  // round 0 is none
}

TEST(ChartSvgByHand, NothingToDrawIsStillAPicture) {
  for (const auto& values :
       std::vector<std::vector<std::vector<double>>>{{}, {{-1, 0}}, {{0, 0}}, {{7, 0}, {7, 0}}}) {
    for (const Scale scale : {Scale::linear, Scale::log_y, Scale::log_xy}) {
      expect_sound(to_svg(chart_of(values), scale), "almost nothing");
    }
  }
  Chart cells;
  cells.cells =
      ChartCells{.rows = {"a", "b"}, .columns = {"1", "2"}, .values = {{0, 0}, {kNaN, 0}}};
  expect_sound(to_svg(cells, Scale::linear), "zeros");
}

TEST(ChartSvgByHand, NamesAreText) {
  Chart chart = chart_of({{1, 0}, {2, 0}});
  chart.title = "a < b & c > d \"e\" \x01 — and so long a title that it does not fit on one line";
  chart.lines[0].legend = "</svg><script>";
  const std::string svg = to_svg(chart, Scale::linear);
  expect_sound(svg, "names");
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_EQ(
      parsed(svg).get_child("svg").count("text"),
      parsed(to_svg(chart_of({{1, 0}, {2, 0}}), Scale::linear)).get_child("svg").count("text") +
          2);  // a second line of the title, and the legend
}

TEST(CrossSection, IsTheCutThroughThePoint) {
  // x + z ≤ 1 and y ≤ 2 in three dimensions, seen from (0, 0, 0.75).
  ChartRegion region;
  region.rows.resize(2, 3);
  region.rows << 1, 0, 1, 0, 1, 0;
  region.at = Eigen::Vector3d(0, 0, 0.75);
  region.margins = Eigen::Vector2d(1, 2) - region.rows * region.at;
  const auto cut = cross_section(region, 0, 1, {{-10, 10}, {-10, 10}, {0, 1}});
  // Where it goes on it ends far beyond what is seen.
  constexpr double kFar = -20010;
  EXPECT_THAT(cut, testing::UnorderedElementsAre(Point2{kFar, kFar}, Point2{0.25, kFar},
                                                 Point2{0.25, 2}, Point2{kFar, 2}));
  region.margins(0) = -1e6;  // nothing is left
  EXPECT_TRUE(cross_section(region, 0, 1, {{-10, 10}, {-10, 10}, {0, 1}}).empty());
}

TEST(MarkLabels, AvoidMarksAndEachOther) {
  Chart chart;
  chart.plane = ChartPlane{.axes = {"x", "y"}, .view = {{0, 1}, {0, 1}}};
  // The second is where the first one's label would be; the last has no free side.
  for (const Point2& p : std::vector<Point2>{{0.5, 0.5}, {0.53, 0.5}, {0.1, 0.1}}) {
    chart.marks.push_back({.label = "1", .at = {p[0], p[1]}});
  }
  for (int i = 0; i < 12; ++i) chart.marks.push_back({.label = "9", .at = {0.8, 0.8}});
  place_labels(chart);
  EXPECT_EQ(chart.marks[0].side, ChartMark::Side::left);
  EXPECT_EQ(chart.marks[1].side, ChartMark::Side::right);
  EXPECT_EQ(chart.marks[2].side, ChartMark::Side::right);
  EXPECT_EQ(std::count_if(chart.marks.begin() + 3, chart.marks.end(),
                          [](const ChartMark& mark) { return !mark.label.empty(); }),
            4);
}

}  // namespace lifeguard::chart_svg_test
