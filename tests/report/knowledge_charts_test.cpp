// The charts of what L knows, against what the run file holds.
#include "lifeguard/report/knowledge_charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "lifeguard/report/chart_json.hpp"
#include "lifeguard/report/chart_svg.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/run_beliefs.hpp"
#include "tests/support/played_runs.hpp"

namespace lifeguard::knowledge_charts_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class KnowledgeCharts : public PlayedRuns {
 protected:
  void SetUp() override {
    PlayedRuns::SetUp();
    path_ = play(small_believing_experiment(24, 4));
    charts_ = std::move(report_charts({path_})[0].charts);
  }
  const Chart& chart(const std::string& name, int task = -1) const {
    for (const Chart& one : charts_) {
      if (one.name == name && one.task == task) return one;
    }
    throw std::runtime_error("no chart " + name);
  }
  std::filesystem::path path_;
  std::vector<Chart> charts_;
};

TEST_F(KnowledgeCharts, AreThereForEmpiricalBayesAlone) {
  std::vector<std::string> names;
  for (const Chart& one : charts_) {
    if (one.name.starts_with("knowledge") && (one.task < 1)) names.push_back(one.name);
  }
  EXPECT_THAT(names, ElementsAre("knowledge-spectrum", "knowledge-directions", "knowledge-tasks",
                                 "knowledge-belief", "knowledge-agreement"));
  for (const char* method : {"shared", "pg"}) {
    const auto other = report_charts({play(small_experiment(method, 1))});
    for (const Chart& one : other[0].charts) {
      EXPECT_THAT(one.name, testing::Not(StartsWith("knowledge")));
    }
  }
}

TEST_F(KnowledgeCharts, SpectrumAndAgreementAreThoseOfTheRunFile) {
  const RunView view(path_);
  const Chart& spectrum = chart("knowledge-spectrum");
  ASSERT_EQ(spectrum.tables[0].rounds.size(), view.beliefs.size());
  for (std::size_t i = 0; i < view.beliefs.size(); ++i) {
    EXPECT_EQ(spectrum.tables[0].rounds[i], view.beliefs[i].round);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(spectrum.tables[0].values[i][k],
                std::sqrt(view.beliefs[i].variances(static_cast<Eigen::Index>(k))));
    }
  }
  EXPECT_EQ(spectrum.title, "What L knows: how tasks differ, learner");
  const Chart& agreement = chart("knowledge-agreement");
  ASSERT_EQ(agreement.tables[0].rounds.size(), view.rounds.size());
  for (std::size_t i = 0; i < view.rounds.size(); ++i) {
    EXPECT_EQ(agreement.tables[0].values[i][0], view.rounds[i].agreement);
  }
}

TEST_F(KnowledgeCharts, DirectionsAreGainsInTheirUnits) {
  const StoredBeliefs last = RunView(path_).beliefs.back();
  const Chart& directions = chart("knowledge-directions");
  ASSERT_TRUE(directions.cells);
  EXPECT_THAT(directions.cells->rows, ElementsAre(HasSubstr("position"), HasSubstr("speed")));
  ASSERT_EQ(directions.cells->columns.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto c = static_cast<Eigen::Index>(k);
    const double a = last.directions(0, c) / last.units(0);
    const double b = last.directions(1, c) / last.units(1);
    EXPECT_NEAR(directions.cells->values[0][k], a / std::hypot(a, b), 1e-12);
    EXPECT_NEAR(directions.cells->values[1][k], b / std::hypot(a, b), 1e-12);
  }
  EXPECT_THAT(directions.note, StartsWith("These tasks differ most in the gains on "));
}

TEST_F(KnowledgeCharts, TasksAreWhereTheyAreBelievedToBe) {
  const StoredBeliefs last = RunView(path_).beliefs.back();
  const Chart& tasks = chart("knowledge-tasks");
  ASSERT_EQ(tasks.marks.size(), 4U);
  ASSERT_EQ(tasks.ellipses.size(), 5U);  // and any task
  EXPECT_EQ(tasks.ellipses[0].spread(0, 0), 4 * last.variances(0));
  EXPECT_EQ(tasks.ellipses[0].spread(1, 1), 4 * last.variances(1));
  for (std::size_t t = 0; t < 4; ++t) {
    const Eigen::VectorXd place = last.places.col(static_cast<Eigen::Index>(t));
    EXPECT_EQ(tasks.marks[t].name, "mass-spring " + std::to_string(t) + ", 6 visits");
    const ChartEllipse& ellipse = tasks.ellipses[t + 1];
    EXPECT_EQ(ellipse.at, tasks.marks[t].at);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_NEAR(ellipse.at[k], place(static_cast<Eigen::Index>(k)), 1e-5 * place.head(2).norm());
    }
    EXPECT_EQ(ellipse.spread(0, 0), 4 * place(2));
    EXPECT_EQ(ellipse.spread(1, 0), 4 * place(3));
    EXPECT_EQ(ellipse.spread(0, 1), 4 * place(3));
    EXPECT_EQ(ellipse.spread(1, 1), 4 * place(4));
    // Its outline is one deviation of four times the covariance away in every direction, and seen.
    const Eigen::Matrix2d inverse = ellipse.spread.inverse();
    for (const Point2& corner : outline_of(ellipse, 0, 1)) {
      const Eigen::Vector2d from(corner[0] - ellipse.at[0], corner[1] - ellipse.at[1]);
      EXPECT_NEAR(from.dot(inverse * from), 1, 1e-9);
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_GT(corner[k], tasks.plane->view[k][0]);
        EXPECT_LT(corner[k], tasks.plane->view[k][1]);
      }
    }
  }
}

TEST_F(KnowledgeCharts, ABeliefBeginsWithThePriorAndGoesOnWithEveryVisit) {
  const RunView view(path_);
  const StoredBeliefs& last = view.beliefs.back();
  for (int t = 0; t < 4; ++t) {
    const Chart& belief = chart("knowledge-belief", t);
    const ChartTable& table = belief.tables[0];
    // Before round 1 nothing is known, so the first task has no prior.
    if (t == 0) {
      EXPECT_THAT(table.rounds, ElementsAre(1, 2, 3, 4, 5, 6));
    } else {
      EXPECT_THAT(table.rounds, ElementsAre(0, 1, 2, 3, 4, 5, 6));
    }
    std::size_t i = 0;
    const Eigen::VectorXd reading = last.readings.col(0);
    for (const StoredTaskBelief& stored : view.task_beliefs) {
      if (stored.task != t) continue;
      const double place = reading.dot(stored.mean - last.mean);
      const double deviation = std::sqrt(variance_along(stored.covariance, reading));
      EXPECT_NEAR(table.values[i][0], place, 1e-5 * std::abs(place));
      const double digits = 1e-5 * std::abs(place) + 1e-4 * deviation;
      EXPECT_NEAR(table.values[i][1], place - 2 * deviation, digits);
      EXPECT_NEAR(table.values[i][2], place + 2 * deviation, digits);
      ++i;
    }
    EXPECT_EQ(i, table.rounds.size());
    EXPECT_EQ(belief.lines[0].band, 1U);
    EXPECT_EQ(belief.x_label, "visit");
  }
}

TEST_F(KnowledgeCharts, OnlyWhatIsNewIsSentAndTheRestAnew) {
  const auto whole = report_data({path_})["experiments"][0]["charts"];
  const auto news = report_data({path_}, 20)["experiments"][0]["charts"];
  ASSERT_EQ(whole.size(), news.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const std::string name = whole[i]["name"];
    if (name == "knowledge-tasks") {
      EXPECT_EQ(whole[i], news[i]);
      EXPECT_EQ(whole[i]["ellipses"].size(), 5U);
      EXPECT_EQ(whole[i]["ellipses"][1]["spread"].size(), 2U);
    }
    if (name == "knowledge-belief") {
      EXPECT_EQ(whole[i]["tables"], news[i]["tables"]);
    }
    if (name == "knowledge-agreement" || name == "knowledge-spectrum") {
      EXPECT_EQ(news[i]["tables"][0]["rounds"][0], 21) << name;
    }
  }
}

TEST_F(KnowledgeCharts, AreDrawn) {
  for (const Chart& one : charts_) {
    if (!one.name.starts_with("knowledge")) continue;
    const std::string svg = to_svg(one, one.scales.front());
    EXPECT_THAT(svg, testing::Not(HasSubstr("nan"))) << one.name;
    if (one.name != "knowledge-tasks") continue;
    std::size_t outlines = 0;
    for (std::size_t at = svg.find("fill-opacity"); at != std::string::npos;
         at = svg.find("fill-opacity", at + 1)) {
      ++outlines;
    }
    EXPECT_EQ(outlines, 5U + 2U);  // and in the legend
  }
}

/// A task that nobody has visited yet is only expected; a run that has just begun has no charts.
TEST_F(KnowledgeCharts, WhatWasNotVisitedIsNotAMark) {
  const auto young = play(
      [] {
        ExperimentConfig config = small_believing_experiment(24, 4);
        config.seed = 3;
        return config;
      }(),
      2);
  std::size_t of_tasks = 0;
  const auto experiments = report_charts({young});
  for (const Chart& one : experiments[0].charts) {
    if (one.name == "knowledge-tasks") {
      EXPECT_EQ(one.marks.size(), 2U);
      EXPECT_EQ(one.ellipses.size(), 3U);
    }
    of_tasks += one.name == "knowledge-belief" ? 1 : 0;
  }
  EXPECT_EQ(of_tasks, 2U);
}

}  // namespace lifeguard::knowledge_charts_test
