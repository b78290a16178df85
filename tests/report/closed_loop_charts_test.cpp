#include "lifeguard/report/closed_loop_charts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "lifeguard/report/chart_svg.hpp"
#include "lifeguard/report/incident_charts.hpp"
#include "lifeguard/report/report_data.hpp"
#include "lifeguard/runs/statistics.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "tests/support/played_runs.hpp"

namespace lifeguard::closed_loop_charts_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClosedLoopCharts : public PlayedRuns {
 protected:
  std::vector<Chart> charts_of_file(const std::filesystem::path& path) {
    return std::move(report_charts({path})[0].charts);
  }
};

std::vector<Chart> charts_named(const std::vector<Chart>& charts, const std::string& name) {
  std::vector<Chart> found;
  std::copy_if(charts.begin(), charts.end(), std::back_inserter(found),
               [&](const Chart& chart) { return chart.name == name; });
  return found;
}

TEST_F(ClosedLoopCharts, TheDecayIsThatOfWhatWasPlayedAndAtMostWhatIsAskedFor) {
  const auto path = play(small_closed_loop_experiment("learner"));
  const RunView view(path);
  const auto charts = charts_named(charts_of_file(path), "decay");
  ASSERT_EQ(charts.size(), 1U);
  const Chart& chart = charts.front();
  ASSERT_EQ(chart.rules.size(), 1U);
  EXPECT_EQ(chart.rules[0].value, 0.99);
  ASSERT_EQ(chart.tables.size(), 3U);
  for (std::size_t t = 0; t < 3; ++t) {
    const ClosedLoop& loop = *view.safe_set(static_cast<int>(t)).closed_loops().front();
    ASSERT_EQ(chart.tables[t].rounds.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      const StoredRound& round =
          view.rounds[static_cast<std::size_t>(chart.tables[t].rounds[i] - 1)];
      EXPECT_EQ(round.task, static_cast<int>(t));
      const double decay = chart.tables[t].values[i][0];
      EXPECT_LE(decay, loop.decay);
      // No corner of the plant contracts more slowly.
      for (const UncertainPlant::Corner& corner : loop.plant.corners) {
        const Eigen::MatrixXd closed = corner.a + corner.b * gains_from_parameters(round.played, 1);
        EXPECT_LE(closed.eigenvalues().cwiseAbs().maxCoeff(), decay);
        const Eigen::MatrixXd root = loop.p.llt().matrixU();
        const Eigen::MatrixXd inverse = root.inverse();
        const Eigen::MatrixXd scaled = root * closed * inverse;
        EXPECT_LE(scaled.jacobiSvd().singularValues()(0), decay * (1 + 1e-9));
      }
    }
  }
}

TEST_F(ClosedLoopCharts, APolicyThatDoesNotContractIsAboveTheLine) {
  const RunView view(play(small_closed_loop_experiment("learner")));
  const ClosedLoop& loop = *view.safe_set(0).closed_loops().front();
  EXPECT_LT(decay_of(loop, view.policies.col(0)), loop.decay);
  EXPECT_GT(decay_of(loop, Eigen::VectorXd::Zero(4)), 1.0);
}

TEST_F(ClosedLoopCharts, TheGuaranteedRegionHoldsItsTrajectoriesItsStartsAndLiesInItsLimits) {
  const auto path = play(small_closed_loop_experiment("learner"));
  const RunView view(path);
  const auto charts = charts_named(charts_of_file(path), "guaranteed-region");
  ASSERT_EQ(charts.size(), 3U);
  for (const Chart& chart : charts) {
    const ClosedLoop& loop = *view.safe_set(chart.task).closed_loops().front();
    EXPECT_TRUE((chart.region->ellipsoid * loop.p).isIdentity(1e-3));
    ASSERT_EQ(chart.lines.size(), 6U);
    double farthest = 0;
    for (const ChartTable& table : chart.tables) {
      EXPECT_EQ(table.rounds.front(), 0);
      for (const auto& row : table.values) {
        const Eigen::VectorXd state = Eigen::VectorXd::Map(row.data(), 4);
        EXPECT_TRUE(loop.guarantees(state));
        farthest = std::max(farthest, state.dot(loop.p * state));
      }
    }
    EXPECT_GT(farthest, 0.01);
    // In any two states.
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        if (i == j) continue;
        const auto outline = cross_section(*chart.region, i, j, chart.plane->view);
        double widest = 0;
        for (const Point2& p : outline) {
          EXPECT_LE(std::abs(p[0]), loop.plant.state_limits(static_cast<Eigen::Index>(i)) * 1.0001);
          EXPECT_LE(std::abs(p[1]), loop.plant.state_limits(static_cast<Eigen::Index>(j)) * 1.0001);
          widest = std::max(widest, std::abs(p[0]));
          EXPECT_LT(std::abs(p[0]), chart.plane->view[i][1]);
        }
        const auto x = static_cast<Eigen::Index>(i);
        EXPECT_NEAR(widest, std::sqrt(chart.region->ellipsoid(x, x)), 1e-6);
      }
    }
    const ChartBox& limits = chart.boxes[0];
    EXPECT_EQ(limits.high[2], 0.6);
    EXPECT_EQ(sides_of(limits, 0, 2, chart.plane->view).size(), 4U);
    EXPECT_EQ(sides_of(limits, 1, 2, chart.plane->view).size(), 2U);  // no limit on the speed
    EXPECT_NEAR(chart.boxes[1].high[0], loop.start_high(0), 1e-6);
    EXPECT_THAT(to_svg(chart, Scale::linear), HasSubstr("pole angle (rad)"));
  }
}

TEST_F(ClosedLoopCharts, TheSafeRegionEndsWhereAnInequalityDoesInAnyTwoGains) {
  const auto path = play(small_closed_loop_experiment("learner"));
  const RunView view(path);
  for (const Chart& chart : charts_named(charts_of_file(path), "safe-region")) {
    const SafeSet& set = view.safe_set(chart.task);
    const Eigen::VectorXd policy = view.policies.col(chart.task);
    EXPECT_THAT(chart.note, HasSubstr("curved"));
    ASSERT_EQ(chart.region->curves.size(), set.inequalities().size());
    const auto ratio = [&](const Eigen::VectorXd& gains) {
      double largest = 0;
      for (const GainInequality& one : set.inequalities()) {
        largest = std::max(largest, one.ratio(gains));
      }
      return largest;
    };
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        if (i == j) continue;
        const auto outline = cross_section(*chart.region, i, j, chart.plane->view);
        ASSERT_GE(outline.size(), 6U);
        // Along the ray from the policy to a corner the set ends there, but for what cannot be
        // seen.
        for (const Point2& corner : outline) {
          Eigen::VectorXd inner = policy;
          Eigen::VectorXd outer = policy;
          double seen = 0;
          std::size_t k = 0;
          for (const std::size_t axis : {i, j}) {
            const auto [from, to] = chart.plane->view[axis];
            seen = std::max({seen, std::abs(corner[k] - policy(static_cast<Eigen::Index>(axis))) /
                                       (to - from)});
            ++k;
          }
          if (seen < 0.02) continue;  // the policy lies on the boundary itself
          const Eigen::Vector2d way(corner[0] - policy(static_cast<Eigen::Index>(i)),
                                    corner[1] - policy(static_cast<Eigen::Index>(j)));
          const double room = 0.01 / seen;
          inner(static_cast<Eigen::Index>(i)) += way(0) * (1 - room);
          inner(static_cast<Eigen::Index>(j)) += way(1) * (1 - room);
          outer(static_cast<Eigen::Index>(i)) += way(0) * (1 + room);
          outer(static_cast<Eigen::Index>(j)) += way(1) * (1 + room);
          EXPECT_LE(ratio(inner), 1.0005);
          EXPECT_GT(ratio(outer), 1.0);
        }
      }
    }
  }
}

TEST_F(ClosedLoopCharts, OtherRunsHaveNoneOfThem) {
  const auto charts = charts_of_file(play(small_experiment("learner", 0)));
  EXPECT_THAT(charts_named(charts, "decay"), IsEmpty());
  EXPECT_THAT(charts_named(charts, "guaranteed-region"), IsEmpty());
}

class IncidentCharts : public PlayedRuns {};

TEST_F(IncidentCharts, CountsAreSummedUpAndTheMedianOfRunsIsShown) {
  RunView one(play(small_experiment("learner", 0)));
  RunView two(play(small_experiment("learner", 1)));
  int i = 0;
  for (StoredRound& round : one.rounds) {
    round.falls = ++i % 4;
    round.saturations = 0;
  }
  for (StoredRound& round : two.rounds) {
    round.falls = 2;
    round.saturations = 0;
  }
  two.rounds[4].violations = 3;
  const ChartSource source{{{"learner", {&one, &two}}}, {}, -1};
  const Chart falls = *falls_chart(source);
  ASSERT_EQ(falls.tables[0].rounds.size(), 12U);
  double first = 0;
  double second = 0;
  for (std::size_t r = 0; r < 12; ++r) {
    first += one.rounds[r].falls;
    second += two.rounds[r].falls;
    EXPECT_EQ(falls.tables[0].rounds[r], static_cast<long>(r) + 1);
    EXPECT_THAT(
        falls.tables[0].values[r],
        ElementsAre((first + second) / 2, std::min(first, second), std::max(first, second)));
  }
  EXPECT_EQ(falls.lines[0].legend, "learner (2 seeds)");
  EXPECT_EQ(violations_chart(source)->tables[0].values.back()[0], 1.5);
  EXPECT_FALSE(saturations_chart(source).has_value());
  // Whoever knows the rounds before the first violation has no such chart: it gets all of it.
  ChartSource later = source;
  later.since = 4;
  EXPECT_EQ(violations_chart(later)->tables[0].rounds.front(), 1);
  later.since = 5;
  EXPECT_EQ(violations_chart(later)->tables[0].rounds.front(), 6);
  EXPECT_EQ(violations_chart(later)->tables[0].values.front()[0], 1.5);
  EXPECT_EQ(falls_chart(later)->tables[0].rounds.front(), 6);
  // A file of a version that did not count says nothing.
  one.header.schema_version = 3;
  EXPECT_FALSE(falls_chart(source).has_value());
}

}  // namespace lifeguard::closed_loop_charts_test
