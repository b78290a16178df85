#include "lifeguard/systems/task.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numbers>
#include <vector>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::task_test {

using test_support::expect_invalid;

constexpr double kNan = kNaN;
TEST(Task, CostWeighsTheErrorAndTheLimitedAction) {
  Task task = make_task("mass", MassSpring{});
  task.settings.goal << 1, 0.5;
  task.settings.state_weights << 2, 3;
  task.settings.action_weights << 0.1;
  // Error (2, -1): 2·4 + 3·1; the action 50 is limited to 20: 0.1·400.
  EXPECT_DOUBLE_EQ(task.cost(Eigen::Vector2d(3, -0.5), Eigen::VectorXd::Constant(1, 50)), 51);
}

TEST(Task, StepLimitsTheAction) {
  for (const Task& task : test_support::built_in_tasks()) {
    const Eigen::VectorXd x = test_support::random_vector(task.states(), 0.3, 1);
    EXPECT_EQ(task.step(x, 1e3 * Eigen::VectorXd::Ones(task.actions())),
              task.step(x, task.settings.action_high));
    EXPECT_EQ(task.step(x, -1e3 * Eigen::VectorXd::Ones(task.actions())),
              task.step(x, task.settings.action_low));
  }
}

TEST(Task, FailsBeyondItsBoundsAndWhereNothingMeansAnything) {
  const Task cart = make_task("cart-pole", CartPole{});
  EXPECT_FALSE(cart.failed(Eigen::Vector4d(3, 100, -0.6, 100)));
  EXPECT_TRUE(cart.failed(Eigen::Vector4d(3.01, 0, 0, 0)));
  EXPECT_TRUE(cart.failed(Eigen::Vector4d(0, 0, -0.61, 0)));
  const Task mass = make_task("mass", MassSpring{});
  EXPECT_FALSE(mass.failed(Eigen::Vector2d(1e6, -1e6)));
  EXPECT_TRUE(mass.failed(Eigen::Vector2d(0, 1.1e6)));
  EXPECT_TRUE(mass.failed(Eigen::Vector2d(kNan, 0)));
  EXPECT_TRUE(mass.failed(Eigen::Vector2d(0, -kInfinity)));
}

TEST(Task, DefaultSettings) {
  const TaskSettings mass = default_settings(MassSpring{});
  EXPECT_EQ(mass.dt_seconds, 0.05);
  EXPECT_EQ(mass.start_high, Eigen::Vector2d(2, 2));
  EXPECT_EQ(mass.action_high(0), 20);
  EXPECT_EQ(mass.state_weights, Eigen::Vector2d(1, 0.1));
  EXPECT_EQ(mass.action_weights(0), 0.001);
  EXPECT_EQ(mass.sigma, 0.5);
  const TaskSettings cart = default_settings(CartPole{});
  EXPECT_EQ(cart.dt_seconds, 0.02);
  EXPECT_EQ(cart.start_high, Eigen::Vector4d(0.2, 0.2, 0.14, 0.2));
  EXPECT_EQ(cart.action_high(0), 20);
  EXPECT_EQ(cart.state_weights, Eigen::Vector4d(0.1, 0, 4, 0));
  EXPECT_EQ(cart.action_weights(0), 0.001);
  EXPECT_EQ(cart.failure_bounds(0), 3);
  EXPECT_EQ(cart.failure_bounds(2), 0.6);
  EXPECT_EQ(cart.failure_cost, 5);
  EXPECT_EQ(cart.sigma, 1);
  const TaskSettings quad = default_settings(Quadrotor{});
  EXPECT_EQ(quad.dt_seconds, 0.01);
  EXPECT_EQ(quad.start_high.head(3), Eigen::Vector3d::Constant(0.4));
  EXPECT_EQ(quad.start_high.tail(3), Eigen::Vector3d::Constant(0.2));
  EXPECT_EQ(quad.action_high, Eigen::Vector4d::Ones());
  EXPECT_EQ(quad.state_weights.head(3), Eigen::Vector3d::Ones());
  EXPECT_EQ(quad.state_weights.tail(3), Eigen::Vector3d::Constant(0.01));
  EXPECT_EQ(quad.action_weights, Eigen::Vector4d::Constant(0.01));
  EXPECT_EQ(quad.failure_bounds(0), std::numbers::pi / 2);
  EXPECT_EQ(quad.sigma, 0.1);
  for (const TaskSettings& s : {mass, cart, quad}) {
    EXPECT_EQ(s.start_low, -s.start_high);
    EXPECT_EQ(s.action_low, -s.action_high);
    EXPECT_TRUE(s.goal.isZero(0));
    EXPECT_EQ(s.integrator, Integrator::semi_implicit_euler);
  }
}

TEST(TaskInput, SystemParametersMustBePhysical) {
  expect_invalid([] { make_task("m", MassSpring{.mass_kilograms = -1}); }, "mass_kilograms", "-1",
                 "greater than 0");
  expect_invalid([] { make_task("m", MassSpring{.spring_newtons_per_metre = kNan}); },
                 "spring_newtons_per_metre", "nan", "finite");
  expect_invalid([] { make_task("c", CartPole{.pole_length_metres = 0}); }, "pole_length_metres",
                 "0", "greater than 0");
  expect_invalid([] { make_task("q", Quadrotor{.arm_metres = kInfinity}); }, "arm_metres", "inf",
                 "finite");
}

TEST(TaskInput, EveryParameterOfEverySystemRefusesNanInfinityAndMinusOne) {
  for (const Task& good : test_support::built_in_tasks()) {
    for (const std::string& name : parameter_names(good.system)) {
      for (const double bad : {kNan, kInfinity, -1.0}) {
        Task task = good;
        set_parameter(task.system, name, bad);
        const std::string value = std::isnan(bad) ? "nan" : bad > 0 ? "inf" : "-1";
        expect_invalid([&] { task.validate(); }, name, value, "must be finite and");
      }
    }
  }
}

struct BadSetting {
  std::function<void(TaskSettings&)> spoil;
  std::string field;
  std::string value;
  std::string rule;
};

TEST(TaskInput, EverySettingIsChecked) {
  const std::vector<BadSetting> table = {
      {[](auto& s) { s.dt_seconds = 0; }, "dt_seconds", "0", "greater than 0"},
      {[](auto& s) { s.dt_seconds = kNan; }, "dt_seconds", "nan", "finite"},
      {[](auto& s) { s.start_low(1) = kNan; }, "start_low[1]", "nan", "finite"},
      {[](auto& s) { s.start_high(0) = kInfinity; }, "start_high[0]", "inf", "finite"},
      {[](auto& s) { s.start_low(2) = 0.5; }, "start_low[2]", "0.5", "exceed start_high[2] = 0.14"},
      {[](auto& s) { s.goal(3) = kNan; }, "goal[3]", "nan", "[-1e6, 1e6]"},
      {[](auto& s) { s.goal(0) = 2e6; }, "goal[0]", "2000000", "[-1e6, 1e6]"},
      {[](auto& s) { s.goal.resize(2); }, "goal", "2 entries", "4 entries"},
      {[](auto& s) { s.state_weights(0) = -1; }, "state_weights[0]", "-1", "[0, 1e100]"},
      {[](auto& s) { s.state_weights(0) = 1e101; }, "state_weights[0]", "1e+101", "[0, 1e100]"},
      {[](auto& s) { s.action_weights(0) = kNan; }, "action_weights[0]", "nan", "[0, 1e100]"},
      {[](auto& s) { s.action_low(0) = 21; }, "action_low[0]", "21", "exceed action_high[0] = 20"},
      {[](auto& s) { s.action_low(0) = kNan; }, "action_low[0]", "nan", "exceed"},
      {[](auto& s) { s.action_high.resize(2); }, "action_high", "2 entries", "1 entries"},
      {[](auto& s) { s.failure_bounds(2) = 0; }, "failure_bounds[2]", "0", "greater than 0"},
      {[](auto& s) { s.failure_bounds(2) = kNan; }, "failure_bounds[2]", "nan", "greater than 0"},
      {[](auto& s) { s.failure_cost = -1; }, "failure_cost", "-1", "[0, 1e100]"},
      {[](auto& s) { s.failure_cost = kInfinity; }, "failure_cost", "inf", "[0, 1e100]"},
      {[](auto& s) { s.sigma = -0.1; }, "sigma", "-0.1", "at least 0"}};
  for (const BadSetting& row : table) {
    Task task = make_task("cart-pole", CartPole{});
    row.spoil(task.settings);
    expect_invalid([&] { task.validate(); }, row.field, row.value, row.rule);
  }
}

TEST(TaskInput, StatesAndActionsOfTheWrongSize) {
  const Task task = make_task("cart-pole", CartPole{});
  const Eigen::VectorXd three = Eigen::VectorXd::Zero(3), four = Eigen::VectorXd::Zero(4),
                        one = Eigen::VectorXd::Zero(1);
  expect_invalid([&] { task.step(three, one); }, "state", "3 entries", "4 entries");
  expect_invalid([&] { task.step(four, three); }, "action", "3 entries", "1 entries");
  expect_invalid([&] { task.cost(three, one); }, "state", "3 entries", "4 entries");
  expect_invalid([&] { task.derivative(four, four); }, "action", "4 entries", "1 entries");
  expect_invalid([&] { task.failed(three); }, "state", "3 entries", "4 entries");
}

TEST(TaskInput, ANullSystemIsRefused) {
  Task task = make_task("mass", MassSpring{});
  task.system = std::shared_ptr<const CustomSystem>();
  expect_invalid([&] { task.validate(); }, "system", "null", "must be a system");
}

TEST(Task, EqualityNoticesEveryPart) {
  const Task task = make_task("cart-pole", CartPole{});
  EXPECT_EQ(task, make_task("cart-pole", CartPole{}));
  EXPECT_NE(task, make_task("other", CartPole{}));
  EXPECT_NE(task, make_task("cart-pole", CartPole{.pole_length_metres = 0.51}));
  const std::vector<std::function<void(TaskSettings&)>> changes = {[](auto& s) { s.dt_seconds *= 2; },
                                                                   [](auto& s) { s.integrator = Integrator::runge_kutta_4; },
                                                                   [](auto& s) { s.start_low(0) -= 1; },
                                                                   [](auto& s) { s.start_high(0) += 1; },
                                                                   [](auto& s) { s.goal(0) = 1; },
                                                                   [](auto& s) { s.state_weights(0) = 1; },
                                                                   [](auto& s) { s.action_weights(0) = 1; },
                                                                   [](auto& s) { s.action_low(0) = -1; },
                                                                   [](auto& s) { s.action_high(0) = 1; },
                                                                   [](auto& s) { s.failure_bounds(0) = 1; },
                                                                   [](auto& s) { s.failure_cost = 1; },
                                                                   [](auto& s) { s.sigma = 2; }};
  for (const auto& change : changes) {
    Task other = task;
    change(other.settings);
    EXPECT_NE(task, other);
  }
}

}  // namespace lifeguard::task_test
