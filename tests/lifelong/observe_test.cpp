// Trajectories from outside, as a learner takes them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/independent.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::observe_test {

using test_support::LinearSystem;
using ::testing::HasSubstr;

struct Robot {
  LinearSystem system = LinearSystem::example();
  Learner learner{3, 2};

  Robot() {
    system.steps = 30;
    learner.add_task("arm", parameters_from_gains(LinearSystem::example_gains()), system.sigma);
    learner.add_task("leg", parameters_from_gains(LinearSystem::example_gains()), system.sigma);
  }
  Trajectories play(std::uint64_t seed) const {
    return system.simulate(learner.policy("arm"), 40, seed);
  }
  std::string state() const {
    std::ostringstream out;
    learner.save(out);
    return out.str();
  }
};

TEST(Observe, RefusesWhatIsNotOfThePolicyAndStaysAsItWas) {
  Robot robot;
  ASSERT_EQ(robot.learner.observe("arm", robot.play(1)).status, RoundStatus::ok);
  const std::string before = robot.state();
  const Eigen::VectorXd target = robot.learner.last_loss().target;
  const auto refuses = [&](const Trajectories& t, const std::string& field) {
    try {
      robot.learner.observe("arm", t);
      ADD_FAILURE() << "accepted: " << field;
    } catch (const InvalidInput& error) {
      EXPECT_THAT(error.field(), HasSubstr(field)) << error.what();
    }
    EXPECT_TRUE(robot.state() == before) << field;
    EXPECT_EQ(robot.learner.last_loss().target, target);
  };
  const Trajectories good = robot.play(2);
  Trajectories t = good;
  t.action(5, 6, 1) += 20 * robot.system.sigma;
  refuses(t, "action (trajectory 5, step 6, column 1)");
  t = good;
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) t.action(i, m, 0) *= 2;
  }
  refuses(t, "actions");
  // The policy of the round before.
  refuses(robot.system.simulate(robot.system.policy(LinearSystem::example_gains()), 40, 3),
          "actions");
  t = good;
  t.set_length(7, 12);
  refuses(t, "feature (trajectory 7, step 12");
  t = good;
  t.set_length(7, 31);
  refuses(t, "length[7]");
  t = good;
  t.feature(0, 29, 1) = kNaN;
  refuses(t, "feature (trajectory 0, step 29, column 1)");
  t = good;
  t.action(39, 0, 0) = kInfinity;
  refuses(t, "action (trajectory 39, step 0, column 0)");
  t = good;
  t.cost(11, 3) = -kInfinity;
  refuses(t, "cost (trajectory 11, step 3");
  t = good;
  t.cut(2, 9, std::vector<double>{0, kNaN, 0});
  refuses(t, "final feature (trajectory 2, column 1)");
  for (int i = 0; i < t.count(); ++i) t.cut(i, 0);
  refuses(t, "length");
  refuses(Trajectories(40, 30, 4, 2), "features");
  refuses(Trajectories(40, 30, 3, 3), "actions");
  refuses(Trajectories(), "trajectories");
  EXPECT_EQ(robot.learner.observe("arm", good).status, RoundStatus::ok);
}

TEST(Observe, RefusesActionsWithoutNoiseWithAStatus) {
  Robot robot;
  ASSERT_EQ(robot.learner.observe("arm", robot.play(1)).status, RoundStatus::ok);
  const std::string before = robot.state();
  const Trajectories t = robot.system.simulate(robot.learner.policy("arm").without_noise(), 40, 2);
  const RoundRecord record = robot.learner.observe("arm", t);
  EXPECT_EQ(record.status, RoundStatus::no_noise);
  EXPECT_EQ(record.task, "arm");
  EXPECT_EQ(record.round, 1);
  EXPECT_EQ(record.visit, 1);
  EXPECT_NEAR(record.mean_cost, t.mean_cost(), 1e-9);
  EXPECT_EQ(record.trajectories.status, TrajectoryStatus::no_noise);
  EXPECT_LT(record.trajectories.noise_mean_square, 1e-20);
  EXPECT_TRUE(robot.state() == before);
  EXPECT_EQ(robot.learner.observe("arm", robot.play(2)).round, 2);
}

// Two tasks' data gathered at once: the first round moves the policy of the second task too.
TEST(Observe, NoticesThatThePolicyHasMovedOn) {
  Robot robot;
  const Trajectories leg = robot.system.simulate(robot.learner.policy("leg"), 40, 5);
  ASSERT_EQ(robot.learner.observe("leg", leg).status, RoundStatus::ok);
  EXPECT_THROW(robot.learner.observe("leg", leg), InvalidInput);
}

TEST(Observe, LearnsFromTrajectoriesThatWereCutShort) {
  Robot robot;
  const double start = robot.system.expected_cost(LinearSystem::example_gains());
  for (int round = 0; round < 25; ++round) {
    Trajectories t = robot.play(100 + static_cast<std::uint64_t>(round));
    for (int i = 0; i < t.count(); ++i) {
      if (i % 3 != 0) test_support::cut(t, i, 1 + (7 * i + 11 * round) % 28);
    }
    const RoundRecord record = robot.learner.observe("arm", t);
    ASSERT_EQ(record.status, RoundStatus::ok);
    EXPECT_EQ(record.trajectories.cut_short, t.cut_short());
    EXPECT_EQ(record.trajectories.failed, 0);
    EXPECT_NEAR(record.mean_cost, t.mean_cost(), 1e-9 * t.mean_cost());
  }
  const double best = robot.system.expected_cost(robot.system.optimal_gains());
  const double reached = robot.system.expected_cost(robot.learner.policy("arm").gains());
  EXPECT_LT(reached, best + 0.1 * (start - best));
}

TEST(Observe, SaysWhyARoundHadNoSignal) {
  Robot robot;
  Trajectories t = robot.play(1);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) t.cost(i, m) = 2;
  }
  RoundRecord record = robot.learner.observe("arm", t);
  EXPECT_EQ(record.status, RoundStatus::no_signal);
  EXPECT_EQ(record.trajectories.status, TrajectoryStatus::constant_costs);
  for (int i = 0; i < t.count(); ++i) t.fail(i, 0, 2.0);
  record = robot.learner.observe("arm", t);
  EXPECT_EQ(record.status, RoundStatus::no_signal);
  EXPECT_EQ(record.trajectories.status, TrajectoryStatus::no_live_step);
}

TEST(Observe, DemonstrationsMayComeFromAnyone) {
  IndependentSettings settings;
  settings.round.base_learner.method = BaseLearnerMethod::fit_demonstrations;
  IndependentLearner learner(3, 2, settings);
  const LinearSystem system = LinearSystem::example();
  learner.add_task("arm", parameters_from_gains(LinearSystem::example_gains()), system.sigma);
  const Eigen::MatrixXd shown = system.optimal_gains();
  const GaussianPolicy teacher = system.policy(shown).without_noise();
  EXPECT_EQ(learner.observe("arm", system.simulate(teacher, 40, 5)).status, RoundStatus::ok);
  EXPECT_LT((learner.policy("arm").gains() - shown).norm(), 1e-6);
}

}  // namespace lifeguard::observe_test
