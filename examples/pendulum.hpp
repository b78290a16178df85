#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "lifeguard/core/random.hpp"

/// The pendulum of Gymnasium's Pendulum-v1, to the letter: a system of one's own is this much.
struct Pendulum {
  static constexpr int kStates = 2;    // angle from upright in rad, angular velocity in rad/s
  static constexpr int kActions = 1;   // torque in N m
  static constexpr int kFeatures = 3;  // what the policy sees: cos, sin, angular velocity
  using State = std::array<double, kStates>;
  using Action = std::array<double, kActions>;

  double gravity = 10.0, mass = 1.0, length = 1.0, dt = 0.05, max_speed = 8.0, max_torque = 2.0;

  State start(const lifeguard::CounterRandom& random) const {
    return {random.uniform(0, -std::numbers::pi, std::numbers::pi), random.uniform(1, -1.0, 1.0)};
  }

  State step(const State& x, const Action& u) const {
    const double torque = std::clamp(u[0], -max_torque, max_torque);
    const double acceleration =
        3 * gravity / (2 * length) * std::sin(x[0]) + 3.0 / (mass * length * length) * torque;
    const double speed = std::clamp(x[1] + acceleration * dt, -max_speed, max_speed);
    return {x[0] + speed * dt, speed};
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
};
