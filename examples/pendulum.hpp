#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "lifeguard/systems/custom_system.hpp"

/// The pendulum of Gymnasium's Pendulum-v1, to the letter: a system of one's own is this much.
struct Pendulum {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr int kFeatures = 3;  // what the policy sees
  using State = std::array<double, kStates>;
  using Action = std::array<double, kActions>;

  double gravity = 10.0, mass = 1.0, length = 1.0, max_torque = 2.0;
  static constexpr double kTimeStep = 0.05, kMaxSpeed = 8.0;

  State start(const lifeguard::CounterRandom& random) const {
    return {random.uniform(0, -std::numbers::pi, std::numbers::pi), random.uniform(1, -1.0, 1.0)};
  }

  State step(const State& x, const Action& u) const {
    const double torque = std::clamp(u[0], -max_torque, max_torque);
    const double acceleration =
        3 * gravity / (2 * length) * std::sin(x[0]) + 3.0 / (mass * length * length) * torque;
    const double speed = std::clamp(x[1] + acceleration * kTimeStep, -kMaxSpeed, kMaxSpeed);
    return {x[0] + speed * kTimeStep, speed};
  }

  double cost(const State& x, const Action& u) const {
    const double pi = std::numbers::pi;
    const double angle = x[0] - 2 * pi * std::floor((x[0] + pi) / (2 * pi));
    const double torque = std::clamp(u[0], -max_torque, max_torque);
    return angle * angle + 0.1 * x[1] * x[1] + 0.001 * torque * torque;
  }

  std::array<double, kFeatures> features(const State& x) const {
    return {std::cos(x[0]), std::sin(x[0]), x[1]};
  }

  // All that follows is for configurations, run files and reports.
  static constexpr std::string_view kName = "pendulum";
  static constexpr std::string_view kMeaning = "a rod that a weak motor has to swing up";
  static constexpr std::array<lifeguard::SignalName, kStates> kStateNames = {
      {{"angle from upright", "rad"}, {"angular velocity", "rad/s"}}};
  static constexpr std::array<lifeguard::SignalName, kActions> kActionNames = {{{"torque", "N m"}}};
  static constexpr std::array<lifeguard::SignalName, kFeatures> kFeatureNames = {
      {{"cos angle", "1"}, {"sin angle", "1"}, {"angular velocity", "rad/s"}}};

  static constexpr auto parameters() {
    using Rule = lifeguard::ParameterRule;
    return std::to_array<lifeguard::Parameter<Pendulum>>(
        {{"gravity", &Pendulum::gravity, Rule::not_negative(), "m/s²", "gravity"},
         {"mass", &Pendulum::mass, Rule::positive(), "kg", "mass of the rod"},
         {"length", &Pendulum::length, Rule::positive(), "m", "length of the rod"},
         {"max_torque", &Pendulum::max_torque, Rule::positive(), "N m", "limit of the motor"}});
  }
  static lifeguard::TaskSettings default_settings() {
    auto settings = lifeguard::TaskSettings::unlimited(kStates, kActions);
    settings.dt_seconds = kTimeStep;
    settings.state_weights << 1, 0.1;  // of LQR: those of the cost
    settings.action_weights << 0.001;
    settings.sigma = 0.3;
    return settings;
  }

  bool operator==(const Pendulum&) const = default;
};
