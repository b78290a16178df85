#include <gtest/gtest.h>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::linearise_test {

/// Central differences of step() around the goal and the action that holds it.
LinearModel finite_differences(const Task& task) {
  constexpr double kStep = 1e-5;
  const Eigen::VectorXd& goal = task.settings.goal;
  const Eigen::VectorXd rest = task.equilibrium_action();
  LinearModel model{Eigen::MatrixXd(task.states(), task.states()),
                    Eigen::MatrixXd(task.states(), task.actions())};
  for (int i = 0; i < task.states(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(task.states(), i);
    model.a.col(i) = (task.step(goal + h, rest) - task.step(goal - h, rest)) / (2 * kStep);
  }
  for (int i = 0; i < task.actions(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(task.actions(), i);
    model.b.col(i) = (task.step(goal, rest + h) - task.step(goal, rest - h)) / (2 * kStep);
  }
  return model;
}

void expect_linearised(const Task& task) {
  const LinearModel exact = task.linearise();
  const LinearModel numeric = finite_differences(task);
  EXPECT_LT((exact.a - numeric.a).cwiseAbs().maxCoeff(), 1e-8) << task.name;
  EXPECT_LT((exact.b - numeric.b).cwiseAbs().maxCoeff(), 1e-8) << task.name;
}

TEST(Linearise, AgreesWithFiniteDifferencesForEveryFamilyAndIntegrator) {
  for (const Family& family : test_support::built_in_families()) {
    for (const auto integrator : test_support::kIntegrators) {
      for (std::uint64_t index = 0; index < 40; ++index) {
        Task task = family.draw(11, index);
        task.settings.integrator = integrator;
        expect_linearised(task);
      }
    }
  }
}

TEST(Linearise, AgreesAroundAGoalThatASpringPullsAt) {
  Task task = make_task("mass", MassSpring{.actuator_gain = 0.5});
  task.settings.goal << 0.7, 0;
  EXPECT_EQ(task.equilibrium_action()(0), 5.5 * 0.7 / 0.5);
  for (const auto integrator : test_support::kIntegrators) {
    task.settings.integrator = integrator;
    expect_linearised(task);
    EXPECT_TRUE(task.step(task.settings.goal, task.equilibrium_action())
                    .isApprox(task.settings.goal, 1e-15));
  }
}

TEST(Linearise, AgreesForACartPoleWithAGoalAwayFromTheOrigin) {
  Task task = make_task("cart-pole", CartPole{});
  task.settings.goal << 1, 0, 0, 0;
  for (const auto integrator : test_support::kIntegrators) {
    task.settings.integrator = integrator;
    expect_linearised(task);
  }
}

TEST(Linearise, AgreesForQuadrotorsWithGoalsThatAreTurned) {
  Task rigid = make_task("rigid-quadrotor", RigidQuadrotor{});
  rigid.settings.goal << 0.5, -0.4, 1.2, 0, 0, 0;
  Task flying = make_task("flying-quadrotor", FlyingQuadrotor{});
  flying.settings.goal << 1, 2, -3, 0, 0, 0.7, 0, 0, 0, 0, 0, 0;
  for (const auto integrator : test_support::kIntegrators) {
    rigid.settings.integrator = flying.settings.integrator = integrator;
    expect_linearised(rigid);
    expect_linearised(flying);
  }
  // The rows of the velocities look like those of positions where gravity is 1.
  set_parameter(flying.system, "gravity_metres_per_second2", 1);
  expect_linearised(flying);
  flying.settings.goal(3) = 0.1;
  EXPECT_THROW(flying.linearise(), InvalidInput);
}

/// x⁺ = A x + B u, and a quadratic term that has no slope at zero.
struct NearlyLinear {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  std::array<double, 2> start(const CounterRandom&) const { return {0, 0}; }
  std::array<double, 2> step(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    return {0.9 * x[0] + 0.2 * x[1] + x[1] * x[1], 0.3 * x[0] - 0.5 * x[1] + 2 * u[0]};
  }
  double cost(const std::array<double, 2>&, const std::array<double, 1>&) const { return 0; }
};

TEST(Linearise, CustomSystemByCentralDifferences) {
  const LinearModel model = make_task("custom", make_custom_system(NearlyLinear{})).linearise();
  EXPECT_TRUE(model.a.isApprox((Eigen::Matrix2d() << 0.9, 0.2, 0.3, -0.5).finished(), 1e-9));
  EXPECT_TRUE(model.b.isApprox(Eigen::Vector2d(0, 2), 1e-9));
}

}  // namespace lifeguard::linearise_test
