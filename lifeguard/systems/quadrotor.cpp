#include "lifeguard/systems/quadrotor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/acceleration_inclusion.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/systems/task_settings.hpp"

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

Quadrotor::operator System() const { return built_in(*this); }

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

namespace {

/// What opposite rotors do together: sums turn the yaw, differences roll and pitch.
struct RotorPair {
  std::string_view name;
  std::array<double, 4> actions;
};
constexpr std::array<RotorPair, 4> kRotorPairs = {{{"rotors 4 - 2", {0, -1, 0, 1}},
                                                   {"rotors 1 - 3", {1, 0, -1, 0}},
                                                   {"rotors 2 + 4", {0, 1, 0, 1}},
                                                   {"rotors 1 + 3", {1, 0, 1, 0}}}};

Eigen::VectorXd actions_of(const RotorPair& pair) {
  return Eigen::Map<const Eigen::Vector4d>(pair.actions.data());
}

/// The limit on each pair: its own, if it is below what the two rotors' limits say already.
std::array<double, 4> pair_limits(const InclusionSettings& settings) {
  std::array<double, 4> limits{};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    limits[i] = actions_of(kRotorPairs[i]).cwiseAbs().dot(settings.action_limits);
  }
  for (const auto& combined : settings.combined_limits) {
    const auto* pair = std::find_if(kRotorPairs.begin(), kRotorPairs.end(),
                                    [&](const RotorPair& p) { return p.name == combined.name; });
    require(pair != kRotorPairs.end(), "combined_limits", combined.name,
            "must be \"rotors 4 - 2\", \"rotors 1 - 3\", \"rotors 2 + 4\" or \"rotors 1 + 3\"");
    double& limit = limits[static_cast<std::size_t>(pair - kRotorPairs.begin())];
    limit = std::min(limit, combined.limit);
  }
  return limits;
}

/// Whether the limits on both pairs of a rotor are their own, not those of its rotors.
bool pairs_below(const InclusionSettings& settings, const std::array<double, 4>& pairs, int rotor) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (kRotorPairs[i].actions[static_cast<std::size_t>(rotor)] == 0) continue;
    if (!(pairs[i] < actions_of(kRotorPairs[i]).cwiseAbs().dot(settings.action_limits))) {
      return false;
    }
  }
  return true;
}

}  // namespace

UncertainPlant Quadrotor::inclusion(const TaskSettings& task,
                                    const InclusionSettings& settings) const {
  for (const int i : kVelocities) {
    require(task.goal(i) == 0, indexed("goal", i), task.goal(i),
            "must be 0: a quadrotor rests at its goal");
  }
  const std::array<double, 4> pairs = pair_limits(settings);
  std::array<double, 4> pair{};
  for (std::size_t i = 0; i < pair.size(); ++i) {
    pair[i] = limit_for_coefficients(settings, pairs[i]);
    require(pair[i] < kInfinity, "action_limits", pair[i],
            "must be finite for a statement about the nonlinear machine");
  }
  std::array<double, 3> rate{};
  for (std::size_t i = 0; i < rate.size(); ++i) {
    const int state = kVelocities[i];
    rate[i] = limit_for_coefficients(settings, settings.state_limits(state));
    require(rate[i] < kInfinity, indexed("state_limits", state), rate[i],
            "must be finite for a statement about the nonlinear machine");
  }
  const ParameterIntervals<Quadrotor> of(*this, settings.ranges);
  const Interval ixx = of(&Quadrotor::inertia_x_kilogram_metres2);
  const Interval iyy = of(&Quadrotor::inertia_y_kilogram_metres2);
  const Interval izz = of(&Quadrotor::inertia_z_kilogram_metres2);
  // The thrust b Ω_hover² of a rotor carries a quarter of the weight, whatever b is.
  const Interval thrust =
      0.25 * of(&Quadrotor::mass_kilograms) * of(&Quadrotor::gravity_metres_per_second2);
  const Interval hover_squared = thrust / of(&Quadrotor::thrust_newton_seconds2);
  const Interval lift = of(&Quadrotor::arm_metres) * thrust;
  const Interval drag = of(&Quadrotor::drag_newton_metre_seconds2) * hover_squared;
  const Interval spin = of(&Quadrotor::rotor_inertia_kilogram_metres2) * sqrt(hover_squared);

  // With the pairs a = u4 - u2, c = u1 - u3, b = u2 + u4, e = u1 + u3 the squares of the rotor
  // speeds become products:
  //   Ω4² - Ω2² ∝ (2 + b) a,   Ω1² - Ω3² ∝ (2 + e) c,
  //   Ω2² + Ω4² - Ω1² - Ω3² ∝ (2 + (b + e)/2) (b - e) + (a/2) a - (c/2) c.
  const Eigen::VectorXd a = actions_of(kRotorPairs[0]);
  const Eigen::VectorXd c = actions_of(kRotorPairs[1]);
  const Eigen::VectorXd yaw_actions = actions_of(kRotorPairs[2]) - actions_of(kRotorPairs[3]);
  const auto around = [](double centre, double radius) {
    return Interval(centre - radius, centre + radius);
  };
  const Interval roll = lift / ixx * around(2, pair[2]);
  const Interval pitch = lift / iyy * around(2, pair[3]);
  const Interval turn = drag / izz;
  const Interval yaw = turn * around(2, 0.5 * (pair[2] + pair[3]));

  // The body turns the axes of roll and pitch into each other:
  //   φ̈ has (k_x ψ̇ + j_x Ω_r) θ̇,   θ̈ has (k_y ψ̇ - j_y Ω_r) φ̇,   Ω_r = b - e.
  // Both are nearly the same multiple of one speed ω = ψ̇ + η Ω_r, a rotation which channels would
  // forget: the two ends of ω are the corners, and channels hold what is left.
  const Interval kx = (iyy - izz) / ixx;
  const Interval ky = (izz - ixx) / iyy;
  const Interval kz = (ixx - iyy) / izz;
  const Interval jx = spin / ixx;
  const Interval jy = spin / iyy;
  const double cx = kx.centre();
  const double cy = ky.centre();
  const double squares = cx * cx + cy * cy;
  const double eta = squares > 0 ? (cx * jx.centre() - cy * jy.centre()) / squares : 0;
  const double residual_speed = pair[2] + pair[3];
  const double omega = rate[2] + std::fabs(eta) * residual_speed;
  const double left_x =
      (kx - cx).magnitude() * rate[2] + (jx - cx * eta).magnitude() * residual_speed;
  const double left_y =
      (ky - cy).magnitude() * rate[2] + (jy + cy * eta).magnitude() * residual_speed;

  AccelerationInclusion inclusion;
  for (const double w : {-omega, omega}) {
    AccelerationInclusion::Corner corner{fmt::format("ω = {:.6g}", std::fabs(w) > 0 ? w : 0.0),
                                         Eigen::MatrixXd::Zero(3, 6), Eigen::MatrixXd(3, 4)};
    corner.a(0, 4) = cx * w;
    corner.a(1, 3) = cy * w;
    corner.b << roll.centre() * a.transpose(), pitch.centre() * c.transpose(),
        yaw.centre() * yaw_actions.transpose();
    inclusion.corners.push_back(std::move(corner));
  }
  inclusion.remove_repeated_corners();
  constexpr int kRollRate = 3, kPitchRate = 4;
  inclusion.add_action_channel(0, a, roll.radius());
  inclusion.add_action_channel(1, c, pitch.radius());
  inclusion.add_action_channel(2, yaw_actions, yaw.radius());
  inclusion.add_action_channel(2, a, 0.5 * turn.high * pair[0]);
  inclusion.add_action_channel(2, c, 0.5 * turn.high * pair[1]);
  inclusion.add_state_channel(0, kPitchRate, left_x);
  inclusion.add_state_channel(1, kRollRate, left_y);
  inclusion.add_state_channel(2, kRollRate, kz.magnitude() * rate[1]);
  InclusionSettings rows = settings;
  // A rotor is half the sum of its two pairs: limits on these may say all.
  for (int rotor = 0; rotor < kActions; ++rotor) {
    double most = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (kRotorPairs[i].actions[static_cast<std::size_t>(rotor)] != 0) most += 0.5 * pairs[i];
    }
    const bool own_rows = pairs_below(settings, pairs, rotor);
    if (own_rows && most <= settings.action_limits(rotor)) rows.action_limits(rotor) = kInfinity;
  }
  UncertainPlant plant =
      discretise(inclusion, kPositions, kVelocities, action_names_of<Quadrotor>(), task, rows);

  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Eigen::VectorXd actions = actions_of(kRotorPairs[i]);
    if (!(pairs[i] < actions.cwiseAbs().dot(settings.action_limits))) continue;
    const Eigen::Index row = plant.action_limits.size();
    plant.action_directions.conservativeResize(row + 1, kActions);
    plant.action_directions.row(row) = actions.transpose();
    plant.action_limits.conservativeResize(row + 1);
    plant.action_limits(row) = pairs[i];
    plant.action_limit_names.emplace_back(kRotorPairs[i].name);
  }
  return plant;
}

}  // namespace lifeguard
