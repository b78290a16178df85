#include "lifeguard/systems/quadrotor.hpp"

#include <cmath>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void Quadrotor::validate() const {
  require_positive("inertia_x_kilogram_metres2", inertia_x_kilogram_metres2);
  require_positive("inertia_y_kilogram_metres2", inertia_y_kilogram_metres2);
  require_positive("inertia_z_kilogram_metres2", inertia_z_kilogram_metres2);
  require_positive("arm_metres", arm_metres);
  require_positive("mass_kilograms", mass_kilograms);
  require_positive("thrust_newton_seconds2", thrust_newton_seconds2);
  require_positive("drag_newton_metre_seconds2", drag_newton_metre_seconds2);
  require_not_negative("rotor_inertia_kilogram_metres2", rotor_inertia_kilogram_metres2);
  require_positive("gravity_metres_per_second2", gravity_metres_per_second2);
}

double Quadrotor::hover_speed_radians_per_second() const {
  return std::sqrt(mass_kilograms * gravity_metres_per_second2 / (4.0 * thrust_newton_seconds2));
}

LinearModel Quadrotor::linearise() const {
  const double hover = hover_speed_radians_per_second();
  const double lift = 2.0 * arm_metres * thrust_newton_seconds2 * hover * hover;
  const double drag = 2.0 * drag_newton_metre_seconds2 * hover * hover;
  LinearModel model{Eigen::MatrixXd::Zero(6, 6), Eigen::MatrixXd::Zero(6, 4)};
  model.a.topRightCorner(3, 3).setIdentity();
  // At rest the couplings and the gyroscopic terms are of second order.
  model.b.row(3) << 0, -lift, 0, lift;
  model.b.row(4) << lift, 0, -lift, 0;
  model.b.row(5) << -drag, drag, -drag, drag;
  model.b.row(3) /= inertia_x_kilogram_metres2;
  model.b.row(4) /= inertia_y_kilogram_metres2;
  model.b.row(5) /= inertia_z_kilogram_metres2;
  return model;
}

}  // namespace lifeguard
