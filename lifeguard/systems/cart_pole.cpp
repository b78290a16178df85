#include "lifeguard/systems/cart_pole.hpp"

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void CartPole::validate() const {
  require_positive("cart_mass_kilograms", cart_mass_kilograms);
  require_positive("pole_mass_kilograms", pole_mass_kilograms);
  require_positive("pole_length_metres", pole_length_metres);
  require_not_negative("damping_newton_seconds_per_metre", damping_newton_seconds_per_metre);
  require_positive("actuator_gain", actuator_gain);
  require_positive("gravity_metres_per_second2", gravity_metres_per_second2);
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

}  // namespace lifeguard
