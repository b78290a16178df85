#include "lifeguard/systems/quadrotor.hpp"

#include <cmath>
#include <numbers>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/family.hpp"

namespace lifeguard {

TaskSettings Quadrotor::default_settings() {
  TaskSettings s;
  s.dt_seconds = 0.01;
  s.start_high.resize(6);
  s.start_high << 0.4, 0.4, 0.4, 0.2, 0.2, 0.2;
  s.state_weights.resize(6);
  s.state_weights << 1, 1, 1, 0.01, 0.01, 0.01;
  s.action_weights = Eigen::VectorXd::Constant(4, 0.01);
  s.action_high = Eigen::VectorXd::Constant(4, 1);
  s.failure_bounds = Eigen::VectorXd::Constant(6, kInfinity);
  // A quadrotor that rolled or pitched by a quarter turn has flipped.
  s.failure_bounds.head(2).setConstant(std::numbers::pi / 2);
  s.failure_cost = 10;
  s.sigma = 0.1;
  return symmetric(s);
}

std::vector<Family> Quadrotor::families() { return {quadrotor_family()}; }

Family quadrotor_family() {
  return make_family("quadrotor", Quadrotor{},
                     {{"inertia_x_kilogram_metres2", 4.5e-3, 6.5e-3},
                      {"inertia_y_kilogram_metres2", 4.2e-3, 5.2e-3},
                      {"inertia_z_kilogram_metres2", 1.5e-2, 2.1e-2},
                      {"arm_metres", 0.27, 0.30}});
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

Eigen::VectorXd Quadrotor::equilibrium_action(const Eigen::VectorXd& /*goal*/) const {
  return Eigen::VectorXd::Zero(kActions);
}

}  // namespace lifeguard
