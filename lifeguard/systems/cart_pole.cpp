#include "lifeguard/systems/cart_pole.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/acceleration_inclusion.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard {

TaskSettings CartPole::default_settings() {
  TaskSettings s;
  s.dt_seconds = 0.02;
  s.start_high = Eigen::Vector4d(0.2, 0.2, 0.14, 0.2);
  s.state_weights = Eigen::Vector4d(0.1, 0, 4, 0);
  s.action_weights = Eigen::VectorXd::Constant(1, 0.001);
  s.action_high = Eigen::VectorXd::Constant(1, 20);
  s.failure_bounds = Eigen::Vector4d(3, kInfinity, 0.6, kInfinity);
  s.failure_cost = 5;
  s.sigma = 1;
  return symmetric(s);
}

CartPole::operator System() const { return built_in(*this); }

std::vector<Family> CartPole::families() { return {cart_pole_family(), wide_cart_pole_family()}; }

Family cart_pole_family() {
  return make_family("cart-pole", CartPole{},
                     {{"cart_mass_kilograms", 0.5, 1.5},
                      {"pole_mass_kilograms", 0.1, 0.2},
                      {"pole_length_metres", 0.2, 0.8},
                      {"damping_newton_seconds_per_metre", 0.01, 0.09}});
}

Family wide_cart_pole_family() {
  Family family = cart_pole_family();
  family.name = "wide-cart-pole";
  family.ranges.push_back({"actuator_gain", 0.5, 2.0, /*logarithmic=*/true});
  return family;
}

LinearModel CartPole::linearise() const {
  const double total = cart_mass_kilograms + pole_mass_kilograms;
  const double half = 0.5 * pole_length_metres;
  const double moment = pole_mass_kilograms * half / total;
  // For small θ: θ̈ = (g θ - push) / (4/3 h - moment), ẍ = push - moment θ̈, with
  // push = (gain u - d ẋ) / total.
  const double inertia = 4.0 / 3.0 * half - moment;
  const double push_velocity = -damping_newton_seconds_per_metre / total;
  const double push_force = actuator_gain / total;
  LinearModel model{Eigen::MatrixXd::Zero(4, 4), Eigen::MatrixXd::Zero(4, 1)};
  model.a(0, 1) = 1;
  model.a(2, 3) = 1;
  model.a(3, 1) = -push_velocity / inertia;
  model.a(3, 2) = gravity_metres_per_second2 / inertia;
  model.b(3, 0) = -push_force / inertia;
  model.a(1, 1) = push_velocity - moment * model.a(3, 1);
  model.a(1, 2) = -moment * model.a(3, 2);
  model.b(1, 0) = push_force - moment * model.b(3, 0);
  return model;
}

Eigen::VectorXd CartPole::equilibrium_action(const Eigen::VectorXd& /*goal*/) const {
  return Eigen::VectorXd::Zero(kActions);
}

UncertainPlant CartPole::inclusion(const TaskSettings& task,
                                   const InclusionSettings& settings) const {
  for (const int i : {1, 2, 3}) {
    require(task.goal(i) == 0, indexed("goal", i), task.goal(i),
            "must be 0: only there does an upright pole rest");
  }
  const double angle = limit_for_coefficients(settings, settings.state_limits(2));
  const double rate = limit_for_coefficients(settings, settings.state_limits(3));
  require(angle < 0.5 * std::numbers::pi, "state_limits[2]", angle,
          "must be below π/2 for a statement about the nonlinear machine");
  require(rate < kInfinity, "state_limits[3]", rate,
          "must be finite for a statement about the nonlinear machine");
  const ParameterIntervals<CartPole> of(*this, settings.ranges);
  const Interval cart = of(&CartPole::cart_mass_kilograms);
  const Interval pole = of(&CartPole::pole_mass_kilograms);
  const Interval half = 0.5 * of(&CartPole::pole_length_metres);
  const Interval damping = of(&CartPole::damping_newton_seconds_per_metre);
  const Interval gain = of(&CartPole::actuator_gain);
  const Interval gravity = of(&CartPole::gravity_metres_per_second2);

  // The equations of motion, solved for the accelerations, with D = m_c + m_p (1 - ¾ cos² θ):
  //   ẍ = α u - β ẋ - ζ θ,   θ̈ = κ (-α u + β ẋ + τ θ),
  //   α = gain / D,  β = d / D,  ζ = (m_p / D) (sin θ / θ) (¾ g cos θ - h θ̇²),
  //   κ = ¾ cos θ / h,  τ = g tan θ / θ + ζ.
  // Each coefficient is bounded over small pieces of the angle: in wide intervals cos θ and
  // sin θ / θ would forget that they are of the same θ. All are even in θ.
  Interval alpha, beta, zeta, kappa, tau;
  constexpr int kPieces = 64;
  const int pieces = angle > 0 ? kPieces : 1;
  for (int i = 0; i < pieces; ++i) {
    const double low = angle * i / pieces;
    const double high = angle * (i + 1) / pieces;
    const Interval cosine(std::cos(high), std::cos(low));
    const Interval sine_over_angle(high > 0 ? std::sin(high) / high : 1,
                                   low > 0 ? std::sin(low) / low : 1);
    const Interval tangent_over_angle(low > 0 ? std::tan(low) / low : 1,
                                      high > 0 ? std::tan(high) / high : 1);
    const Interval rest = 1 - 0.75 * Interval(cosine.low * cosine.low, cosine.high * cosine.high);
    const Interval d = cart + pole * rest;
    const Interval pole_share = 1 / (cart / pole + rest);  // m_p / D
    const Interval z =
        pole_share * sine_over_angle * (0.75 * gravity * cosine - half * Interval(0, rate * rate));
    const Interval t = gravity * tangent_over_angle + z;
    const auto widen = [&](Interval& all, const Interval& piece) {
      all = i == 0 ? piece : hull(all, piece);
    };
    widen(alpha, gain / d);
    widen(beta, damping / d);
    widen(zeta, z);
    widen(kappa, 0.75 * cosine / half);
    widen(tau, t);
  }

  // What u does is multi-affine in α and κ: these are corners. The rest comes as channels around
  // the centres of β, ζ and τ.
  AccelerationInclusion inclusion;
  for (const double a : {alpha.low, alpha.high}) {
    for (const double k : {kappa.low, kappa.high}) {
      AccelerationInclusion::Corner corner{fmt::format("α = {:.6g}, κ = {:.6g}", a, k),
                                           Eigen::MatrixXd(2, 4), Eigen::MatrixXd(2, 1)};
      corner.a << 0, -beta.centre(), -zeta.centre(), 0,  //
          0, k * beta.centre(), k * tau.centre(), 0;
      corner.b << a, -k * a;
      inclusion.corners.push_back(std::move(corner));
    }
  }
  inclusion.remove_repeated_corners();
  constexpr int kSpeed = 1, kAngle = 2;
  inclusion.add_state_channel(0, kAngle, zeta.radius());
  inclusion.add_state_channel(1, kAngle, kappa.high * tau.radius());
  inclusion.add_state_channel(0, kSpeed, beta.radius());
  inclusion.add_state_channel(1, kSpeed, kappa.high * beta.radius());
  return discretise(inclusion, kPositions, kVelocities, action_names_of<CartPole>(), task,
                    settings);
}

}  // namespace lifeguard
