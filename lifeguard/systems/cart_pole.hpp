#ifndef LIFEGUARD_SYSTEMS_CART_POLE_HPP
#define LIFEGUARD_SYSTEMS_CART_POLE_HPP

#include <Eigen/Core>
#include <array>
#include <string_view>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

struct Family;
struct InclusionSettings;

/// A uniform rod of length l hinged on a cart that is pushed by one force. θ = 0 is upright, the
/// hinge is frictionless, the cart is damped by d ẋ:
///   (m_c + m_p) ẍ + m_p h (θ̈ cos θ - θ̇² sin θ) = gain u - d ẋ,   h = l/2,
///   (4/3) h θ̈ + ẍ cos θ = g sin θ.
/// State (x in m, ẋ in m/s, θ in rad, θ̇ in rad/s), action u in N.
struct CartPole {
  static constexpr std::string_view kName = "cart-pole";
  static constexpr std::string_view kMeaning = "a rod hinged on a cart that is pushed by one force";
  static constexpr int kStates = 4;
  static constexpr int kActions = 1;
  static constexpr std::array<SignalName, kStates> kStateNames = {{{"cart position", "m"},
                                                                   {"cart speed", "m/s"},
                                                                   {"pole angle", "rad"},
                                                                   {"pole rate", "rad/s"}}};
  static constexpr std::array<SignalName, kActions> kActionNames = {{{"force", "N"}}};
  static constexpr std::array<int, 2> kPositions = {0, 2};
  static constexpr std::array<int, 2> kVelocities = {1, 3};
  static constexpr std::string_view kDrawing = "cart-pole";
  static constexpr double kStartShare = 0;
  static constexpr std::string_view kFleetExample =
      R"([fleet.tolerance] # shares of the values, or [low, high]
cart_mass_kilograms = 0.1
pole_mass_kilograms = 0.1
pole_length_metres = 0.1
damping_newton_seconds_per_metre = 0.1

[fleet.settings]
sigma = 0.1       # N, standard deviation of the exploration noise
noise_limit = 0.2 # N, at which it is clipped

[safe_set.closed_loop] # every policy keeps the machine inside, whatever it is within its tolerance
decay = 0.997     # by which the distance from the goal shrinks at least in each step
start_share = 0.7 # the part of the start box that must be guaranteed at least
room = "nominal"  # for the LQR controller of the machine as it is known
state_limits = [3.0, inf, 0.6, 5.0]
)";

  double cart_mass_kilograms = 1.0;
  double pole_mass_kilograms = 0.15;
  /// The whole length of the rod; its centre of mass is at half of it.
  double pole_length_metres = 0.5;
  double damping_newton_seconds_per_metre = 0.05;
  double actuator_gain = 1.0;
  double gravity_metres_per_second2 = 9.81;

  /// Every field above, with rule, unit and meaning.
  static constexpr auto parameters() {
    using S = CartPole;
    using Rule = ParameterRule;
    return std::to_array<Parameter<S>>(
        {{"cart_mass_kilograms", &S::cart_mass_kilograms, Rule::positive(), "kg",
          "mass m_c of the cart"},
         {"pole_mass_kilograms", &S::pole_mass_kilograms, Rule::positive(), "kg",
          "mass m_p of the rod"},
         {"pole_length_metres", &S::pole_length_metres, Rule::positive(), "m",
          "whole length l of the rod"},
         {"damping_newton_seconds_per_metre", &S::damping_newton_seconds_per_metre,
          Rule::not_negative(), "N s/m", "damping d of the cart"},
         {"actuator_gain", &S::actuator_gain, Rule::positive(), "N/N",
          "force for each newton commanded"},
         {"gravity_metres_per_second2", &S::gravity_metres_per_second2, Rule::positive(), "m/s²",
          "gravity g"}});
  }
  /// The settings of its tasks where a configuration says nothing else.
  static TaskSettings default_settings();
  /// The paper's, and the wide one: see cart_pole_family().
  static std::vector<Family> families();

  /// Around the upright pole at rest.
  LinearModel linearise() const;
  /// Nothing pulls at an upright pole, wherever the cart is.
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const;
  /// One step as a linear inclusion: see inclusion() in plant_inclusion.hpp, which checks the
  /// settings. Needs finite limits on the pole's angle, below π/2, and on its rate.
  UncertainPlant inclusion(const TaskSettings& task, const InclusionSettings& settings) const;

  operator System() const;  // NOLINT(google-explicit-constructor)
  bool operator==(const CartPole&) const = default;
};

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_CART_POLE_HPP

#ifdef LIFEGUARD_COMPILE_DYNAMICS  // once for each SIMD target: see dynamics.hpp
HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

template <>
struct Dynamics<CartPole> {
  double gain, damping;  // per kilogram of the whole
  double pole_moment;    // m_p h / (m_c + m_p)
  double pole_inertia;   // 4/3 h
  double gravity;

  explicit Dynamics(const CartPole& s)
      : gain(s.actuator_gain / (s.cart_mass_kilograms + s.pole_mass_kilograms)),
        damping(s.damping_newton_seconds_per_metre /
                (s.cart_mass_kilograms + s.pole_mass_kilograms)),
        pole_moment(s.pole_mass_kilograms * 0.5 * s.pole_length_metres /
                    (s.cart_mass_kilograms + s.pole_mass_kilograms)),
        pole_inertia(4.0 / 3.0 * 0.5 * s.pole_length_metres),
        gravity(s.gravity_metres_per_second2) {}

  /// Solves the two equations of motion for ẍ and θ̈.
  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    Real sine, cosine;
    sine_cosine(x[2], sine, cosine);
    // ẍ if θ̈ were zero.
    const Real push =
        Real(gain) * u[0] - Real(damping) * x[1] + Real(pole_moment) * (x[3] * x[3]) * sine;
    const Real angular = (Real(gravity) * sine - cosine * push) /
                         (Real(pole_inertia) - Real(pole_moment) * (cosine * cosine));
    out[0] = push - Real(pole_moment) * (angular * cosine);
    out[1] = angular;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();
#endif
