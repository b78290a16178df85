#include "lifeguard/systems/mass_spring.hpp"

#include "lifeguard/core/check.hpp"

namespace lifeguard {

void MassSpring::validate() const {
  require_not_negative("spring_newtons_per_metre", spring_newtons_per_metre);
  require_not_negative("damping_newton_seconds_per_metre", damping_newton_seconds_per_metre);
  require_positive("mass_kilograms", mass_kilograms);
  require_positive("actuator_gain", actuator_gain);
}

LinearModel MassSpring::linearise() const {
  LinearModel model{Eigen::MatrixXd::Zero(2, 2), Eigen::MatrixXd::Zero(2, 1)};
  model.a << 0, 1,  //
      -spring_newtons_per_metre / mass_kilograms,
      -damping_newton_seconds_per_metre / mass_kilograms;
  model.b(1, 0) = actuator_gain / mass_kilograms;
  return model;
}

}  // namespace lifeguard
