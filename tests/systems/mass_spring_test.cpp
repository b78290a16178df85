// The mass against the closed-form solution of its equation.

#include "lifeguard/systems/mass_spring.hpp"
#include "lifeguard/systems/built_in_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tasks.hpp"

namespace lifeguard::mass_spring_test {

using test_support::with_integrator;

const MassSpring kMass{.spring_newtons_per_metre = 6,
                       .damping_newton_seconds_per_metre = 0.8,
                       .mass_kilograms = 2,
                       .actuator_gain = 1.5};
const Eigen::Vector2d kStart(1.2, -0.7);

/// x(t) and ẋ(t) of m ẍ = gain u - k x - d ẋ with u held, underdamped:
/// x = x_s + e^(-γ t) (A cos ω t + B sin ω t), γ = d / 2m, ω = √(k/m - γ²), x_s = gain u / k.
Eigen::Vector2d closed_form(const MassSpring& s, const Eigen::Vector2d& start, double u, double t) {
  const double decay = s.damping_newton_seconds_per_metre / (2 * s.mass_kilograms);
  const double omega = std::sqrt(s.spring_newtons_per_metre / s.mass_kilograms - decay * decay);
  const double rest = s.actuator_gain * u / s.spring_newtons_per_metre;
  const double a = start(0) - rest;
  const double b = (start(1) + decay * a) / omega;
  const double wave = a * std::cos(omega * t) + b * std::sin(omega * t);
  const double slope = omega * (b * std::cos(omega * t) - a * std::sin(omega * t));
  const double envelope = std::exp(-decay * t);
  return {rest + envelope * wave, envelope * (slope - decay * wave)};
}

/// The largest error of the simulation over four seconds.
double simulation_error(const MassSpring& s, Integrator integrator, double dt, double u) {
  const Task task = with_integrator(make_task("mass", s), integrator, dt);
  const Eigen::VectorXd action = Eigen::VectorXd::Constant(1, u);
  Eigen::VectorXd x = kStart;
  double worst = 0;
  for (int n = 1; n <= std::lround(4 / dt); ++n) {
    x = task.step(x, action);
    worst = std::max(worst, (x - closed_form(s, kStart, u, n * dt)).cwiseAbs().maxCoeff());
  }
  return worst;
}

class MassSpringSolution : public ::testing::TestWithParam<double> {};

INSTANTIATE_TEST_SUITE_P(FreeAndPushed, MassSpringSolution, ::testing::Values(0.0, 3.0, -7.5));

TEST_P(MassSpringSolution, RungeKuttaIsClose) {
  EXPECT_LT(simulation_error(kMass, Integrator::runge_kutta_4, 0.01, GetParam()), 2e-8);
}

TEST_P(MassSpringSolution, RungeKuttaErrorFallsSixteenfold) {
  for (const double dt : {0.1, 0.05, 0.025}) {
    const double ratio = simulation_error(kMass, Integrator::runge_kutta_4, dt, GetParam()) /
                         simulation_error(kMass, Integrator::runge_kutta_4, dt / 2, GetParam());
    EXPECT_GT(ratio, 14);
    EXPECT_LT(ratio, 18);
  }
}

TEST_P(MassSpringSolution, EulerErrorsFallTwofold) {
  for (const auto integrator : {Integrator::semi_implicit_euler, Integrator::explicit_euler}) {
    for (const double dt : {0.01, 0.005}) {
      const double ratio = simulation_error(kMass, integrator, dt, GetParam()) /
                           simulation_error(kMass, integrator, dt / 2, GetParam());
      EXPECT_GT(ratio, 1.85);
      EXPECT_LT(ratio, 2.15);
    }
  }
}

TEST(MassSpring, DrawnMassesFollowTheirSolution) {
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Task task = wide_mass_spring_family().draw(5, index);
    const auto& mass = built_in_as<MassSpring>(task.system);
    EXPECT_LT(simulation_error(mass, Integrator::runge_kutta_4, 0.01, 2), 1e-6);
  }
}

TEST(MassSpring, SemiImplicitEulerKeepsTheEnergyOfAFreeOscillationBounded) {
  MassSpring free = kMass;
  free.damping_newton_seconds_per_metre = 0;
  const auto energy = [&](const Eigen::VectorXd& x) {
    return 0.5 * free.mass_kilograms * x(1) * x(1) +
           0.5 * free.spring_newtons_per_metre * x(0) * x(0);
  };
  const auto drift = [&](Integrator integrator) {
    const Task task = with_integrator(make_task("mass", free), integrator, 0.05);
    Eigen::VectorXd x = kStart;
    for (int n = 0; n < 10'000; ++n) x = task.step(x, Eigen::VectorXd::Zero(1));
    return std::fabs(energy(x) / energy(kStart) - 1);
  };
  EXPECT_LT(drift(Integrator::semi_implicit_euler), 0.1);
  EXPECT_GT(drift(Integrator::explicit_euler), 1e3);
}

}  // namespace lifeguard::mass_spring_test
