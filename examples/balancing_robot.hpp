#pragma once

#include <array>
#include <cmath>

#include "lifeguard/systems/custom_system.hpp"

/// A delivery robot that balances on two wheels, seen from the side: state (θ, θ̇, x, ẋ) with θ the
/// angle of its body, 0 upright and positive forwards, and x the way that its wheels have rolled.
/// The motor sits in the body: its torque u turns the wheels forwards and the body backwards.
///
/// The equations are Lagrange's of the second kind (Goldstein, Poole and Safko, "Classical
/// Mechanics", 3rd edition, section 1.4). Wheels roll without slipping, φ = x/r. A part of the body
/// with mass mᵢ at height hᵢ above the axle is at (x + hᵢ sin θ, hᵢ cos θ), so that with
///   M = Σ mᵢ + m_w + I_w/r²,   S = Σ mᵢ hᵢ,   J = I_b + Σ mᵢ hᵢ²   (i: the body, its payload)
/// kinetic and potential energy are
///   T = ½ M ẋ² + S ẋ θ̇ cos θ + ½ J θ̇²,   V = S g cos θ.
/// Motor and bearings act between body and wheels: τ = u - d (ẋ/r - θ̇) does the work
/// τ (φ̇ - θ̇) = (τ/r) ẋ - τ θ̇ a second. So d/dt ∂T/∂q̇ - ∂T/∂q + ∂V/∂q = Q reads
///   M ẍ + S θ̈ cos θ - S θ̇² sin θ = τ/r
///   S ẍ cos θ + J θ̈ - S g sin θ = -τ,
/// and M J > S² cos² θ, since T is positive: both accelerations follow.
struct BalancingRobot {
  static constexpr int kStates = 4;
  static constexpr int kActions = 1;
  using State = std::array<double, kStates>;
  using Action = std::array<double, kActions>;

  double body_mass = 12, body_height = 0.4, body_inertia = 0.8;
  double payload = 2, payload_height = 0.6;
  double wheel_mass = 3, wheel_radius = 0.12;
  double friction = 0.05, gravity = 9.81;

  static constexpr double kTimeStep = 0.01;
  static constexpr State kStart = {0.04, 0.05, 0.1, 0.05};  // ± this
  static constexpr State kWeights = {4, 0, 1, 0};           // of the states' squares
  static constexpr double kTorqueWeight = 0.001;

  State start(const lifeguard::CounterRandom& random) const {
    State x{};
    for (std::uint32_t i = 0; i < kStates; ++i) x[i] = random.uniform(i, -kStart[i], kStart[i]);
    return x;
  }

  /// The speeds first, and the positions with the new ones (semi-implicit Euler).
  State step(const State& x, const Action& u) const {
    const double wheel_inertia = 0.5 * wheel_mass * wheel_radius * wheel_radius;  // uniform discs
    const double m =
        body_mass + payload + wheel_mass + wheel_inertia / (wheel_radius * wheel_radius);
    const double s = body_mass * body_height + payload * payload_height;
    const double j = body_inertia + body_mass * body_height * body_height +
                     payload * payload_height * payload_height;
    const double torque = u[0] - friction * (x[3] / wheel_radius - x[1]);
    const double sine = std::sin(x[0]), cosine = std::cos(x[0]);
    const double push = torque / wheel_radius + s * x[1] * x[1] * sine;
    const double turn = s * gravity * sine - torque;
    const double determinant = m * j - s * s * cosine * cosine;
    const double rate = x[1] + kTimeStep * (m * turn - s * cosine * push) / determinant;
    const double speed = x[3] + kTimeStep * (j * push - s * cosine * turn) / determinant;
    return {x[0] + kTimeStep * rate, rate, x[2] + kTimeStep * speed, speed};
  }

  double cost(const State& x, const Action& u) const {
    double sum = kTorqueWeight * u[0] * u[0];
    for (std::size_t i = 0; i < kStates; ++i) sum += kWeights[i] * x[i] * x[i];
    return sum;
  }

  // All that follows is for configurations, run files and reports.
  static constexpr std::string_view kName = "balancing-robot";
  static constexpr std::string_view kMeaning = "a body with a payload that balances on two wheels";
  static constexpr std::array<lifeguard::SignalName, kStates> kStateNames = {
      {{"body angle", "rad"}, {"body rate", "rad/s"}, {"position", "m"}, {"speed", "m/s"}}};
  static constexpr std::array<lifeguard::SignalName, kActions> kActionNames = {{{"torque", "N m"}}};

  static constexpr auto parameters() {
    using Rule = lifeguard::ParameterRule;
    using R = BalancingRobot;
    return std::to_array<lifeguard::Parameter<R>>({
        {"body_mass_kilograms", &R::body_mass, Rule::positive(), "kg", "mass of the empty body"},
        {"body_height_metres", &R::body_height, Rule::positive(), "m",
         "height of its centre of mass above the axle"},
        {"body_inertia_kilogram_metres2", &R::body_inertia, Rule::positive(), "kg m²",
         "its moment of inertia I_b about its centre of mass"},
        {"payload_kilograms", &R::payload, Rule::not_negative(), "kg", "what it carries"},
        {"payload_height_metres", &R::payload_height, Rule::positive(), "m",
         "height of that above the axle"},
        {"wheel_mass_kilograms", &R::wheel_mass, Rule::positive(), "kg", "mass m_w of both wheels"},
        {"wheel_radius_metres", &R::wheel_radius, Rule::positive(), "m", "their radius r"},
        {"friction_newton_metre_seconds", &R::friction, Rule::not_negative(), "N m s",
         "friction d of motor and bearings"},
        {"gravity_metres_per_second2", &R::gravity, Rule::positive(), "m/s²", "gravity g"},
    });
  }

  static lifeguard::TaskSettings default_settings() {
    auto settings = lifeguard::TaskSettings::unlimited(kStates, kActions);
    settings.dt_seconds = kTimeStep;
    settings.start_high = Eigen::Map<const Eigen::Vector4d>(kStart.data());  // as start() says
    settings.start_low = -settings.start_high;
    settings.state_weights = Eigen::Map<const Eigen::Vector4d>(kWeights.data());  // as cost() says
    settings.action_weights << kTorqueWeight;
    settings.action_high << 20;  // N m, of both wheels' motors
    settings.action_low = -settings.action_high;
    settings.failure_bounds << 0.5, lifeguard::kInfinity, 2, lifeguard::kInfinity;  // it has fallen
    settings.failure_cost = 5;                                                      // a step
    settings.sigma = 0.1;                                                           // N m
    settings.noise_limit = 0.2;
    return settings;
  }

  bool operator==(const BalancingRobot&) const = default;
};
