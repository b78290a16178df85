// A quadrotor free in space, against rotation matrices and invariants of motion.

#include "lifeguard/systems/flying_quadrotor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/rigid_body.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::flying_quadrotor_test {

using test_support::angles_of;
using test_support::attitude_of;
using test_support::RigidBody;
using test_support::RigidBodyModel;
using test_support::with_integrator;

RigidBody body_of(const Eigen::VectorXd& x) {
  return {x.head<3>(), x.segment<3>(6), attitude_of(x(3), x(4), x(5)), x.tail<3>()};
}

Eigen::VectorXd state_of(const RigidBody& b) {
  Eigen::VectorXd x(12);
  x << b.position, angles_of(b.attitude), b.velocity, b.rates;
  return x;
}

Eigen::VectorXd some_state(std::uint64_t index) {
  Eigen::VectorXd x(12);
  x << test_support::random_vector(3, 1, index), test_support::random_vector(3, 0.6, 100 + index),
      test_support::random_vector(3, 2, 200 + index),
      test_support::random_vector(3, 3, 300 + index);
  return x;
}

/// The largest difference between the model and the reference in half a second.
double distance_from_reference(Integrator integrator, double dt, std::uint64_t index) {
  const FlyingQuadrotor s =
      built_in_as<FlyingQuadrotor>(FlyingQuadrotor::families()[0].draw(3, index).system);
  const Task task = with_integrator(make_task("flying", s), integrator, dt);
  const RigidBodyModel reference(s.body());
  Eigen::VectorXd x = some_state(index);
  RigidBody b = body_of(x);
  double worst = 0;
  for (int part = 0; part < 5; ++part) {
    const Eigen::Vector4d u =
        Eigen::Vector4d::Constant(0.1 * part - 0.2) +
        test_support::random_vector(4, 0.05, 1000 + 5 * index + static_cast<std::uint64_t>(part));
    const int steps = static_cast<int>(std::lround(0.1 / dt));
    for (int n = 0; n < steps; ++n) x = task.step(x, u);
    b = reference.after(b, u, 0.1, 400);
    worst = std::max(worst, (x - state_of(b)).cwiseAbs().maxCoeff());
  }
  return worst;
}

TEST(FlyingQuadrotor, MovesAsARigidBodyDoes) {
  for (std::uint64_t index = 0; index < 20; ++index) {
    EXPECT_LT(distance_from_reference(Integrator::runge_kutta_4, 0.001, index), 1e-8) << index;
  }
}

TEST(FlyingQuadrotor, ComesNearerAtTheOrderOfTheIntegrator) {
  test_support::expect_orders_of_integrators(distance_from_reference);
}

TEST(FlyingQuadrotor, FallsFreelyWithItsRotorsStopped) {
  const FlyingQuadrotor s;
  const Task task = with_integrator(make_task("flying", s), Integrator::runge_kutta_4, 0.0025);
  const RigidBodyModel reference(s.body());
  const Eigen::Vector4d stopped = Eigen::Vector4d::Constant(-1);
  const Eigen::VectorXd start = some_state(7);
  const Eigen::Vector3d momentum = reference.momentum(body_of(start), stopped);
  Eigen::VectorXd x = start;
  for (int n = 0; n < 200; ++n) x = task.step(x, stopped);
  constexpr double kTime = 0.5;
  EXPECT_NEAR(x(0), start(0) + kTime * start(6), 1e-12);
  EXPECT_NEAR(x(1), start(1) + kTime * start(7), 1e-12);
  EXPECT_NEAR(x(2), start(2) + kTime * start(8) + 0.5 * 9.81 * kTime * kTime, 1e-12);
  EXPECT_NEAR(x(8), start(8) + 9.81 * kTime, 1e-12);
  EXPECT_NEAR(reference.flight_energy(body_of(x)), reference.flight_energy(body_of(start)), 1e-11);
  EXPECT_NEAR(reference.rotation_energy(body_of(x)), reference.rotation_energy(body_of(start)),
              1e-9);
  EXPECT_LT((reference.momentum(body_of(x), stopped) - momentum).norm(), 1e-8 * momentum.norm());
}

TEST(FlyingQuadrotor, GainsTheEnergyThatItsThrustGivesIt) {
  // The power of the thrust is its force times the speed along it.
  const FlyingQuadrotor s;
  const Task task = make_task("flying", s);
  const RigidBodyModel reference(s.body());
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Eigen::VectorXd x = some_state(index);
    const Eigen::VectorXd u = test_support::random_vector(4, 0.5, 500 + index);
    const Eigen::VectorXd rate = task.derivative(x, u);
    double thrust = 0;
    for (int i = 0; i < 4; ++i) {
      const double speed = s.hover_speed_radians_per_second() * (1 + u(i));
      thrust += s.thrust_newton_seconds2 * speed * speed;
    }
    const RigidBody b = body_of(x);
    const double power = -thrust * b.velocity.dot(b.attitude.col(2));
    const double gain =
        s.mass_kilograms * (b.velocity.dot(rate.segment<3>(6)) - 9.81 * b.velocity(2));
    EXPECT_NEAR(gain, power, 1e-11);
    EXPECT_EQ(rate.head(3), x.segment(6, 3));
  }
}

TEST(FlyingQuadrotor, HoversLevelAtAnyYawAndPlace) {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(12);
  x << 1, -2, 3, 0, 0, 0.8, 0, 0, 0, 0, 0, 0;
  for (const auto integrator : test_support::kIntegrators) {
    const Task task = with_integrator(make_task("flying", FlyingQuadrotor{}), integrator, 0.01);
    EXPECT_LT((task.step(x, Eigen::Vector4d::Zero()) - x).cwiseAbs().maxCoeff(), 1e-15);
  }
}

TEST(FlyingQuadrotor, HasTheAttitudeOfTheRigidOne) {
  const Task flying = make_task("flying", FlyingQuadrotor{});
  const Task rigid = make_task("rigid", RigidQuadrotor{});
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Eigen::VectorXd x = some_state(index);
    const Eigen::VectorXd u = test_support::random_vector(4, 0.5, 500 + index);
    Eigen::VectorXd attitude(6);
    attitude << x.segment(3, 3), x.tail(3);
    const Eigen::VectorXd next = flying.step(x, u);
    const Eigen::VectorXd turned = rigid.step(attitude, u);
    EXPECT_EQ(Eigen::VectorXd(next.segment(3, 3)), Eigen::VectorXd(turned.head(3)));
    EXPECT_EQ(Eigen::VectorXd(next.tail(3)), Eigen::VectorXd(turned.tail(3)));
  }
}

TEST(FlyingQuadrotor, IsHeldInTheAirByLqrAndByTheShareOfItThatItStartsWith) {
  const Family family = FlyingQuadrotor::families()[0];
  for (std::uint64_t index = 0; index < 5; ++index) {
    const Task task = family.draw(1, index);
    for (const double share : {1.0, FlyingQuadrotor::kStartShare}) {
      const GaussianPolicy policy(share * lqr_gains(task), task.settings.sigma);
      const Trajectories batch = rollout(task, policy, {.trajectories = 50, .steps = 300});
      EXPECT_EQ(batch.failed(), 0) << share;
      for (int i = 0; i < batch.count(); ++i) EXPECT_LT(batch.cost(i, 299), 0.5) << share;
    }
  }
}

}  // namespace lifeguard::flying_quadrotor_test
