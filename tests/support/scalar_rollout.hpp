#pragma once

// The plain loop that the vectorised kernels are tested and measured against: one trajectory after
// the other, one step after the other, the C library's mathematics, Random123's generator, and the
// equations of motion written down a second time. Semi-implicit Euler and state features only.

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <variant>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/overloaded.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard::test_support {

struct ScalarMassSpring {
  static constexpr int kStates = 2, kActions = 1;
  const MassSpring& s;
  void step(const double* u, double dt, double* x) const {
    const double acceleration = (s.actuator_gain * u[0] - s.spring_newtons_per_metre * x[0] -
                                 s.damping_newton_seconds_per_metre * x[1]) /
                                s.mass_kilograms;
    x[1] += dt * acceleration;
    x[0] += dt * x[1];
  }
};

struct ScalarCartPole {
  static constexpr int kStates = 4, kActions = 1;
  const CartPole& s;
  void step(const double* u, double dt, double* x) const {
    const double sine = std::sin(x[2]), cosine = std::cos(x[2]);
    const double total = s.cart_mass_kilograms + s.pole_mass_kilograms;
    const double half = 0.5 * s.pole_length_metres;
    const double force = s.actuator_gain * u[0] - s.damping_newton_seconds_per_metre * x[1];
    const double push = (force + s.pole_mass_kilograms * half * x[3] * x[3] * sine) / total;
    const double angular = (s.gravity_metres_per_second2 * sine - cosine * push) /
                           (half * (4.0 / 3.0 - s.pole_mass_kilograms * cosine * cosine / total));
    const double linear = push - s.pole_mass_kilograms * half * angular * cosine / total;
    x[1] += dt * linear;
    x[3] += dt * angular;
    x[0] += dt * x[1];
    x[2] += dt * x[3];
  }
};

struct ScalarQuadrotor {
  static constexpr int kStates = 6, kActions = 4;
  const Quadrotor& s;
  const double hover = s.hover_speed_radians_per_second();
  void step(const double* u, double dt, double* x) const {
    double speed[4];
    for (int i = 0; i < 4; ++i) speed[i] = hover * (1 + u[i]);
    const double residual = speed[1] + speed[3] - speed[0] - speed[2];
    const double ixx = s.inertia_x_kilogram_metres2, iyy = s.inertia_y_kilogram_metres2,
                 izz = s.inertia_z_kilogram_metres2, jr = s.rotor_inertia_kilogram_metres2;
    const double lift = s.arm_metres * s.thrust_newton_seconds2;
    const double p = x[3], q = x[4], r = x[5];
    const double roll = q * r * (iyy - izz) + jr * q * residual +
                        lift * (speed[3] * speed[3] - speed[1] * speed[1]);
    const double pitch = p * r * (izz - ixx) - jr * p * residual +
                         lift * (speed[0] * speed[0] - speed[2] * speed[2]);
    const double yaw = p * q * (ixx - iyy) +
                       s.drag_newton_metre_seconds2 * (speed[1] * speed[1] + speed[3] * speed[3] -
                                                       speed[0] * speed[0] - speed[2] * speed[2]);
    x[3] += dt * roll / ixx;
    x[4] += dt * pitch / iyy;
    x[5] += dt * yaw / izz;
    for (int i = 0; i < 3; ++i) x[i] += dt * x[3 + i];
  }
};

/// Roll, pitch and yaw after dt at these body rates.
inline void turn_angles(const double* body, double dt, double* angles) {
  const double roll = angles[0], pitch = angles[1];
  const double turn = body[1] * std::sin(roll) + body[2] * std::cos(roll);
  angles[0] += dt * (body[0] + turn * std::tan(pitch));
  angles[1] += dt * (body[1] * std::cos(roll) - body[2] * std::sin(roll));
  angles[2] += dt * turn / std::cos(pitch);
}

struct ScalarRigidQuadrotor {
  static constexpr int kStates = 6, kActions = 4;
  const RigidQuadrotor& s;
  void step(const double* u, double dt, double* x) const {
    double simple[6];
    std::copy_n(x, 6, simple);
    ScalarQuadrotor{s.body()}.step(u, dt, simple);
    std::copy_n(simple + 3, 3, x + 3);
    turn_angles(x + 3, dt, x);
  }
};

struct ScalarFlyingQuadrotor {
  static constexpr int kStates = 12, kActions = 4;
  const FlyingQuadrotor& s;
  void step(const double* u, double dt, double* x) const {
    double thrust = 0;
    for (int i = 0; i < 4; ++i) {
      const double speed = s.hover_speed_radians_per_second() * (1 + u[i]);
      thrust += s.thrust_newton_seconds2 * speed * speed / s.mass_kilograms;
    }
    const double roll = x[3], pitch = x[4], yaw = x[5];
    x[6] -= dt * thrust *
            (std::cos(yaw) * std::sin(pitch) * std::cos(roll) + std::sin(yaw) * std::sin(roll));
    x[7] -= dt * thrust *
            (std::sin(yaw) * std::sin(pitch) * std::cos(roll) - std::cos(yaw) * std::sin(roll));
    x[8] += dt * (s.gravity_metres_per_second2 - thrust * std::cos(pitch) * std::cos(roll));
    double simple[6] = {0, 0, 0, x[9], x[10], x[11]};
    ScalarQuadrotor{s.body()}.step(u, dt, simple);
    std::copy_n(simple + 3, 3, x + 9);
    turn_angles(x + 9, dt, x + 3);
    for (int i = 0; i < 3; ++i) x[i] += dt * x[6 + i];
  }
};

template <class ScalarSystem>
void scalar_rollout(const ScalarSystem& system, const Task& task, const GaussianPolicy& policy,
                    const RolloutSettings& settings, Trajectories& out) {
  constexpr int kStates = ScalarSystem::kStates, kActions = ScalarSystem::kActions;
  const TaskSettings& s = task.settings;
  double gains[kActions][kStates];
  for (int a = 0; a < kActions; ++a) {
    for (int f = 0; f < kStates; ++f) gains[a][f] = policy.gains()(a, f);
  }
  double goal[kStates], weights[kStates], bounds[kStates];
  double action_weights[kActions], low[kActions], high[kActions];
  for (int i = 0; i < kStates; ++i) {
    goal[i] = s.goal(i);
    weights[i] = s.state_weights(i);
    bounds[i] = std::min(s.failure_bounds(i), kDivergenceBound);
  }
  for (int a = 0; a < kActions; ++a) {
    action_weights[a] = s.action_weights(a);
    low[a] = s.action_low(a);
    high[a] = s.action_high(a);
  }
  out.reshape(settings.trajectories, settings.steps, kStates, kActions);
  r123::Philox4x32 philox;
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(settings.seed), static_cast<std::uint32_t>(settings.seed >> 32)}};
  const auto draw = [&](RandomStream stream, std::uint64_t index, std::uint32_t block) {
    const r123::Philox4x32::ctr_type counter = {{block, static_cast<std::uint32_t>(stream),
                                                 static_cast<std::uint32_t>(index),
                                                 static_cast<std::uint32_t>(index >> 32)}};
    return philox(counter, key);
  };
  for (int i = 0; i < settings.trajectories; ++i) {
    const std::uint64_t index = settings.first_index + static_cast<std::uint64_t>(i);
    double x[kStates];
    double normals[4] = {};
    r123::Philox4x32::ctr_type words{};
    for (int n = 0; n < kStates; ++n) {
      if (n % 4 == 0) {
        words = draw(RandomStream::start_state, index, static_cast<std::uint32_t>(n / 4));
      }
      const double uniform = (words[n % 4] + 0.5) / 4294967296.0;
      x[n] = s.start_low(n) + (s.start_high(n) - s.start_low(n)) * uniform;
    }
    bool alive = true;
    for (int n = 0; n < kStates; ++n) alive = alive && std::fabs(x[n]) <= bounds[n];
    int length = 0;
    for (int m = 0; m < settings.steps; ++m) {
      if (!alive) {
        for (int f = 0; f < kStates; ++f) out.feature(i, m, f) = 0;
        for (int a = 0; a < kActions; ++a) out.action(i, m, a) = 0;
        out.cost(i, m) = s.failure_cost;
        continue;
      }
      double error[kStates], applied[kActions];
      double cost = 0;
      for (int f = 0; f < kStates; ++f) {
        error[f] = x[f] - goal[f];
        out.feature(i, m, f) = error[f];
        cost += weights[f] * error[f] * error[f];
      }
      for (int a = 0; a < kActions; ++a) {
        const int n = m * kActions + a;
        if (policy.noise().largest() > 0 && n % 4 == 0) {
          words = draw(RandomStream::exploration, index, static_cast<std::uint32_t>(n / 4));
          for (int pair = 0; pair < 4; pair += 2) {
            const double radius = std::sqrt(-2 * std::log((words[pair] + 0.5) / 4294967296.0));
            // The angle within a quarter turn, then one of four axes by the two highest bits.
            const std::uint32_t w = words[pair + 1];
            const double angle =
                std::numbers::pi / 2 * (((w & 0x3FFFFFFFu) + 0.5) / 1073741824.0 - 0.5);
            const double along = (w >> 31 != 0 ? -radius : radius) * std::cos(angle);
            const double across = radius * std::sin(angle);
            const bool swap = (w >> 30 & 1u) != 0;
            normals[pair] = swap ? across : along;
            normals[pair + 1] = swap ? along : across;
          }
        }
        double u = policy.sigma(a) * normals[n % 4];
        for (int f = 0; f < kStates; ++f) u += gains[a][f] * error[f];
        out.action(i, m, a) = u;
        applied[a] = std::clamp(u, low[a], high[a]);
        cost += action_weights[a] * applied[a] * applied[a];
      }
      out.cost(i, m) = cost;
      ++length;
      system.step(applied, s.dt_seconds, x);
      for (int n = 0; n < kStates; ++n) alive = alive && std::fabs(x[n]) <= bounds[n];
    }
    out.set_length(i, length);
  }
}

inline void scalar_rollout(const Task& task, const GaussianPolicy& policy,
                           const RolloutSettings& settings, Trajectories& out) {
  const auto run = [&](const auto& system) { scalar_rollout(system, task, policy, settings, out); };
  // A new built-in system needs its equations a second time, above.
  std::visit(Overloaded{[&](const MassSpring& s) { run(ScalarMassSpring{s}); },
                        [&](const CartPole& s) { run(ScalarCartPole{s}); },
                        [&](const Quadrotor& s) { run(ScalarQuadrotor{s}); },
                        [&](const RigidQuadrotor& s) { run(ScalarRigidQuadrotor{s}); },
                        [&](const FlyingQuadrotor& s) { run(ScalarFlyingQuadrotor{s}); },
                        [](const CustomSystemPointer&) {
                          throw InvalidInput("system", "custom", "must be a built-in system");
                        }},
             task.system.model().machine);
}

}  // namespace lifeguard::test_support
