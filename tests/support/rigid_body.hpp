#pragma once

// A quadrotor as a rigid body, written down a second time and in another way, for the tests of the
// models in Euler's angles: the attitude is a rotation matrix, forces and torques are summed rotor
// by rotor from where each sits, and Runge-Kutta takes many small steps.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>

#include "lifeguard/systems/quadrotor.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::test_support {

struct RigidBody {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();
  Eigen::Matrix3d attitude = Eigen::Matrix3d::Identity();  // from the body's axes to the world's
  Eigen::Vector3d rates = Eigen::Vector3d::Zero();         // about the body's axes

  RigidBody plus(double h, const RigidBody& d) const {
    return {position + h * d.position, velocity + h * d.velocity, attitude + h * d.attitude,
            rates + h * d.rates};
  }
};

/// Turned by yaw, then pitch, then roll about the axes that have turned with it.
inline Eigen::Matrix3d attitude_of(double roll, double pitch, double yaw) {
  return (Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()) *
          Eigen::AngleAxisd(pitch, Eigen::Vector3d::UnitY()) *
          Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitX()))
      .toRotationMatrix();
}
inline Eigen::Vector3d angles_of(const Eigen::Matrix3d& r) {
  return {std::atan2(r(2, 1), r(2, 2)), -std::asin(r(2, 0)), std::atan2(r(1, 0), r(0, 0))};
}

class RigidBodyModel {
 public:
  explicit RigidBodyModel(const Quadrotor& machine) : machine_(machine) {}

  Eigen::Vector3d inertia() const {
    return {machine_.inertia_x_kilogram_metres2, machine_.inertia_y_kilogram_metres2,
            machine_.inertia_z_kilogram_metres2};
  }
  /// Of all rotors about the body's z axis, which points down.
  Eigen::Vector3d rotor_momentum(const Eigen::Vector4d& u) const {
    Eigen::Vector3d momentum = Eigen::Vector3d::Zero();
    for (int i = 0; i < 4; ++i) {
      momentum(2) += spin(i) * machine_.rotor_inertia_kilogram_metres2 * speed(u(i));
    }
    return momentum;
  }
  /// In the world's axes.
  Eigen::Vector3d momentum(const RigidBody& b, const Eigen::Vector4d& u) const {
    return b.attitude * (inertia().cwiseProduct(b.rates) + rotor_momentum(u));
  }
  double rotation_energy(const RigidBody& b) const {
    return 0.5 * inertia().dot(b.rates.cwiseAbs2());
  }
  /// Of flight: z points down.
  double flight_energy(const RigidBody& b) const {
    return machine_.mass_kilograms *
           (0.5 * b.velocity.squaredNorm() - machine_.gravity_metres_per_second2 * b.position(2));
  }

  RigidBody derivative(const RigidBody& b, const Eigen::Vector4d& u) const {
    constexpr double kPlaces[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    Eigen::Vector3d force = Eigen::Vector3d::Zero(), torque = Eigen::Vector3d::Zero();
    for (int i = 0; i < 4; ++i) {
      const double square = speed(u(i)) * speed(u(i));
      const Eigen::Vector3d thrust(0, 0, -machine_.thrust_newton_seconds2 * square);
      const Eigen::Vector3d place =
          machine_.arm_metres * Eigen::Vector3d(kPlaces[i][0], kPlaces[i][1], 0);
      force += thrust;
      torque += place.cross(thrust);
      torque(2) -= spin(i) * machine_.drag_newton_metre_seconds2 * square;
    }
    const Eigen::Vector3d momentum = inertia().cwiseProduct(b.rates) + rotor_momentum(u);
    Eigen::Matrix3d turning;
    turning << 0, -b.rates(2), b.rates(1), b.rates(2), 0, -b.rates(0), -b.rates(1), b.rates(0), 0;
    RigidBody d;
    d.position = b.velocity;
    d.velocity = b.attitude * force / machine_.mass_kilograms +
                 Eigen::Vector3d(0, 0, machine_.gravity_metres_per_second2);
    d.attitude = b.attitude * turning;
    d.rates = (torque - b.rates.cross(momentum)).cwiseQuotient(inertia());
    return d;
  }

  /// With the action held, in so many steps of Runge and Kutta.
  RigidBody after(RigidBody b, const Eigen::Vector4d& u, double seconds, int steps) const {
    const double h = seconds / steps;
    for (int n = 0; n < steps; ++n) {
      const RigidBody k1 = derivative(b, u);
      const RigidBody k2 = derivative(b.plus(h / 2, k1), u);
      const RigidBody k3 = derivative(b.plus(h / 2, k2), u);
      const RigidBody k4 = derivative(b.plus(h, k3), u);
      b = b.plus(h / 6, k1).plus(h / 3, k2).plus(h / 3, k3).plus(h / 6, k4);
    }
    return b;
  }

 private:
  double speed(double u) const { return machine_.hover_speed_radians_per_second() * (1 + u); }
  /// Rotors 2 and 4 spin about -z.
  static double spin(int rotor) { return rotor % 2 == 0 ? 1 : -1; }

  Quadrotor machine_;
};

/// How far a model is from this one, given the integrator, its step and the number of a case, must
/// shrink with the step as the order of the integrator says.
template <class Distance>
void expect_orders_of_integrators(const Distance& distance_from_reference) {
  for (std::uint64_t index = 0; index < 5; ++index) {
    for (const Integrator euler : {Integrator::explicit_euler, Integrator::semi_implicit_euler}) {
      const double ratio = distance_from_reference(euler, 0.0005, index) /
                           distance_from_reference(euler, 0.00025, index);
      EXPECT_NEAR(ratio, 2, 0.2) << index;
    }
    const double ratio = distance_from_reference(Integrator::runge_kutta_4, 0.01, index) /
                         distance_from_reference(Integrator::runge_kutta_4, 0.005, index);
    EXPECT_GT(ratio, 11) << index;
    EXPECT_LT(ratio, 24) << index;
  }
}

}  // namespace lifeguard::test_support
