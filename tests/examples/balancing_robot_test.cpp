#include "examples/balancing_robot.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>

#include "lifeguard/core/random.hpp"

namespace lifeguard::balancing_robot_test {

/// Where a point of the body at this height above the axle is, for coordinates (θ, x).
Eigen::Vector2d place(const Eigen::Vector2d& q, double height) {
  return {q(1) + height * std::sin(q(0)), height * std::cos(q(0))};
}

Eigen::Vector2d velocity(const Eigen::Vector2d& q, const Eigen::Vector2d& speeds, double height) {
  constexpr double kStep = 1e-5;
  return (place(q + kStep * speeds, height) - place(q - kStep * speeds, height)) / (2 * kStep);
}

/// T - V, part by part: nothing of it is taken from the robot's own sums.
double lagrangian(const BalancingRobot& r, const Eigen::Vector2d& q,
                  const Eigen::Vector2d& speeds) {
  const double wheel_rate = speeds(1) / r.wheel_radius;
  const double wheel_inertia = 0.5 * r.wheel_mass * r.wheel_radius * r.wheel_radius;
  return 0.5 * r.body_mass * velocity(q, speeds, r.body_height).squaredNorm() +
         0.5 * r.body_inertia * speeds(0) * speeds(0) +
         0.5 * r.payload * velocity(q, speeds, r.payload_height).squaredNorm() +
         0.5 * r.wheel_mass * speeds(1) * speeds(1) +
         0.5 * wheel_inertia * wheel_rate * wheel_rate -
         r.gravity * (r.body_mass * place(q, r.body_height).y() +
                      r.payload * place(q, r.payload_height).y());
}

TEST(BalancingRobot, StepsObeyLagrangesEquations) {
  constexpr double kStep = 1e-3;  // of the differences below
  BalancingRobot robot;
  robot.payload = 3;
  robot.friction = 0.2;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const CounterRandom random(7, RandomStream::parameters, i);
    const Eigen::Vector2d q(random.uniform(0, -1.2, 1.2), random.uniform(1, -1, 1));
    const Eigen::Vector2d speeds(random.uniform(2, -3, 3), random.uniform(3, -3, 3));
    const double torque = random.uniform(4, -20, 20);
    const BalancingRobot::State next = robot.step({q(0), speeds(0), q(1), speeds(1)}, {torque});
    const Eigen::Vector2d accelerations =
        (Eigen::Vector2d(next[1], next[3]) - speeds) / BalancingRobot::kTimeStep;
    // Of ∂L/∂q̇ a bit of time earlier and later, along the motion.
    const auto momentum = [&](double time, Eigen::Index c) {
      const Eigen::Vector2d at = q + time * speeds + 0.5 * time * time * accelerations;
      const Eigen::Vector2d with = speeds + time * accelerations;
      const Eigen::Vector2d h = kStep * Eigen::Vector2d::Unit(c);
      return (lagrangian(robot, at, with + h) - lagrangian(robot, at, with - h)) / (2 * kStep);
    };
    const double between = torque - robot.friction * (speeds(1) / robot.wheel_radius - speeds(0));
    const Eigen::Vector2d force(-between, between / robot.wheel_radius);
    for (Eigen::Index c = 0; c < 2; ++c) {
      const Eigen::Vector2d h = kStep * Eigen::Vector2d::Unit(c);
      const double left =
          (momentum(kStep, c) - momentum(-kStep, c)) / (2 * kStep) -
          (lagrangian(robot, q + h, speeds) - lagrangian(robot, q - h, speeds)) / (2 * kStep);
      EXPECT_NEAR(left, force(c), 1e-3 * (1 + std::fabs(force(c)))) << "coordinate " << c;
    }
    // Positions move with the new speeds.
    EXPECT_EQ(next[0], q(0) + BalancingRobot::kTimeStep * next[1]);
    EXPECT_EQ(next[2], q(1) + BalancingRobot::kTimeStep * next[3]);
  }
}

TEST(BalancingRobot, FallsWithoutControlAndRestsUpright) {
  const BalancingRobot robot;
  BalancingRobot::State x{};
  EXPECT_EQ(robot.step(x, {0.0}), x);
  x[0] = 0.01;
  for (int m = 0; m < 200 && std::fabs(x[0]) < 0.5; ++m) x = robot.step(x, {0.0});
  EXPECT_GE(x[0], 0.5);  // the way it leant
  EXPECT_LT(x[2], 0);    // pushing the wheels away from under it
}

}  // namespace lifeguard::balancing_robot_test
