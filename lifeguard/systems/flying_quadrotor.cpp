#include "lifeguard/systems/flying_quadrotor.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/acceleration_inclusion.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/interval.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard {

TaskSettings FlyingQuadrotor::default_settings() {
  TaskSettings s;
  s.dt_seconds = 0.01;
  s.start_high.resize(12);
  s.start_high << 0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2;
  s.state_weights.resize(12);
  s.state_weights << 1, 1, 1, 0.1, 0.1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01;
  s.action_weights = Eigen::VectorXd::Constant(4, 0.01);
  s.action_high = Eigen::VectorXd::Constant(4, 1);
  s.failure_bounds = Eigen::VectorXd::Constant(12, kInfinity);
  s.failure_bounds.head(3).setConstant(3);
  // As RigidQuadrotor, far from where its angles end.
  s.failure_bounds.segment(3, 2).setConstant(1.2);
  s.failure_cost = 30;
  s.sigma = 0.05;
  return symmetric(s);
}

FlyingQuadrotor::operator System() const { return built_in(*this); }

std::vector<Family> FlyingQuadrotor::families() {
  return {make_family(std::string(kName), FlyingQuadrotor{}, quadrotor_family().ranges)};
}

LinearModel FlyingQuadrotor::linearise(const Eigen::VectorXd& goal) const {
  for (const int tilt : {3, 4}) {
    require(goal(tilt) == 0, indexed("goal", tilt), goal(tilt),
            "must be 0: a quadrotor that stays where it is hovers level");
  }
  const LinearModel attitude = Quadrotor::linearise();
  const double gravity = gravity_metres_per_second2;
  const double sine = std::sin(goal(5)), cosine = std::cos(goal(5));
  LinearModel model{Eigen::MatrixXd::Zero(12, 12), Eigen::MatrixXd::Zero(12, 4)};
  model.a.topRightCorner(6, 6).setIdentity();
  // A tilted thrust pulls sideways.
  model.a.block(6, 3, 2, 2) << -sine, -cosine, cosine, -sine;
  model.a.block(6, 3, 2, 2) *= gravity;
  model.b.row(8).setConstant(-0.5 * gravity);
  model.b.bottomRows(3) = attitude.b.bottomRows(3);
  return model;
}

UncertainPlant FlyingQuadrotor::inclusion(const TaskSettings& task,
                                          const InclusionSettings& settings) const {
  require(settings.statement == PlantStatement::linear, "statement", "nonlinear",
          "must be linear: of a thrust that turns with the body no inclusion is known here; of the "
          "attitude alone there is one, that of rigid-quadrotor");
  require(settings.combined_limits.empty(), "combined_limits", "some",
          "must be none: a flying quadrotor has no names for them");
  for (const int i : {3, 4, 6, 7, 8, 9, 10, 11}) {
    require(task.goal(i) == 0, indexed("goal", i), task.goal(i),
            "must be 0: a quadrotor that stays where it is hovers level");
  }
  const ParameterIntervals<FlyingQuadrotor> of(*this, settings.ranges);
  const Interval gravity = of(&FlyingQuadrotor::gravity_metres_per_second2);
  // The thrust of a rotor carries a quarter of the weight; its derivative is twice as much.
  const Interval thrust = 0.5 * of(&FlyingQuadrotor::mass_kilograms) * gravity;
  const Interval lift = of(&FlyingQuadrotor::arm_metres) * thrust;
  const Interval drag = of(&FlyingQuadrotor::drag_newton_metre_seconds2) * thrust /
                        of(&FlyingQuadrotor::thrust_newton_seconds2);
  const std::array<Interval, 3> turn = {lift / of(&FlyingQuadrotor::inertia_x_kilogram_metres2),
                                        lift / of(&FlyingQuadrotor::inertia_y_kilogram_metres2),
                                        drag / of(&FlyingQuadrotor::inertia_z_kilogram_metres2)};
  const std::array<Eigen::Vector4d, 3> rotors = {
      Eigen::Vector4d(0, -1, 0, 1), Eigen::Vector4d(1, 0, -1, 0), Eigen::Vector4d(-1, 1, -1, 1)};
  const double sine = std::sin(task.goal(5)), cosine = std::cos(task.goal(5));

  // Three turns, then three pulls of a gravity that tilt and thrust do not balance.
  AccelerationInclusion::Corner corner{"nominal", Eigen::MatrixXd::Zero(6, kStates),
                                       Eigen::MatrixXd::Zero(6, kActions)};
  Eigen::MatrixXd pull_a = Eigen::MatrixXd::Zero(3, kStates);
  pull_a.block(0, 3, 2, 2) << -sine, -cosine, cosine, -sine;
  Eigen::MatrixXd pull_b = Eigen::MatrixXd::Zero(3, kActions);
  pull_b.row(2).setConstant(-0.5);
  corner.a.bottomRows(3) = gravity.centre() * pull_a;
  corner.b.bottomRows(3) = gravity.centre() * pull_b;
  for (std::size_t i = 0; i < turn.size(); ++i) {
    corner.b.row(static_cast<Eigen::Index>(i)) = turn[i].centre() * rotors[i].transpose();
  }
  AccelerationInclusion inclusion;
  inclusion.corners.push_back(std::move(corner));
  for (std::size_t i = 0; i < turn.size(); ++i) {
    inclusion.add_action_channel(static_cast<int>(i), rotors[i], turn[i].radius());
  }
  for (Eigen::Index i = 0; i < 3 && gravity.radius() > 0; ++i) {
    inclusion.channels.push_back({gravity.radius() * Eigen::VectorXd::Unit(6, 3 + i),
                                  pull_a.row(i).transpose(), pull_b.row(i).transpose()});
  }
  return discretise(inclusion, kPositions, kVelocities, action_names_of<FlyingQuadrotor>(), task,
                    settings);
}

}  // namespace lifeguard
