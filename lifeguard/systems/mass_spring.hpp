#ifndef LIFEGUARD_SYSTEMS_MASS_SPRING_HPP
#define LIFEGUARD_SYSTEMS_MASS_SPRING_HPP

#include <Eigen/Core>
#include <array>
#include <string_view>
#include <vector>

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

struct Family;
struct InclusionSettings;

/// A mass on a spring with a damper, pushed by one force:
///   m ẍ = gain u - k x - d ẋ.
/// State (x in m, ẋ in m/s), action u in N.
struct MassSpring {
  static constexpr std::string_view kName = "mass-spring";
  static constexpr std::string_view kMeaning =
      "a mass on a spring with a damper, pushed by one force";
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  static constexpr std::array<SignalName, kStates> kStateNames = {
      {{"position", "m"}, {"speed", "m/s"}}};
  static constexpr std::array<SignalName, kActions> kActionNames = {{{"force", "N"}}};
  static constexpr std::array<int, 1> kPositions = {0};
  static constexpr std::array<int, 1> kVelocities = {1};
  static constexpr std::string_view kDrawing = "mass-spring";
  static constexpr double kStartShare = 0;
  static constexpr std::string_view kFleetExample =
      R"([fleet.tolerance] # shares of the values, or [low, high]
spring_newtons_per_metre = 0.1
damping_newton_seconds_per_metre = 0.1
mass_kilograms = 0.1

[fleet.settings]
action_weights = 0.05 # gains whose force stays below 20 N
sigma = 0.25          # N, standard deviation of the exploration noise
noise_limit = 0.5     # N, at which it is clipped

[safe_set.closed_loop] # every policy keeps the machine inside, whatever it is within its tolerance
decay = 0.995     # by which the distance from the goal shrinks at least in each step
start_share = 0.7 # the part of the start box that must be guaranteed at least
state_limits = [8.0, 10.0]
)";

  double spring_newtons_per_metre = 5.5;
  double damping_newton_seconds_per_metre = 0.105;
  double mass_kilograms = 2.75;
  /// Newtons of force for each newton commanded.
  double actuator_gain = 1.0;

  /// Every field above, with rule, unit and meaning.
  static constexpr auto parameters() {
    using S = MassSpring;
    using Rule = ParameterRule;
    return std::to_array<Parameter<S>>(
        {{"spring_newtons_per_metre", &S::spring_newtons_per_metre, Rule::not_negative(), "N/m",
          "stiffness k of the spring"},
         {"damping_newton_seconds_per_metre", &S::damping_newton_seconds_per_metre,
          Rule::not_negative(), "N s/m", "damping d"},
         {"mass_kilograms", &S::mass_kilograms, Rule::positive(), "kg", "mass m"},
         {"actuator_gain", &S::actuator_gain, Rule::positive(), "N/N",
          "force for each newton commanded"}});
  }
  /// The settings of its tasks where a configuration says nothing else.
  static TaskSettings default_settings();
  /// The paper's, and the wide one: see mass_spring_family().
  static std::vector<Family> families();

  /// d(x, ẋ)/dt = A (x, ẋ) + B u; exact everywhere, since the system is linear.
  LinearModel linearise() const;
  /// The force that holds the spring at the goal.
  Eigen::VectorXd equilibrium_action(const Eigen::VectorXd& goal) const;
  /// One step as a linear inclusion: see inclusion() in plant_inclusion.hpp, which checks the
  /// settings.
  UncertainPlant inclusion(const TaskSettings& task, const InclusionSettings& settings) const;

  operator System() const;  // NOLINT(google-explicit-constructor)
  bool operator==(const MassSpring&) const = default;
};

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_MASS_SPRING_HPP

#ifdef LIFEGUARD_COMPILE_DYNAMICS  // once for each SIMD target: see dynamics.hpp
HWY_BEFORE_NAMESPACE();
namespace lifeguard {
namespace HWY_NAMESPACE {

template <>
struct Dynamics<MassSpring> {
  double force, spring, damping;  // per kilogram

  explicit Dynamics(const MassSpring& s)
      : force(s.actuator_gain / s.mass_kilograms),
        spring(s.spring_newtons_per_metre / s.mass_kilograms),
        damping(s.damping_newton_seconds_per_metre / s.mass_kilograms) {}

  template <class Real>
  HWY_INLINE void accelerations(const Real* x, const Real* u, Real* out) const {
    out[0] = Real(force) * u[0] - Real(spring) * x[0] - Real(damping) * x[1];
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace lifeguard
HWY_AFTER_NAMESPACE();
#endif
