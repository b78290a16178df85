#include "lifeguard/systems/cart_pole.hpp"

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/family.hpp"

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

}  // namespace lifeguard
