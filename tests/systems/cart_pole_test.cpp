// The cart-pole against the balances of energy and momentum, which were derived from the positions
// of the masses and not from the equations of motion in the library.

#include "lifeguard/systems/cart_pole.hpp"
#include "lifeguard/systems/built_in_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tasks.hpp"

namespace lifeguard::cart_pole_test {

using test_support::with_integrator;

const CartPole kFree{.cart_mass_kilograms = 0.8,
                     .pole_mass_kilograms = 0.3,
                     .pole_length_metres = 0.9,
                     .damping_newton_seconds_per_metre = 0};

/// Kinetic energy of the cart and of the rod's centre at (x + h sin θ, h cos θ), the rod's rotation
/// about its centre with m (2h)² / 12, and the potential energy of the centre.
double energy(const CartPole& s, const Eigen::VectorXd& x) {
  const double h = s.pole_length_metres / 2, m = s.pole_mass_kilograms;
  const double across = x(1) + h * x(3) * std::cos(x(2));
  const double up = -h * x(3) * std::sin(x(2));
  return 0.5 * s.cart_mass_kilograms * x(1) * x(1) + 0.5 * m * (across * across + up * up) +
         0.5 * m * h * h / 3 * x(3) * x(3) + m * s.gravity_metres_per_second2 * h * std::cos(x(2));
}

/// Momentum along the track.
double momentum(const CartPole& s, const Eigen::VectorXd& x) {
  return s.cart_mass_kilograms * x(1) +
         s.pole_mass_kilograms * (x(1) + s.pole_length_metres / 2 * x(3) * std::cos(x(2)));
}

using Invariant = double (*)(const CartPole&, const Eigen::VectorXd&);

/// The largest drift of an invariant during a fall of one second, sampled each 0.02 s.
double drift(Invariant invariant, Integrator integrator, double dt) {
  const Task task = with_integrator(make_task("cart-pole", kFree), integrator, dt);
  const Eigen::Vector4d start(0.1, -0.3, 0.4, 0.5);
  Eigen::VectorXd x = start;
  double worst = 0;
  const int stride = static_cast<int>(std::lround(0.02 / dt));
  for (int n = 1; n <= 50 * stride; ++n) {
    x = task.step(x, Eigen::VectorXd::Zero(1));
    if (n % stride == 0) {
      worst = std::max(worst, std::fabs(invariant(kFree, x) - invariant(kFree, start)));
    }
  }
  EXPECT_GT(std::fabs(x(2)), 1.5);  // it did fall
  return worst;
}

TEST(CartPole, EnergyDriftFallsTwofoldWithEulerSteps) {
  for (const auto integrator : {Integrator::explicit_euler, Integrator::semi_implicit_euler}) {
    for (const double dt : {0.002, 0.001}) {
      const double ratio = drift(energy, integrator, dt) / drift(energy, integrator, dt / 2);
      EXPECT_GT(ratio, 1.8);
      EXPECT_LT(ratio, 2.2);
    }
  }
}

TEST(CartPole, EnergyDriftFallsSixteenfoldWithRungeKutta) {
  for (const double dt : {0.02, 0.01, 0.005}) {
    const double ratio = drift(energy, Integrator::runge_kutta_4, dt) /
                         drift(energy, Integrator::runge_kutta_4, dt / 2);
    EXPECT_GT(ratio, 13);
    EXPECT_LT(ratio, 36);  // where the terms of order 4 cancel, order 5 shows
  }
  EXPECT_LT(drift(energy, Integrator::runge_kutta_4, 0.0025), 1e-8);
}

TEST(CartPole, MomentumDriftFallsAtTheOrderOfTheIntegrator) {
  EXPECT_NEAR(drift(momentum, Integrator::semi_implicit_euler, 0.002) /
                  drift(momentum, Integrator::semi_implicit_euler, 0.001),
              2, 0.2);
  EXPECT_GT(drift(momentum, Integrator::runge_kutta_4, 0.02) /
                drift(momentum, Integrator::runge_kutta_4, 0.01),
            13);
}

TEST(CartPole, PowerIsThatOfTheForceAndTheDamper) {
  for (std::uint64_t index = 0; index < 200; ++index) {
    const Task task = wide_cart_pole_family().draw(3, index);
    const auto& cart = built_in_as<CartPole>(task.system);
    const Eigen::VectorXd x = test_support::random_vector(4, 3, index);
    const Eigen::VectorXd u = test_support::random_vector(1, 20, 1000 + index);
    const Eigen::VectorXd slope = task.derivative(x, u);
    constexpr double kStep = 1e-6;
    const double power =
        (energy(cart, x + kStep * slope) - energy(cart, x - kStep * slope)) / (2 * kStep);
    const double force = cart.actuator_gain * u(0);
    const double expected = (force - cart.damping_newton_seconds_per_metre * x(1)) * x(1);
    EXPECT_NEAR(power, expected, 1e-5);
    const double push =
        (momentum(cart, x + kStep * slope) - momentum(cart, x - kStep * slope)) / (2 * kStep);
    EXPECT_NEAR(push, force - cart.damping_newton_seconds_per_metre * x(1), 1e-5);
  }
}

TEST(CartPole, UprightAtRestIsAnEquilibriumAndUnstable) {
  const Task task = make_task("cart-pole", CartPole{});
  const Eigen::VectorXd rest = Eigen::VectorXd::Zero(1);
  EXPECT_TRUE(task.derivative(Eigen::Vector4d(1, 0, 0, 0), rest).isZero(0));
  EXPECT_GT(task.derivative(Eigen::Vector4d(0, 0, 0.01, 0), rest)(3), 0);
  EXPECT_LT(task.derivative(Eigen::Vector4d(0, 0, -0.01, 0), rest)(3), 0);
}

TEST(CartPole, PushingTheCartTipsThePoleBackwards) {
  const Task task = make_task("cart-pole", CartPole{});
  const Eigen::VectorXd slope = task.derivative(Eigen::Vector4d::Zero(), Eigen::VectorXd::Ones(1));
  EXPECT_GT(slope(1), 0);
  EXPECT_LT(slope(3), 0);
}

}  // namespace lifeguard::cart_pole_test
