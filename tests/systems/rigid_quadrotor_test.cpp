// The attitude of a rigid quadrotor in Euler's angles, against rotation matrices, invariants of
// motion and the simple model.

#include "lifeguard/systems/rigid_quadrotor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/rigid_body.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::rigid_quadrotor_test {

using test_support::angles_of;
using test_support::attitude_of;
using test_support::RigidBody;
using test_support::RigidBodyModel;
using test_support::with_integrator;

RigidBody body_of(const Eigen::VectorXd& x) {
  RigidBody b;
  b.attitude = attitude_of(x(0), x(1), x(2));
  b.rates = x.tail<3>();
  return b;
}

/// The largest difference between the model and the reference in half a second of changing
/// actions.
double distance_from_reference(Integrator integrator, double dt, std::uint64_t index) {
  const RigidQuadrotor s =
      built_in_as<RigidQuadrotor>(RigidQuadrotor::families()[0].draw(3, index).system);
  const Task task = with_integrator(make_task("rigid", s), integrator, dt);
  const RigidBodyModel reference(s.body());
  Eigen::VectorXd x(6);
  x << test_support::random_vector(3, 0.6, index), test_support::random_vector(3, 3, 100 + index);
  RigidBody b = body_of(x);
  double worst = 0;
  for (int part = 0; part < 5; ++part) {
    const Eigen::Vector4d u =
        test_support::random_vector(4, 0.05, 1000 + 5 * index + static_cast<std::uint64_t>(part));
    const int steps = static_cast<int>(std::lround(0.1 / dt));
    for (int n = 0; n < steps; ++n) x = task.step(x, u);
    b = reference.after(b, u, 0.1, 400);
    const Eigen::Vector3d angles = angles_of(b.attitude);
    worst = std::max(worst, (x.head<3>() - angles).cwiseAbs().maxCoeff());
    worst = std::max(worst, (x.tail<3>() - b.rates).cwiseAbs().maxCoeff());
  }
  return worst;
}

TEST(RigidQuadrotor, MovesAsARotationMatrixDoes) {
  for (std::uint64_t index = 0; index < 20; ++index) {
    EXPECT_LT(distance_from_reference(Integrator::runge_kutta_4, 0.001, index), 1e-8) << index;
  }
}

TEST(RigidQuadrotor, ComesNearerAtTheOrderOfTheIntegrator) {
  test_support::expect_orders_of_integrators(distance_from_reference);
}

/// Relative drifts of the momentum, in the world's axes, and of the energy in a second without
/// torque. `spread` makes the rotors' own momentum turn the body.
std::pair<double, double> drift(double dt, double spread) {
  RigidQuadrotor s;
  s.drag_newton_metre_seconds2 = 1e-30;  // turns nothing
  const Task task = with_integrator(make_task("rigid", s), Integrator::runge_kutta_4, dt);
  const RigidBodyModel reference(s.body());
  // Opposite rotors are equally fast.
  const Eigen::Vector4d u(spread, -spread, spread, -spread);
  Eigen::VectorXd x(6);
  x << 0.3, -0.2, 0.5, 0.8, -0.6, 2;
  const Eigen::Vector3d momentum = reference.momentum(body_of(x), u);
  const double energy = reference.rotation_energy(body_of(x));
  double worst_momentum = 0, worst_energy = 0;
  for (int n = 0; n < std::lround(1 / dt); ++n) {
    x = task.step(x, u);
    const RigidBody b = body_of(x);
    worst_momentum =
        std::max(worst_momentum, (reference.momentum(b, u) - momentum).norm() / momentum.norm());
    worst_energy = std::max(worst_energy, std::fabs(reference.rotation_energy(b) / energy - 1));
  }
  return {worst_momentum, worst_energy};
}

TEST(RigidQuadrotor, WithoutTorqueKeepsItsMomentumInSpaceAndItsEnergy) {
  for (const double spread : {0.0, 0.4}) {
    const auto [momentum, energy] = drift(0.0025, spread);
    EXPECT_LT(momentum, 1e-8);
    EXPECT_LT(energy, 1e-8);
    const auto [coarse, coarse_energy] = drift(0.02, spread);
    const auto [half, half_energy] = drift(0.01, spread);
    EXPECT_GT(coarse / half, 11);
    EXPECT_GT(coarse_energy / half_energy, 11);
  }
  // The simple model does not: its angles forget how the axes turn.
  Eigen::VectorXd x(6);
  x << 0.3, -0.2, 0.5, 0.8, -0.6, 2;
  const RigidBodyModel reference(Quadrotor{});
  const Task simple =
      with_integrator(make_task("simple", Quadrotor{}), Integrator::runge_kutta_4, 0.0025);
  const Eigen::Vector3d momentum = reference.momentum(body_of(x), Eigen::Vector4d::Zero());
  for (int n = 0; n < 400; ++n) x = simple.step(x, Eigen::Vector4d::Zero());
  EXPECT_GT((reference.momentum(body_of(x), Eigen::Vector4d::Zero()) - momentum).norm(),
            0.1 * momentum.norm());
}

TEST(RigidQuadrotor, IsTheSimpleModelToFirstOrder) {
  const Task rigid = make_task("rigid", RigidQuadrotor{});
  const Task simple = make_task("simple", Quadrotor{});
  EXPECT_EQ(rigid.linearise().a, simple.linearise().a);
  EXPECT_EQ(rigid.linearise().b, simple.linearise().b);
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Eigen::VectorXd x = test_support::random_vector(6, 0.2, index);
    const Eigen::VectorXd u = test_support::random_vector(4, 0.2, 50 + index);
    const auto difference = [&](double size) {
      return (rigid.derivative(size * x, size * u) - simple.derivative(size * x, size * u)).norm();
    };
    EXPECT_LT(difference(1e-3), 1e-6);
    EXPECT_NEAR(difference(1e-2) / difference(1e-3), 100, 10);
  }
}

TEST(RigidQuadrotor, HoversAtAnyAttitude) {
  for (const auto integrator : test_support::kIntegrators) {
    const Task task = with_integrator(make_task("rigid", RigidQuadrotor{}), integrator, 0.01);
    Eigen::VectorXd x(6);
    x << 0.7, -0.5, 2, 0, 0, 0;
    EXPECT_EQ(task.step(x, Eigen::Vector4d::Zero()), x);
  }
}

std::string page() {
  std::ifstream file(LIFEGUARD_SOURCE_DIR "/docs/systems.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

// What docs/systems.md says of the paper's model beside the rigid body.
TEST(RigidQuadrotor, IsAsFarFromTheSimpleModelAsTheDocumentationSays) {
  const Task rigid = make_task("rigid", RigidQuadrotor{});
  const Task simple = make_task("simple", Quadrotor{});
  // The kinematics at roll = pitch = 0.4: what the rates of the angles are for each body rate.
  Eigen::Matrix3d kinematics;
  for (int k = 0; k < 3; ++k) {
    Eigen::VectorXd x(6);
    x << 0.4, 0.4, 0, Eigen::Vector3d::Unit(k);
    kinematics.col(k) = rigid.derivative(x, Eigen::Vector4d::Zero()).head(3);
  }
  const Eigen::Matrix3d off = kinematics - Eigen::Matrix3d::Identity();
  const double norm = off.jacobiSvd().singularValues()(0);
  EXPECT_NEAR(norm, 0.60, 0.005);

  // The same starts under the same LQR gains, without noise.
  const GaussianPolicy policy(lqr_gains(simple), 0.0);
  const RolloutSettings settings{.trajectories = 2000, .steps = 150, .seed = 1};
  const Trajectories a = rollout(simple, policy, settings);
  const Trajectories b = rollout(rigid, policy, settings);
  ASSERT_EQ(a.failed() + b.failed(), 0);
  double angle = 0, cost_more = 0, cost_less = 0;
  for (int i = 0; i < a.count(); ++i) {
    const double ratio = b.mean_cost(i) / a.mean_cost(i) - 1;
    cost_more = std::max(cost_more, ratio);
    cost_less = std::max(cost_less, -ratio);
    for (int m = 0; m < a.steps(); ++m) {
      for (int f = 0; f < 3; ++f) {
        angle = std::max(angle, std::fabs(a.feature(i, m, f) - b.feature(i, m, f)));
      }
    }
  }
  const double mean = b.mean_cost() / a.mean_cost() - 1;
  char angle_text[32], mean_text[32];
  std::snprintf(angle_text, sizeof angle_text, "%.2f rad", angle);
  std::snprintf(mean_text, sizeof mean_text, "%+.1f %%", 100 * mean);
  for (const std::string& said :
       {percent(norm) + " in norm", percent(cost_more) + " more", percent(cost_less) + " less",
        std::string(angle_text), std::string(mean_text)}) {
    EXPECT_NE(page().find(said), std::string::npos) << said;
  }
}

}  // namespace lifeguard::rigid_quadrotor_test
