#include "lifeguard/systems/mass_spring.hpp"

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/family.hpp"

namespace lifeguard {

TaskSettings MassSpring::default_settings() {
  TaskSettings s;
  s.dt_seconds = 0.05;
  s.start_high = Eigen::Vector2d(2, 2);
  s.state_weights = Eigen::Vector2d(1, 0.1);
  s.action_weights = Eigen::VectorXd::Constant(1, 0.001);
  s.action_high = Eigen::VectorXd::Constant(1, 20);
  s.failure_bounds = Eigen::VectorXd::Constant(2, kInfinity);
  s.failure_cost = 100;
  s.sigma = 0.5;
  return symmetric(s);
}

std::vector<Family> MassSpring::families() {
  return {mass_spring_family(), wide_mass_spring_family()};
}

Family mass_spring_family() {
  return make_family("mass-spring", MassSpring{},
                     {{"spring_newtons_per_metre", 1, 10},
                      {"damping_newton_seconds_per_metre", 0.01, 0.2},
                      {"mass_kilograms", 0.5, 5}});
}

Family wide_mass_spring_family() {
  Family family = mass_spring_family();
  family.name = "wide-mass-spring";
  family.ranges.push_back({"actuator_gain", 1.0 / 3.0, 3.0, /*logarithmic=*/true});
  return family;
}

LinearModel MassSpring::linearise() const {
  LinearModel model{Eigen::MatrixXd::Zero(2, 2), Eigen::MatrixXd::Zero(2, 1)};
  model.a << 0, 1,  //
      -spring_newtons_per_metre / mass_kilograms,
      -damping_newton_seconds_per_metre / mass_kilograms;
  model.b(1, 0) = actuator_gain / mass_kilograms;
  return model;
}

Eigen::VectorXd MassSpring::equilibrium_action(const Eigen::VectorXd& goal) const {
  return Eigen::VectorXd::Constant(1, spring_newtons_per_metre * goal(0) / actuator_gain);
}

}  // namespace lifeguard
