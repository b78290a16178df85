#include "lifeguard/systems/mass_spring.hpp"

#include <fmt/format.h>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/acceleration_inclusion.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/systems/task_settings.hpp"

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

MassSpring::operator System() const { return built_in(*this); }

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

UncertainPlant MassSpring::inclusion(const TaskSettings& task,
                                     const InclusionSettings& settings) const {
  require(task.goal(1) == 0, "goal[1]", task.goal(1), "must be 0: the mass rests at its goal");
  const ParameterIntervals<MassSpring> of(*this, settings.ranges);
  const Interval mass = of(&MassSpring::mass_kilograms);
  const Interval spring = of(&MassSpring::spring_newtons_per_metre);
  const Interval damping = of(&MassSpring::damping_newton_seconds_per_metre);
  const Interval gain = of(&MassSpring::actuator_gain);
  // ẍ = w (gain u - k x - d ẋ) with w = 1/m is multi-affine in w, gain and k: corners say all. The
  // damping is small, and a channel says as much with half as many corners: for every w,
  // |w (d - d_centre)| is at most the largest w times the radius of d.
  AccelerationInclusion inclusion;
  for (const double m : {mass.low, mass.high}) {
    for (const double k : {spring.low, spring.high}) {
      for (const double g : {gain.low, gain.high}) {
        AccelerationInclusion::Corner corner{
            fmt::format("m = {:.6g}, k = {:.6g}, gain = {:.6g}", m, k, g), Eigen::MatrixXd(1, 2),
            Eigen::MatrixXd(1, 1)};
        corner.a << -k / m, -damping.centre() / m;
        corner.b << g / m;
        inclusion.corners.push_back(std::move(corner));
      }
    }
  }
  inclusion.remove_repeated_corners();
  inclusion.add_state_channel(0, 1, damping.radius() / mass.low);
  return discretise(inclusion, kPositions, kVelocities, action_names_of<MassSpring>(), task,
                    settings);
}

}  // namespace lifeguard
