// What a machine records, as a batch for the learner: against rollout(), and whatever is refused.

#include "lifeguard/trajectories/recording.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::recording_test {

using test_support::expect_invalid;

RolloutSettings batch_of(int trajectories, int steps, Features features = {}) {
  RolloutSettings settings;
  settings.trajectories = trajectories;
  settings.steps = steps;
  settings.seed = 7;
  settings.first_index = 3;
  settings.features = features;
  return settings;
}

/// A goal that is no round number, so that x - goal + goal would not be x.
Task with_goal(Task task) {
  task.settings.goal(0) = 0.1234567;
  return task;
}

void expect_round_trip(const Task& task, const GaussianPolicy& policy,
                       const RolloutSettings& settings) {
  const Trajectories batch = rollout(task, policy, settings);
  const Recording recording = recorded(task, policy, settings);
  const Trajectories again = to_trajectories(recording, task, settings.features, settings.steps);
  EXPECT_TRUE(again == batch) << task.name;
}

TEST(Recording, OfEverySystemIsItsRolloutToTheBit) {
  for (const std::string& name : system_names()) {
    if (describe(system_by_name(name)).custom) continue;
    for (const Integrator integrator :
         {Integrator::explicit_euler, Integrator::semi_implicit_euler, Integrator::runge_kutta_4}) {
      Task task = family_by_name(name).draw(5, 2);
      task.settings.integrator = integrator;
      const GaussianPolicy policy(lqr_gains(task), task.settings.sigma);
      expect_round_trip(task, policy, batch_of(21, 30));
      expect_round_trip(with_goal(task), policy, batch_of(21, 30));
    }
  }
}

TEST(Recording, KeepsFeaturesOfSecondOrderAndFailures) {
  Task task = with_goal(make_task("cart", system_by_name("cart-pole")));
  const Features features{true, true};
  GaussianPolicy policy(Eigen::MatrixXd::Constant(1, feature_count(task, features), 3.0), 2.0);
  const RolloutSettings settings = batch_of(20, 80, features);
  const Trajectories batch = rollout(task, policy, settings);
  ASSERT_GT(batch.failed(), 5);
  expect_round_trip(task, policy, settings);
  // All fail at once: no step, but a state.
  task.settings.failure_bounds.setConstant(1e-9);
  const Recording none = recorded(task, policy, settings);
  for (const RecordedTrajectory& t : none.trajectories) {
    EXPECT_EQ(t.steps(), 0);
    EXPECT_TRUE(t.has_final_state());
    EXPECT_EQ(t.end, EndReason::failed);
  }
  expect_round_trip(task, policy, settings);
}

TEST(Recording, OfWhatDivergesHasNumbersOnly) {
  Task task = make_task("mass", system_by_name("mass-spring"));
  task.settings.failure_bounds.setConstant(kInfinity);
  task.settings.action_low.setConstant(-kInfinity);
  task.settings.action_high.setConstant(kInfinity);
  const GaussianPolicy policy(Eigen::RowVector2d(1e8, 1e8), 0.0);
  const RolloutSettings settings = batch_of(9, 50);
  const Trajectories batch = rollout(task, policy, settings);
  EXPECT_EQ(batch.diverged(), 9);
  expect_round_trip(task, policy, settings);
}

/// A rod that is seen through its sine and cosine.
struct Rod {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr int kFeatures = 3;
  std::array<double, 2> start(const CounterRandom& random) const {
    return {random.uniform(0, -1, 1), random.uniform(1, -1, 1)};
  }
  std::array<double, 2> step(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return {x[0] + 0.1 * x[1], x[1] + 0.1 * (u[0] + std::sin(x[0]))};
  }
  double cost(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return x[0] * x[0] + 0.1 * u[0] * u[0];
  }
  std::array<double, 3> features(const std::array<double, 2>& x) const {
    return {std::sin(x[0]), std::cos(x[0]), x[1]};
  }
};

TEST(Recording, ComputesAUsersOwnFeaturesAndCosts) {
  Task task = make_task("rod", make_custom_system(Rod{}));
  task.settings.failure_bounds(0) = 0.8;
  const GaussianPolicy policy(Eigen::RowVector3d(-1, 0.2, -0.5), 0.3);
  const RolloutSettings settings = batch_of(12, 25);
  ASSERT_GT(rollout(task, policy, settings).failed(), 0);
  expect_round_trip(task, policy, settings);
  Recording recording = recorded(task, policy, settings);
  for (RecordedTrajectory& t : recording.trajectories) t.costs.reset();
  EXPECT_TRUE(to_trajectories(recording, task, {}, 25) == rollout(task, policy, settings));
}

TEST(Recording, ComputesCostsOfTheLimitedAction) {
  Task task = with_goal(make_task("mass", system_by_name("mass-spring")));
  task.settings.action_low(0) = -0.5;
  task.settings.action_high(0) = 0.25;
  const GaussianPolicy policy(lqr_gains(task), 1.0);
  const RolloutSettings settings = batch_of(8, 20);
  const Trajectories batch = rollout(task, policy, settings);
  Recording recording = recorded(task, policy, settings);
  for (RecordedTrajectory& t : recording.trajectories) t.costs.reset();
  const Trajectories again = to_trajectories(recording, task, {}, 20);
  for (int i = 0; i < 8; ++i) {
    for (int m = 0; m < 20; ++m) {
      EXPECT_EQ(again.action(i, m, 0), batch.action(i, m, 0));
      EXPECT_NEAR(again.cost(i, m), batch.cost(i, m), 1e-14 * std::fabs(batch.cost(i, m)));
    }
  }
}

/// Two trajectories of the mass on a spring: three steps, then two and the state after them.
Recording two_trajectories() {
  Recording recording;
  recording.machine = "mass";
  recording.dt_seconds = 0.05;
  recording.states = describe(system_by_name("mass-spring")).states;
  recording.actions = describe(system_by_name("mass-spring")).actions;
  RecordedTrajectory t;
  t.states.resize(2, 3);
  t.states << 1, 2, 3, 4, 5, 6;
  t.actions.resize(1, 3);
  t.actions << 0.1, 0.2, 0.3;
  t.costs = Eigen::Vector3d(7, 8, 9);
  t.end = EndReason::finished;
  recording.trajectories.push_back(t);
  t.actions.conservativeResize(1, 2);
  t.costs = Eigen::Vector2d(10, 11);
  t.end = EndReason::cut_short;
  recording.trajectories.push_back(t);
  return recording;
}

Task mass() { return make_task("mass", system_by_name("mass-spring")); }

TEST(Recording, CutsShortWithTheFinalStateOrWithoutIt) {
  Recording recording = two_trajectories();
  Trajectories batch = to_trajectories(recording, mass(), {}, 3);
  EXPECT_EQ(batch.end(0), EndReason::finished);
  EXPECT_EQ(batch.end(1), EndReason::cut_short);
  EXPECT_EQ(batch.length(1), 2);
  EXPECT_EQ(batch.final_feature(1, 0), 3);
  EXPECT_EQ(batch.final_feature(1, 1), 6);
  EXPECT_EQ(batch.cost(1, 1), 11);
  recording.trajectories[1].states.conservativeResize(2, 2);
  batch = to_trajectories(recording, mass(), {}, 3);
  EXPECT_EQ(batch.length(1), 1);
  EXPECT_EQ(batch.final_feature(1, 0), 2);
  recording.trajectories[1].end = EndReason::failed;
  batch = to_trajectories(recording, mass(), {}, 3);
  EXPECT_EQ(batch.length(1), 2);
  EXPECT_EQ(batch.end(1), EndReason::failed);
  EXPECT_EQ(batch.cost(1, 2), mass().settings.failure_cost);
  // All steps of the task: there was nothing to cut.
  recording.trajectories[0].end = EndReason::cut_short;
  EXPECT_EQ(to_trajectories(recording, mass(), {}, 3).end(0), EndReason::finished);
}

TEST(Recording, FindsSignalsByTheirNames) {
  Recording recording = two_trajectories();
  const Trajectories batch = to_trajectories(recording, mass(), {}, 3);
  std::swap(recording.states[0], recording.states[1]);
  for (RecordedTrajectory& t : recording.trajectories) t.states.row(0).swap(t.states.row(1));
  EXPECT_TRUE(to_trajectories(recording, mass(), {}, 3) == batch);
}

TEST(Recording, RefusesWhatDoesNotFitTheTask) {
  const Recording good = two_trajectories();
  const auto refused = [&](const auto& change, const std::string& field, const std::string& value,
                           const std::string& rule, int steps = 3) {
    Recording recording = good;
    change(recording);
    expect_invalid([&] { to_trajectories(recording, mass(), {}, steps); }, field, value, rule);
  };
  const auto nothing = [](Recording&) {};
  refused(nothing, "steps (trajectory 0)", "3", "must be at most 2, the steps of the task", 2);
  refused(nothing, "steps (trajectory 0)", "3", "must be 4, the steps of the task, of what has", 4);
  refused(
      [](Recording& r) {
        r.trajectories[1].name = "flight 7";
        r.trajectories[0].end = EndReason::failed;
        r.trajectories[1].end = EndReason::finished;
      },
      "steps (trajectory 1 \"flight 7\")", "2", "must be 3");
  refused([](Recording& r) { r.trajectories.clear(); }, "trajectories", "none", "at least 1");
  refused([](Recording& r) { r.dt_seconds = 0.02; }, "dt_seconds", "0.02",
          "must be 0.05, that of the task");
  refused([](Recording& r) { r.states[1].name = "height"; }, "states[1].name", "height",
          "must be a state of the system: position [m], ");
  refused([](Recording& r) { r.states[0].unit = "cm"; }, "state \"position\"", "[cm]",
          "must be in [m]");
  refused([](Recording& r) { r.states[0].unit = ""; }, "state \"position\"", "[]",
          "must be in [m]");
  refused(
      [](Recording& r) {
        r.states.pop_back();
        for (RecordedTrajectory& t : r.trajectories)
          t.states.conservativeResize(1, Eigen::NoChange);
      },
      "states", "1 of 2", "a state of the system");
  refused([](Recording& r) { r.trajectories[1].states(1, 2) = kNaN; },
          "state \"speed [m/s]\" (trajectory 1, step 2, column 1)", "nan", "must be finite");
  refused([](Recording& r) { r.trajectories[0].actions(0, 1) = kInfinity; },
          "action \"force [N]\" (trajectory 0, step 1, column 0)", "inf", "must be finite");
  refused([](Recording& r) { (*r.trajectories[0].costs)(2) = kNaN; }, "cost (trajectory 0, step 2)",
          "nan", "must be finite");
  // A cost that is computed and too large for a double.
  refused(
      [](Recording& r) {
        r.trajectories[0].costs.reset();
        r.trajectories[0].states(0, 1) = 1e200;
      },
      "cost (trajectory 0, step 1, column 0)", "inf", "must be finite");
  Recording near = good;
  near.dt_seconds = 0.05 * (1 + 5e-10);
  EXPECT_NO_THROW(to_trajectories(near, mass(), {}, 3));
  near.dt_seconds = kNaN;
  EXPECT_NO_THROW(to_trajectories(near, mass(), {}, 3));
}

TEST(Recording, RefusesWhatIsNoRecording) {
  const Recording good = two_trajectories();
  EXPECT_NO_THROW(good.validate());
  const auto refused = [&](const auto& change, const std::string& field, const std::string& value,
                           const std::string& rule) {
    Recording recording = good;
    change(recording);
    expect_invalid([&] { recording.validate(); }, field, value, rule);
  };
  refused([](Recording& r) { r.dt_seconds = -1; }, "dt_seconds", "-1", "greater than 0");
  refused([](Recording& r) { r.machine = "a\nb"; }, "machine", "\"a?b\"", "UTF-8");
  refused([](Recording& r) { r.policy = " x"; }, "policy", "\" x\"", "spaces at its ends");
  refused([](Recording& r) { r.machine = "\xff"; }, "machine", "\"?\"", "UTF-8");
  refused([](Recording& r) { r.machine = std::string("\xc3"); }, "machine", "\"?\"", "UTF-8");
  refused([](Recording& r) { r.machine = "\xed\xa0\x80"; }, "machine", "\"???\"", "UTF-8");
  refused([](Recording& r) { r.actions.clear(); }, "actions", "none", "at least 1");
  refused([](Recording& r) { r.states[0].name = ""; }, "states[0].name", "\"\"", "empty");
  refused([](Recording& r) { r.states[1].name = r.states[0].name; }, "states[1].name", "position",
          "twice");
  refused([](Recording& r) { r.states[0].unit = "[m]"; }, "states[0].unit", "[m]", "brackets");
  refused([](Recording& r) { r.states.resize(1001); }, "states and actions", "1002",
          "at most 1000");
  refused([](Recording& r) { r.trajectories[0].states.resize(3, 3); }, "states (trajectory 0)", "3",
          "must be 2");
  refused([](Recording& r) { r.trajectories[0].states.resize(2, 0); }, "states (trajectory 0)",
          "none", "first state");
  refused([](Recording& r) { r.trajectories[0].actions.conservativeResize(1, 1); },
          "states (trajectory 0)", "3 for 1 actions", "one more");
  refused([](Recording& r) { r.trajectories[0].costs->conservativeResize(2); },
          "costs (trajectory 0)", "2 for 3 actions", "as many");
  refused([](Recording& r) { r.trajectories[0].name = "1"; }, "trajectories[1].name", "1",
          "another trajectory's name");
  // Letters of all lengths are fine.
  Recording letters = good;
  letters.machine = "µ – 🚁";
  EXPECT_NO_THROW(letters.validate());
}

}  // namespace lifeguard::recording_test
