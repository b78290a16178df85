// Why trajectories end, and what a batch costs in which some were cut short.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::ends_test {

using test_support::expect_invalid;

/// Every number different and none zero.
Trajectories numbered(int count, int steps, int features, int actions) {
  Trajectories t(count, steps, features, actions);
  double next = 1;
  for (int i = 0; i < count; ++i) {
    for (int m = 0; m < steps; ++m) {
      for (int f = 0; f < features; ++f) t.feature(i, m, f) = next++;
      for (int a = 0; a < actions; ++a) t.action(i, m, a) = next++;
      t.cost(i, m) = next++;
    }
  }
  return t;
}

TEST(Ends, HaveNames) {
  EXPECT_STREQ(to_string(EndReason::finished), "finished");
  EXPECT_STREQ(to_string(EndReason::failed), "failed");
  EXPECT_STREQ(to_string(EndReason::cut_short), "cut short");
}

TEST(Ends, AreToldApart) {
  Trajectories t = numbered(4, 5, 2, 1);
  const Trajectories whole = t;
  t.fail(1, 3, 7.0);
  const std::vector<double> after = {0.25, 0.5};
  t.cut(2, 3, after);
  EXPECT_EQ(t.end(0), EndReason::finished);
  EXPECT_EQ(t.end(1), EndReason::failed);
  EXPECT_EQ(t.end(2), EndReason::cut_short);
  EXPECT_EQ(t.failed(), 1);
  EXPECT_EQ(t.cut_short(), 1);
  for (const int i : {1, 2}) {
    EXPECT_EQ(t.length(i), 3);
    for (int m = 0; m < 5; ++m) {
      EXPECT_EQ(t.feature(i, m, 1), m < 3 ? whole.feature(i, m, 1) : 0);
      EXPECT_EQ(t.action(i, m, 0), m < 3 ? whole.action(i, m, 0) : 0);
      EXPECT_EQ(t.cost(i, m), m < 3 ? whole.cost(i, m) : (i == 1 ? 7 : 0));
    }
  }
  EXPECT_EQ(t.final_feature(2, 0), 0.25);
  EXPECT_EQ(t.final_feature(2, 1), 0.5);
  EXPECT_NO_THROW(t.validate());
  // A length alone is a failure, also after a cut, and a new shape forgets all of it.
  t.set_length(2, 3);
  EXPECT_EQ(t.end(2), EndReason::failed);
  t.cut(2, 3, after);
  t.reshape(4, 5, 2, 1);
  EXPECT_EQ(t.cut_short() + t.failed(), 0);
}

TEST(Ends, WithoutTheStateAfterItTheLastStepServesAsIt) {
  Trajectories t = numbered(2, 6, 2, 1);
  const Trajectories whole = t;
  t.cut(0, 4);
  EXPECT_EQ(t.length(0), 3);
  EXPECT_EQ(t.end(0), EndReason::cut_short);
  for (int f = 0; f < 2; ++f) EXPECT_EQ(t.final_feature(0, f), whole.feature(0, 3, f));
  EXPECT_EQ(t.cost(0, 2), whole.cost(0, 2));
  EXPECT_EQ(t.cost(0, 3), 0);
  EXPECT_NO_THROW(t.validate());
  t.cut(1, 0);
  EXPECT_EQ(t.length(1), 0);
  EXPECT_EQ(t.end(1), EndReason::cut_short);
  EXPECT_TRUE(std::isnan(t.mean_cost(1)));
}

// A time limit at the task's own number of steps is its end.
TEST(Ends, AllStepsAreFinishedWhateverStoppedThem) {
  const Trajectories whole = numbered(2, 6, 2, 1);
  Trajectories t = whole;
  t.cut(0, 6);
  t.cut(1, 6, std::vector<double>{1, 2});
  EXPECT_EQ(t, whole);
  EXPECT_EQ(t.end(0), EndReason::finished);
  t.fail(1, 6, 3.0);
  EXPECT_EQ(t.end(1), EndReason::finished);
}

TEST(Ends, MistakesThrow) {
  Trajectories t = numbered(2, 6, 2, 1);
  expect_invalid([&] { t.cut(0, 7); }, "length[0]", "7", "[0, 6]");
  expect_invalid([&] { t.cut(0, -1); }, "length[0]", "-1", "[0, 6]");
  expect_invalid([&] { t.cut(2, 3); }, "trajectory", "2", "one of the batch");
  expect_invalid([&] { t.fail(-1, 3, 1.0); }, "trajectory", "-1", "one of the batch");
  expect_invalid([&] { t.cut(0, 3, std::vector<double>{1}); }, "features_after", "1 entries",
                 "must have 2 entries");
}

TEST(Ends, NumbersAfterAnEndAreFound) {
  Trajectories t = numbered(3, 6, 2, 1);
  t.set_length(1, 4);
  expect_invalid([&] { t.validate(); }, "feature (trajectory 1, step 4, column 0)", "41",
                 "must be 0 after the trajectory's 4 steps");
  t.fail(1, 4, 5.0);
  EXPECT_NO_THROW(t.validate());
  t.action(1, 5, 0) = 2;
  expect_invalid([&] { t.validate(); }, "action (trajectory 1, step 5, column 0)", "2",
                 "must be 0");
  t.cut(1, 4);
  t.cost(1, 5) = 0.5;  // not known, so not a number
  expect_invalid([&] { t.validate(); }, "cost (trajectory 1, step 5, column 0)", "0.5",
                 "must be 0 after the trajectory's 3 steps");
  t.cut(1, 3, std::vector<double>{0.0, kInfinity});
  expect_invalid([&] { t.validate(); }, "final feature (trajectory 1, column 1)", "inf", "finite");
}

TEST(Ends, SimulatorsFinishOrFail) {
  int failed = 0;
  for (const Task& task : test_support::built_in_tasks()) {
    for (const GaussianPolicy& policy : test_support::assorted_policies(task, {})) {
      const Trajectories t = rollout(task, policy, {.trajectories = 20, .steps = 80});
      EXPECT_EQ(t.cut_short(), 0);
      for (int i = 0; i < t.count(); ++i) {
        EXPECT_EQ(t.end(i), t.length(i) == 80 ? EndReason::finished : EndReason::failed);
      }
      failed += t.failed();
      EXPECT_NO_THROW(t.validate());
    }
  }
  EXPECT_GT(failed, 20);
}

TEST(CompletedTotals, AreThoseOfTheOthersWhoWentOn) {
  Trajectories t(4, 4, 1, 1);
  const double costs[4][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {10, 0, 0, 0}, {20, 21, 0, 0}};
  for (int i = 0; i < 4; ++i) {
    for (int m = 0; m < 4; ++m) t.cost(i, m) = costs[i][m];
  }
  const std::vector<double> anywhere = {0.0};
  t.cut(2, 1, anywhere);
  t.cut(3, 2, anywhere);
  t.fail(1, 3, 30.0);
  double totals[4], live[4];
  complete_totals(t, totals, live);
  EXPECT_EQ(totals[0], 10);
  EXPECT_EQ(totals[1], 5 + 6 + 7 + 30);
  // From step 2 on trajectories 0 and 1 go on at 7 and 37.
  EXPECT_EQ(totals[3], 20 + 21 + (7 + 37) / 2.0);
  EXPECT_EQ(live[3], 2 + (2 + 1) / 2.0);
  // From step 1 on also the completed trajectory 3.
  EXPECT_EQ(totals[2], 10 + (9 + 43 + 43) / 3.0);
  EXPECT_EQ(t.mean_cost(2), 10);
  EXPECT_EQ(t.mean_cost(3), 20.5);
  EXPECT_NEAR(t.mean_cost(), (totals[0] + totals[1] + totals[2] + totals[3]) / 16, 1e-12);
}

// Live steps weighted are the live steps that there would have been.
TEST(CompletedTotals, GoWithTheWeightsOfSteps) {
  Trajectories t(6, 5, 1, 1);
  const std::vector<double> anywhere = {0.0};
  t.cut(0, 2, anywhere);
  t.cut(1, 2, anywhere);
  t.fail(2, 3, 1.0);
  t.cut(3, 4, anywhere);
  double weights[5], costs[6], live[6];
  observation_weights(t, weights);
  EXPECT_EQ(weights[0], 1);
  EXPECT_EQ(weights[1], 1);
  EXPECT_EQ(weights[2], 6.0 / 4);
  EXPECT_EQ(weights[3], 6.0 / 4);
  EXPECT_EQ(weights[4], 6.0 / 4 * 3 / 2);
  complete_totals(t, costs, live);
  double whole = 0;
  for (const double steps : live) whole += steps;
  EXPECT_NEAR(whole, 6 + 6 + 1.5 * 4 + 1.5 * 3 + 2.25 * 2, 1e-12);
  for (int i = 4; i < 6; ++i) t.cut(i, 4, anywhere);
  observation_weights(t, weights);
  EXPECT_EQ(weights[3], 1.5);
  EXPECT_EQ(weights[4], 0);
}

TEST(CompletedTotals, WithNobodyToGoByATrajectoryGoesOnAsItDid) {
  Trajectories t(3, 10, 1, 1);
  for (int i = 0; i < 3; ++i) {
    for (int m = 0; m < 10; ++m) t.cost(i, m) = i + 1;
    t.cut(i, 4, std::vector<double>{0.0});
  }
  EXPECT_NEAR(t.mean_cost(), 2, 1e-12);
  t.cut(0, 0);  // says nothing: as the others
  EXPECT_NEAR(t.mean_cost(), 2.5, 1e-12);
  t.cut(1, 0);
  t.fail(2, 0, 8.0);
  EXPECT_NEAR(t.mean_cost(), 8, 1e-12);
  t.cut(2, 0);
  EXPECT_TRUE(std::isnan(t.mean_cost()));
}

// Costs that fall over time, failures on the way, cuts at random: the mean must be that of the
// whole trajectories. Means over each trajectory's own steps are far off, and so is taking cuts for
// failures.
TEST(CompletedTotals, KeepTheMeanOfTheBatch) {
  constexpr int kCount = 20000, kSteps = 30;
  Trajectories whole(kCount, kSteps, 1, 1);
  Trajectories cut = whole;
  double own = 0;
  for (int i = 0; i < kCount; ++i) {
    const CounterRandom random(5, RandomStream::user, static_cast<std::uint64_t>(i));
    int failure = kSteps;
    for (int m = 0; m < kSteps; ++m) {
      const auto at = static_cast<std::uint32_t>(2 * m);
      whole.cost(i, m) = std::exp(-0.2 * m) * std::pow(random.normal(at), 2);
      if (failure == kSteps && random.uniform(at + 1, 0, 1) < 0.01) failure = m + 1;
    }
    if (failure < kSteps) whole.fail(i, failure, 0.5);
    const CounterRandom when(6, RandomStream::user, static_cast<std::uint64_t>(i));
    const int length = static_cast<int>(when.uniform(0, 1, 1.5 * kSteps));
    for (int m = 0; m < kSteps; ++m) cut.cost(i, m) = whole.cost(i, m);
    cut.set_length(i, whole.length(i));
    if (length < whole.length(i)) cut.cut(i, length, std::vector<double>{0.0});
    own += cut.mean_cost(i) / kCount;
  }
  EXPECT_GT(cut.cut_short(), kCount / 3);
  EXPECT_GT(cut.failed(), kCount / 20);
  EXPECT_NEAR(cut.mean_cost(), whole.mean_cost(), 0.01 * whole.mean_cost());
  EXPECT_GT(own, 1.15 * whole.mean_cost());
}

}  // namespace lifeguard::ends_test
