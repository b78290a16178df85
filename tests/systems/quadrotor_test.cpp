#include "lifeguard/systems/quadrotor.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <utility>

#include "tests/support/tasks.hpp"

#include "lifeguard/systems/built_in_systems.hpp"

namespace lifeguard::quadrotor_test {

using test_support::with_integrator;

using Vector6d = Eigen::Matrix<double, 6, 1>;

Eigen::Vector3d inertia(const Quadrotor& s) {
  return {s.inertia_x_kilogram_metres2, s.inertia_y_kilogram_metres2, s.inertia_z_kilogram_metres2};
}

Vector6d spinning(double roll, double pitch, double yaw) {
  Vector6d x;
  x << 0.1, -0.2, 0.3, roll, pitch, yaw;
  return x;
}

Eigen::Vector3d accelerations(const Quadrotor& s, const Vector6d& x, const Eigen::Vector4d& u) {
  return make_task("quadrotor", s).derivative(x, u).tail(3);
}

TEST(Quadrotor, HoverSpeedCarriesTheWeight) {
  const Quadrotor s;
  const double hover = s.hover_speed_radians_per_second();
  EXPECT_NEAR(4 * s.thrust_newton_seconds2 * hover * hover, 0.65 * 9.81, 1e-12);
}

TEST(Quadrotor, HoverIsAnEquilibriumAtAnyAngle) {
  for (const auto integrator : test_support::kIntegrators) {
    const Task task = with_integrator(make_task("quadrotor", Quadrotor{}), integrator, 0.01);
    const Vector6d x = spinning(0, 0, 0);
    EXPECT_EQ(task.step(x, Eigen::Vector4d::Zero()), x);
  }
}

TEST(Quadrotor, TorquesHaveTheSignsAndSizesOfTheModel) {
  const Quadrotor s;
  const double hover = s.hover_speed_radians_per_second();
  constexpr double kFaster = 0.2;  // one rotor turns at 1.2 times hover
  const double change = hover * hover * (1.2 * 1.2 - 1);
  const double lift = s.arm_metres * s.thrust_newton_seconds2 * change;
  const double drag = s.drag_newton_metre_seconds2 * change;
  // Roll, pitch and yaw torque of each rotor alone.
  const double torque[4][3] = {
      {0, lift, -drag}, {-lift, 0, drag}, {0, -lift, -drag}, {lift, 0, drag}};
  for (int rotor = 0; rotor < 4; ++rotor) {
    const Eigen::Vector3d a =
        accelerations(s, spinning(0, 0, 0), kFaster * Eigen::Vector4d::Unit(rotor));
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(a(axis) * inertia(s)(axis), torque[rotor][axis], 1e-12) << rotor << ' ' << axis;
    }
  }
}

TEST(Quadrotor, AllRotorsFasterTurnsNothing) {
  EXPECT_TRUE(
      accelerations(Quadrotor{}, spinning(0, 0, 0), Eigen::Vector4d::Constant(0.3)).isZero(1e-15));
}

TEST(Quadrotor, GyroscopicTermFollowsFromTheYawTorque) {
  // From the yaw torque of each rotor alone: the drag that turns the body one way is what the air
  // does against the rotor's spin the other way. A rotor's momentum turns with the body, which
  // takes the torque ω × h, and the body feels the opposite.
  const Quadrotor s;
  const Eigen::Vector4d u(-0.2, 0.1, -0.05, 0.3);
  const double hover = s.hover_speed_radians_per_second();
  double momentum = 0;  // of all rotors, about z
  for (int rotor = 0; rotor < 4; ++rotor) {
    const Eigen::Vector4d faster = 0.1 * Eigen::Vector4d::Unit(rotor);
    const double yaw = accelerations(s, spinning(0, 0, 0), faster)(2);
    ASSERT_NE(yaw, 0);
    const double spin = yaw > 0 ? -1 : 1;
    momentum += spin * s.rotor_inertia_kilogram_metres2 * hover * (1 + u(rotor));
  }
  const Eigen::Vector3d omega(2, 3, -1);
  const Eigen::Vector3d torque = -omega.cross(Eigen::Vector3d(0, 0, momentum));
  Quadrotor without = s;
  without.rotor_inertia_kilogram_metres2 = 0;
  const Eigen::Vector3d difference =
      accelerations(s, spinning(2, 3, -1), u) - accelerations(without, spinning(2, 3, -1), u);
  EXPECT_TRUE(difference.isApprox(torque.cwiseQuotient(inertia(s)), 1e-12)) << difference;
}

TEST(Quadrotor, CouplingByHand) {
  // Euler's equations I ω̇ = (I ω) × ω.
  const Quadrotor s;
  const Eigen::Vector3d omega(1, -2, 3);
  const Eigen::Vector3d momentum = inertia(s).cwiseProduct(omega);
  const Eigen::Vector3d expected = momentum.cross(omega).cwiseQuotient(inertia(s));
  EXPECT_TRUE(
      accelerations(s, spinning(1, -2, 3), Eigen::Vector4d::Zero()).isApprox(expected, 1e-13));
}

TEST(Quadrotor, GyroscopicAndCouplingTermsDoNoWork) {
  // Whatever the rotors do, the power is that of their torques at rest on the rates of turning.
  for (std::uint64_t index = 0; index < 200; ++index) {
    const Quadrotor s = built_in_as<Quadrotor>(quadrotor_family().draw(1, index).system);
    const Eigen::Vector3d omega = test_support::random_vector(3, 5, index);
    const Eigen::Vector4d u = test_support::random_vector(4, 1, 1000 + index);
    const Eigen::Vector3d moving = accelerations(s, spinning(omega(0), omega(1), omega(2)), u);
    const Eigen::Vector3d at_rest = accelerations(s, spinning(0, 0, 0), u);
    const Eigen::Vector3d momentum = inertia(s).cwiseProduct(omega);
    EXPECT_NEAR(momentum.dot(moving), momentum.dot(at_rest), 1e-12);
  }
}

/// Relative drifts of |I ω| and of ½ ω·I ω in two seconds without torque.
std::pair<double, double> torque_free_drift(Integrator integrator, double dt) {
  const Quadrotor s;
  const Task task = with_integrator(make_task("quadrotor", s), integrator, dt);
  Eigen::VectorXd x = spinning(4, 3, -5);
  const auto momentum = [&] { return inertia(s).cwiseProduct(x.tail<3>()).norm(); };
  const auto energy = [&] { return 0.5 * inertia(s).dot(x.tail<3>().cwiseAbs2()); };
  const double momentum_before = momentum(), energy_before = energy();
  double worst_momentum = 0, worst_energy = 0;
  for (int n = 0; n < std::lround(2 / dt); ++n) {
    x = task.step(x, Eigen::Vector4d::Zero());
    worst_momentum = std::max(worst_momentum, std::fabs(momentum() / momentum_before - 1));
    worst_energy = std::max(worst_energy, std::fabs(energy() / energy_before - 1));
  }
  return {worst_momentum, worst_energy};
}

TEST(Quadrotor, TorqueFreeRotationConservesMomentumAndEnergy) {
  const auto [momentum, energy] = torque_free_drift(Integrator::runge_kutta_4, 0.0025);
  EXPECT_LT(momentum, 1e-8);
  EXPECT_LT(energy, 1e-8);
}

TEST(Quadrotor, TorqueFreeDriftFallsAtTheOrderOfTheIntegrator) {
  for (const double dt : {0.02, 0.01}) {
    const auto [momentum, energy] = torque_free_drift(Integrator::runge_kutta_4, dt);
    const auto [half_momentum, half_energy] = torque_free_drift(Integrator::runge_kutta_4, dt / 2);
    EXPECT_GT(momentum / half_momentum, 14);
    EXPECT_GT(energy / half_energy, 14);
    EXPECT_LT(momentum / half_momentum, 36);
    EXPECT_LT(energy / half_energy, 36);
  }
  const auto [momentum, energy] = torque_free_drift(Integrator::semi_implicit_euler, 0.0004);
  const auto [half_momentum, half_energy] =
      torque_free_drift(Integrator::semi_implicit_euler, 0.0002);
  EXPECT_NEAR(momentum / half_momentum, 2, 0.2);
  EXPECT_NEAR(energy / half_energy, 2, 0.2);
}

}  // namespace lifeguard::quadrotor_test
