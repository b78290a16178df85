#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "bindings/common.hpp"
#include "examples/pendulum.hpp"
#include "lifeguard/systems/custom_system.hpp"

// Tasks that Gymnasium's users know, to the letter, as systems of their own: what they are compared
// with by others, and by bench/python_environments.py.

namespace lifeguard::python {
namespace {

/// Pendulum-v1 under a name that leaves "pendulum" to users.
struct GymnasiumPendulum : Pendulum {
  static constexpr std::string_view kName = "gymnasium-pendulum";
  static constexpr std::string_view kMeaning =
      "Pendulum-v1: a rod that a weak motor has to swing up";

  static constexpr auto parameters() {
    constexpr auto kKnown = Pendulum::parameters();
    std::array<Parameter<GymnasiumPendulum>, kKnown.size()> same{};
    for (std::size_t i = 0; i < kKnown.size(); ++i) {
      const Parameter<Pendulum>& p = kKnown[i];
      same[i] = {p.name, p.field, p.rule, p.unit, p.meaning};
    }
    return same;
  }
  static TaskSettings default_settings() {
    TaskSettings settings = Pendulum::default_settings();
    settings.action_low << -2.0;
    settings.action_high << 2.0;
    return settings;
  }

  bool operator==(const GymnasiumPendulum&) const = default;
};

/// CartPole-v1, whose two actions are a push to the right, for an action of more than 0, and to the
/// left. A step costs -1.
struct GymnasiumCartPole {
  static constexpr int kStates = 4;
  static constexpr int kActions = 1;
  using State = std::array<double, kStates>;
  using Action = std::array<double, kActions>;

  double gravity = 9.8, cart_mass = 1.0, pole_mass = 0.1, half_length = 0.5, force = 10.0;
  static constexpr double kTimeStep = 0.02;
  static constexpr double kMostPosition = 2.4;
  static constexpr double kMostAngle = 12 * 2 * std::numbers::pi / 360;

  State start(const CounterRandom& random) const {
    State x;
    for (unsigned i = 0; i < kStates; ++i) x[i] = random.uniform(i, -0.05, 0.05);
    return x;
  }
  State step(const State& x, const Action& u) const {
    const double push = u[0] > 0 ? force : -force;
    const double cosine = std::cos(x[2]);
    const double sine = std::sin(x[2]);
    const double mass = cart_mass + pole_mass;
    const double moment = pole_mass * half_length;
    const double pressed = (push + moment * x[3] * x[3] * sine) / mass;
    const double turned = (gravity * sine - cosine * pressed) /
                          (half_length * (4.0 / 3.0 - pole_mass * cosine * cosine / mass));
    const double moved = pressed - moment * turned * cosine / mass;
    return {x[0] + kTimeStep * x[1], x[1] + kTimeStep * moved, x[2] + kTimeStep * x[3],
            x[3] + kTimeStep * turned};
  }
  double cost(const State& /*x*/, const Action& /*u*/) const { return -1; }
  bool failed(const State& x) const {
    return std::abs(x[0]) > kMostPosition || std::abs(x[2]) > kMostAngle;
  }

  static constexpr std::string_view kName = "gymnasium-cart-pole";
  static constexpr std::string_view kMeaning = "CartPole-v1: a pole on a cart that is pushed";
  static constexpr std::array<SignalName, kStates> kStateNames = {
      {{"position", "m"}, {"speed", "m/s"}, {"pole angle", "rad"}, {"pole rate", "rad/s"}}};
  static constexpr std::array<SignalName, kActions> kActionNames = {{{"side", "1"}}};
  static constexpr std::string_view kDrawing = "cart-pole";
  static constexpr std::array<int, 2> kPositions = {0, 2};

  static constexpr auto parameters() {
    using Rule = ParameterRule;
    return std::to_array<Parameter<GymnasiumCartPole>>(
        {{"gravity", &GymnasiumCartPole::gravity, Rule::not_negative(), "m/s²", "gravity"},
         {"cart_mass", &GymnasiumCartPole::cart_mass, Rule::positive(), "kg", "mass of the cart"},
         {"pole_mass", &GymnasiumCartPole::pole_mass, Rule::positive(), "kg", "mass of the pole"},
         {"half_length", &GymnasiumCartPole::half_length, Rule::positive(), "m",
          "half of the pole's length"},
         {"force", &GymnasiumCartPole::force, Rule::positive(), "N", "of a push"}});
  }
  static TaskSettings default_settings() {
    auto settings = TaskSettings::unlimited(kStates, kActions);
    settings.dt_seconds = kTimeStep;
    settings.action_low << -1.0;
    settings.action_high << 1.0;
    settings.sigma = 0.3;
    return settings;
  }

  bool operator==(const GymnasiumCartPole&) const = default;
};

}  // namespace

void register_gymnasium_tasks() {
  register_system(GymnasiumPendulum{});
  register_system(GymnasiumCartPole{});
}

}  // namespace lifeguard::python
