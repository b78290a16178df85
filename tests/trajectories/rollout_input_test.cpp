#include <gtest/gtest.h>

#include <limits>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::rollout_input_test {

using test_support::expect_invalid;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class RolloutInput : public ::testing::Test {
 protected:
  Task task_ = make_task("cart-pole", CartPole{});
  GaussianPolicy policy_{lqr_gains(task_), 1.0};

  /// Both ways to simulate must refuse.
  void expect_refused(const RolloutSettings& settings, const std::string& field,
                      const std::string& value, const std::string& rule) {
    expect_invalid([&] { rollout(task_, policy_, settings); }, field, value, rule);
    expect_invalid([&] { evaluate(task_, policy_, settings); }, field, value, rule);
    Trajectories out;
    const RolloutRequest request{&task_, &policy_, settings, &out};
    expect_invalid([&] { rollout_all({&request, 1}); }, field, value, rule);
  }
};

TEST_F(RolloutInput, EmptyBatch) {
  expect_refused({.trajectories = 0}, "trajectories", "0", "at least 1");
  expect_refused({.trajectories = -3}, "trajectories", "-3", "at least 1");
}

TEST_F(RolloutInput, NoSteps) { expect_refused({.steps = 0}, "steps", "0", "at least 1"); }

TEST_F(RolloutInput, NegativeThreads) {
  expect_refused({.threads = -1}, "threads", "-1", "at least 0");
  expect_invalid([] { rollout_all({}, -2); }, "threads", "-2", "at least 0");
}

TEST_F(RolloutInput, GainsOfTheWrongSize) {
  policy_ = GaussianPolicy(Eigen::MatrixXd::Zero(1, 5), 1);
  expect_refused({}, "gains", "1 x 5", "must be 1 x 4");
  EXPECT_NO_THROW(rollout(task_, policy_, {.features = {.bias = true}}));
  policy_ = GaussianPolicy(Eigen::MatrixXd::Zero(2, 4), 1);
  expect_refused({}, "gains", "2 x 4", "must be 1 x 4");
}

TEST_F(RolloutInput, ATaskThatWasSpoiledAfterItsConstruction) {
  set_parameter(task_.system, "pole_mass_kilograms", kNan);
  expect_refused({}, "pole_mass_kilograms", "nan", "must be finite");
  task_ = make_task("cart-pole", CartPole{});
  task_.settings.goal(2) = kNan;
  expect_refused({}, "goal[2]", "nan", "[-1e6, 1e6]");
}

TEST_F(RolloutInput, ARequestWithoutItsParts) {
  Trajectories out;
  const RolloutRequest good{&task_, &policy_, {}, &out};
  for (int missing = 0; missing < 3; ++missing) {
    std::vector<RolloutRequest> requests = {good, good};
    if (missing == 0) requests[1].task = nullptr;
    if (missing == 1) requests[1].policy = nullptr;
    if (missing == 2) requests[1].out = nullptr;
    expect_invalid([&] { rollout_all(requests); }, "requests[1]", "null", "task, policy and out");
  }
}

TEST_F(RolloutInput, NoRequestsAreNothingToDo) { EXPECT_NO_THROW(rollout_all({})); }

TEST(TrajectoriesInput, ShapesMustBePositive) {
  expect_invalid([] { Trajectories(0, 1, 1, 1); }, "trajectories", "0", "at least 1");
  expect_invalid([] { Trajectories(1, 0, 1, 1); }, "steps", "0", "at least 1");
  expect_invalid([] { Trajectories(1, 1, 0, 1); }, "features", "0", "at least 1");
  expect_invalid([] { Trajectories(1, 1, 1, -1); }, "actions", "-1", "at least 1");
}

TEST(TrajectoriesInput, ValidateFindsEveryBadNumber) {
  Trajectories batch(3, 4, 2, 1);
  EXPECT_NO_THROW(batch.validate());
  batch.feature(1, 2, 1) = kNan;
  expect_invalid([&] { batch.validate(); }, "feature (trajectory 1, step 2, column 1)", "nan",
                 "finite");
  batch = Trajectories(3, 4, 2, 1);
  batch.action(2, 3, 0) = -std::numeric_limits<double>::infinity();
  expect_invalid([&] { batch.validate(); }, "action (trajectory 2, step 3, column 0)", "-inf",
                 "finite");
  batch = Trajectories(3, 4, 2, 1);
  batch.cost(0, 0) = kNan;
  expect_invalid([&] { batch.validate(); }, "cost (trajectory 0, step 0, column 0)", "nan",
                 "finite");
  batch = Trajectories(3, 4, 2, 1);
  batch.set_length(1, 5);
  expect_invalid([&] { batch.validate(); }, "length[1]", "5", "[0, 4]");
}

TEST(TrajectoriesValues, MeanCostsAndCounts) {
  Trajectories batch(2, 2, 1, 1);
  batch.cost(0, 0) = 1;
  batch.cost(0, 1) = 3;
  batch.cost(1, 0) = 5;
  batch.cost(1, 1) = 11;
  EXPECT_EQ(batch.mean_cost(0), 2);
  EXPECT_EQ(batch.mean_cost(1), 8);
  EXPECT_EQ(batch.mean_cost(), 5);
  EXPECT_EQ(batch.failed(), 0);
  batch.set_length(1, 1);
  EXPECT_EQ(batch.failed(), 1);
}

}  // namespace lifeguard::rollout_input_test
