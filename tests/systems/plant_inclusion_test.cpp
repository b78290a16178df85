#include "lifeguard/systems/plant_inclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/projection_problems.hpp"
#include "tests/support/tasks.hpp"

namespace lifeguard::plant_inclusion_test {

InclusionSettings within(std::vector<ParameterRange> ranges) {
  InclusionSettings settings;
  settings.ranges = std::move(ranges);
  return settings;
}

using test_support::Draws;

/// How far cᵀx⁺ lies beyond all that the plant can do from x with u: at most 0 for every c if and
/// only if x⁺ is one of the plant's steps, since these are a convex set.
double excess(const UncertainPlant& plant, const Eigen::VectorXd& c, const Eigen::VectorXd& x,
              const Eigen::VectorXd& u, const Eigen::VectorXd& next) {
  double most = -kInfinity;
  for (const UncertainPlant::Corner& corner : plant.corners) {
    most = std::max(most, c.dot(corner.a * x + corner.b * u));
  }
  for (int j = 0; j < plant.channels(); ++j) {
    most += std::fabs(c.dot(plant.spreads.col(j)) *
                      (plant.state_factors.row(j).dot(x) + plant.action_factors.row(j).dot(u)));
  }
  return c.dot(next) - most;
}

/// The task with parameters somewhere in the ranges, often at their ends.
Task drawn(const Task& task, const std::vector<ParameterRange>& ranges, Draws& draws) {
  Task result = task;
  for (const ParameterRange& range : ranges) {
    const double share = draws.chance(0.5) ? draws.integer(0, 1) : draws.uniform();
    set_parameter(result.system, range.parameter, range.low + share * (range.high - range.low));
  }
  return result;
}

double within(double limit, Draws& draws) {
  const double size = std::min(limit, 20.0);
  return draws.chance(0.3) ? (draws.chance(0.5) ? size : -size) : draws.uniform(-size, size);
}

/// A state and an action of deviations within the limits.
Eigen::VectorXd state_within(const UncertainPlant& plant, Draws& draws) {
  Eigen::VectorXd x(plant.states());
  for (int s = 0; s < x.size(); ++s) x(s) = within(plant.state_limits(s), draws);
  return x;
}
Eigen::VectorXd action_within(const UncertainPlant& plant, const Eigen::VectorXd& limits,
                              Draws& draws) {
  Eigen::VectorXd u(plant.actions());
  for (int a = 0; a < u.size(); ++a) u(a) = within(limits(a), draws);
  for (Eigen::Index r = 0; r < plant.action_limits.size(); ++r) {
    const double value = std::fabs(plant.action_directions.row(r).dot(u));
    if (value > plant.action_limits(r)) u *= plant.action_limits(r) / value;
  }
  return u;
}

/// Random steps; returns how far the nearest came to the border of what the plant can do, relative
/// to what the channels and corners add.
void expect_steps_inside(const Task& task, const InclusionSettings& settings, int steps) {
  const UncertainPlant plant = inclusion(task, settings);
  const Eigen::VectorXd held = task.equilibrium_action();
  const Eigen::VectorXd limits = settings.action_limits.size() > 0
                                     ? settings.action_limits
                                     : Eigen::VectorXd(task.settings.action_high - held);
  Draws draws(7);
  Task machine = task;
  int outside = 0;
  double worst = -kInfinity;
  for (int i = 0; i < steps; ++i) {
    if (i % 4 == 0) machine = drawn(task, settings.ranges, draws);
    const Eigen::VectorXd x = state_within(plant, draws);
    const Eigen::VectorXd u = action_within(plant, limits, draws);
    const Eigen::VectorXd next =
        machine.step(task.settings.goal + x, held + u) - task.settings.goal;
    for (int k = 0; k < 3; ++k) {
      const Eigen::VectorXd c = draws.normals(plant.states(), 1);
      const double e = excess(plant, c, x, u, next) / (c.norm() * (1 + next.norm()));
      worst = std::max(worst, e);
      if (e > 1e-12) ++outside;
    }
  }
  EXPECT_EQ(outside, 0) << task.name << ", worst " << worst;
}

InclusionSettings cart_pole_settings(const Task& task, double share) {
  InclusionSettings settings;
  settings.ranges = tolerance(
      task,
      std::vector<std::string>{"cart_mass_kilograms", "pole_mass_kilograms", "pole_length_metres",
                               "damping_newton_seconds_per_metre", "actuator_gain"},
      share);
  settings.state_limits = Eigen::Vector4d(3, kInfinity, 0.6, 3);
  return settings;
}

InclusionSettings quadrotor_settings(const Task& task, double share) {
  InclusionSettings settings;
  settings.ranges = tolerance(
      task,
      std::vector<std::string>{"inertia_x_kilogram_metres2", "inertia_y_kilogram_metres2",
                               "inertia_z_kilogram_metres2", "arm_metres", "mass_kilograms",
                               "thrust_newton_seconds2", "drag_newton_metre_seconds2",
                               "rotor_inertia_kilogram_metres2"},
      share);
  settings.state_limits.resize(6);
  settings.state_limits << 1.2, 1.2, 1.2, 6, 5, 1.5;
  settings.action_limits = Eigen::VectorXd::Constant(4, 0.9);
  settings.combined_limits = {{"rotors 2 + 4", 0.5}, {"rotors 1 + 3", 0.6}};
  return settings;
}

constexpr std::array<Integrator, 2> kEuler = {Integrator::semi_implicit_euler,
                                              Integrator::explicit_euler};

TEST(PlantInclusion, HoldsEveryStepOfTheMass) {
  for (const Integrator integrator : kEuler) {
    Task task = make_task("mass", MassSpring{});
    task.settings.integrator = integrator;
    InclusionSettings settings;
    settings.ranges = tolerance(task, parameter_names(task.system), 0.3);
    expect_steps_inside(task, settings, 50000);
    // A spring that pulls at the goal must be known, and then deviations are all that matters.
    task.settings.goal << 0.7, 0;
    settings.ranges = tolerance(
        task, std::vector<std::string>{"mass_kilograms", "damping_newton_seconds_per_metre"}, 0.3);
    settings.action_limits = Eigen::VectorXd::Constant(1, 10);
    expect_steps_inside(task, settings, 20000);
  }
}

TEST(PlantInclusion, HoldsEveryStepOfTheCartPole) {
  for (const Integrator integrator : kEuler) {
    for (const double length : {0.2, 0.5, 0.8}) {
      Task task = make_task("cart-pole", CartPole{.pole_length_metres = length});
      task.settings.integrator = integrator;
      task.settings.goal(0) = 0.5;
      InclusionSettings settings = cart_pole_settings(task, 0.2);
      settings.state_limits(0) = 2;
      expect_steps_inside(task, settings, 20000);
    }
  }
}

TEST(PlantInclusion, HoldsEveryStepOfTheQuadrotor) {
  for (const Integrator integrator : kEuler) {
    Task task = make_task("quadrotor", Quadrotor{});
    task.settings.integrator = integrator;
    expect_steps_inside(task, quadrotor_settings(task, 0.2), 40000);
    expect_steps_inside(task, quadrotor_settings(task, 0), 20000);
    InclusionSettings family = quadrotor_settings(task, 0);
    family.ranges = quadrotor_family().ranges;
    family.combined_limits = {{"rotors 4 - 2", 0.8}, {"rotors 1 - 3", 0.8}};
    expect_steps_inside(task, family, 20000);
  }
}

InclusionSettings rigid_quadrotor_settings(const Task& task, double share) {
  InclusionSettings settings = quadrotor_settings(task, share);
  settings.state_limits(0) = 0.6;
  settings.state_limits(1) = 0.8;
  return settings;
}

TEST(PlantInclusion, HoldsEveryStepOfTheRigidQuadrotor) {
  for (const Integrator integrator : kEuler) {
    Task task = make_task("rigid-quadrotor", RigidQuadrotor{});
    task.settings.integrator = integrator;
    task.settings.goal(2) = 0.3;
    expect_steps_inside(task, rigid_quadrotor_settings(task, 0.2), 40000);
    expect_steps_inside(task, rigid_quadrotor_settings(task, 0), 20000);
  }
}

// Without the kinematics real steps stick out, and each channel of theirs is needed.
TEST(PlantInclusion, OfTheRigidQuadrotorIsWiderThanTheSimpleOnes) {
  Task task = make_task("rigid-quadrotor", RigidQuadrotor{});
  for (const Integrator integrator : kEuler) {
    task.settings.integrator = integrator;
    const InclusionSettings settings = rigid_quadrotor_settings(task, 0);
    const UncertainPlant plant = inclusion(task, settings);
    Task simple_task = make_task("quadrotor", Quadrotor{});
    simple_task.settings.integrator = integrator;
    const UncertainPlant simple = inclusion(simple_task, settings);
    EXPECT_EQ(simple.channels() + (integrator == Integrator::explicit_euler ? 6 : 18),
              plant.channels());
    Draws draws(5);
    int outside = 0;
    for (int i = 0; i < 2000; ++i) {
      const Eigen::VectorXd x = state_within(plant, draws);
      const Eigen::VectorXd u = action_within(plant, settings.action_limits, draws);
      const Eigen::VectorXd next = task.step(x, u);
      for (int angle = 0; angle < 3; ++angle) {
        outside += excess(simple, Eigen::VectorXd::Unit(6, angle), x, u, next) > 1e-6 ? 1 : 0;
      }
    }
    EXPECT_GT(outside, 1000);
  }
  const auto refused = [&](const InclusionSettings& settings, const std::string& field,
                           const std::string& value, const std::string& rule) {
    test_support::expect_invalid([&] { inclusion(task, settings); }, field, value, rule);
  };
  task.settings.failure_bounds(1) = kInfinity;
  InclusionSettings settings = rigid_quadrotor_settings(task, 0);
  settings.state_limits(1) = 1.6;
  refused(settings, "state_limits[1]", "1.6", "must be below π/2");
  task.settings.goal(0) = 0.1;
  refused(rigid_quadrotor_settings(task, 0), "goal[0]", "0.1", "must be 0");
  task = make_task("flying", FlyingQuadrotor{});
  refused({}, "statement", "nonlinear", "must be linear");
}

// A linear statement is about small steps from the goal, and holds of those up to what is of second
// order.
TEST(PlantInclusion, LinearStatementsHoldOfSmallSteps) {
  Draws draws(3);
  const auto check = [&](const Task& task, InclusionSettings settings) {
    settings.statement = PlantStatement::linear;
    const UncertainPlant plant = inclusion(task, settings);
    EXPECT_EQ(plant.statement, PlantStatement::linear);
    constexpr double kSmall = 1e-6;
    for (int i = 0; i < 5000; ++i) {
      const Task machine = drawn(task, settings.ranges, draws);
      const Eigen::VectorXd x = kSmall * draws.normals(task.states(), 1);
      const Eigen::VectorXd u = kSmall * draws.normals(task.actions(), 1);
      const Eigen::VectorXd next = machine.step(x, u);
      const Eigen::VectorXd c = draws.normals(task.states(), 1);
      EXPECT_LE(excess(plant, c, x, u, next), 1e-11);
      const LinearModel model = machine.linearise();
      EXPECT_LE(excess(plant, c, x, u, model.a * x + model.b * u), 1e-18);
    }
  };
  const Task cart_pole = make_task("cart-pole", CartPole{});
  check(cart_pole, cart_pole_settings(cart_pole, 0.2));
  const Task quadrotor = make_task("quadrotor", Quadrotor{});
  check(quadrotor, quadrotor_settings(quadrotor, 0.2));
  const Task rigid = make_task("rigid-quadrotor", RigidQuadrotor{});
  check(rigid, rigid_quadrotor_settings(rigid, 0.2));
  const Task flying = make_task("flying-quadrotor", FlyingQuadrotor{});
  check(flying, within(tolerance(flying, parameter_names(flying.system), 0.2)));
  const Task mass = make_task("mass", MassSpring{});
  check(mass, within(tolerance(mass, parameter_names(mass.system), 0.2)));
}

/// The largest and smallest value of a coefficient.
struct Extremes {
  double low = kInfinity;
  double high = -kInfinity;
  void see(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};
void expect_tight(const Extremes& seen, double low, double high, const char* what) {
  const double width = high - low;
  EXPECT_GE(seen.low, low - 1e-9 * std::fabs(low)) << what;
  EXPECT_LE(seen.high, high + 1e-9 * std::fabs(high)) << what;
  EXPECT_LE(seen.low - low, 0.03 * width) << what;
  EXPECT_LE(high - seen.high, 0.03 * width) << what;
}

// Real machines come to both ends of every coefficient of the cart-pole's inclusion.
TEST(PlantInclusion, CoefficientsOfTheCartPoleAreTight) {
  const Task task = make_task("cart-pole", CartPole{});
  const InclusionSettings settings = cart_pole_settings(task, 0.1);
  const UncertainPlant plant = inclusion(task, settings);
  const double dt = task.settings.dt_seconds;
  Draws draws(5);
  Extremes force, lever, drag, tilt, pole_tilt;
  for (int i = 0; i < 200000; ++i) {
    Task machine = task;
    for (const ParameterRange& range : settings.ranges) {
      set_parameter(machine.system, range.parameter, draws.chance(0.5) ? range.low : range.high);
    }
    Eigen::VectorXd x = Eigen::VectorXd::Zero(4);
    const double kind = draws.uniform();
    x(2) = kind < 0.3 ? 1e-4 : kind < 0.6 ? 0.6 : draws.uniform(1e-4, 0.6);
    x(3) = draws.chance(0.5) ? 0 : 3;
    const Eigen::VectorXd none = Eigen::VectorXd::Zero(1);
    const Eigen::VectorXd rest = machine.derivative(x, none);
    const Eigen::VectorXd pushed = machine.derivative(x, Eigen::VectorXd::Ones(1)) - rest;
    force.see(pushed(1));
    lever.see(-pushed(3) / pushed(1));
    Eigen::VectorXd moving = x;
    moving(1) = 1;
    drag.see(-(machine.derivative(moving, none) - rest)(1));
    tilt.see(-rest(1) / x(2));
    pole_tilt.see(rest(3) / x(2) / (-pushed(3) / pushed(1)));
  }
  double alpha_low = kInfinity, alpha_high = 0, kappa_low = kInfinity, kappa_high = 0;
  for (const UncertainPlant::Corner& corner : plant.corners) {
    alpha_low = std::min(alpha_low, corner.b(1, 0) / dt);
    alpha_high = std::max(alpha_high, corner.b(1, 0) / dt);
    kappa_low = std::min(kappa_low, -corner.b(3, 0) / corner.b(1, 0));
    kappa_high = std::max(kappa_high, -corner.b(3, 0) / corner.b(1, 0));
  }
  expect_tight(force, alpha_low, alpha_high, "force");
  expect_tight(lever, kappa_low, kappa_high, "lever");
  const auto& a = plant.corners.front().a;
  const double kappa = -plant.corners.front().b(3, 0) / plant.corners.front().b(1, 0);
  const auto channel = [&](int row, int state) {
    for (int j = 0; j < plant.channels(); ++j) {
      if (plant.state_factors(j, state) != 0 && plant.spreads(row, j) != 0) {
        return std::fabs(plant.spreads(row, j)) / dt;
      }
    }
    return 0.0;
  };
  const double zeta = -a(1, 2) / dt;
  expect_tight(tilt, zeta - channel(1, 2), zeta + channel(1, 2), "tilt of the cart");
  const double beta = (1 - a(1, 1)) / dt;
  expect_tight(drag, beta - channel(1, 1), beta + channel(1, 1), "drag");
  // τ is bounded over pieces of the angle, which leaves a little more.
  const double tau = a(3, 2) / dt / kappa;
  const double radius = channel(3, 2) / kappa_high;
  EXPECT_GE(pole_tilt.low, tau - radius);
  EXPECT_LE(pole_tilt.high, tau + radius);
  EXPECT_LE(pole_tilt.low - (tau - radius), 0.1 * radius);
  EXPECT_LE(tau + radius - pole_tilt.high, 0.1 * radius);
}

// Take a seventh away from any channel, and real steps stick out: the couplings of roll have 10 %
// more than their correlated parameters need.
TEST(PlantInclusion, NothingOfTheQuadrotorsInclusionIsSpare) {
  const Task task = make_task("quadrotor", Quadrotor{});
  const InclusionSettings settings = quadrotor_settings(task, 0.1);
  const UncertainPlant plant = inclusion(task, settings);
  ASSERT_EQ(plant.channels(), 8);
  ASSERT_EQ(plant.corners.size(), 2U);
  const auto pair = [](double a, double c, double b, double e) {  // u from the rotor pairs
    return Eigen::Vector4d((e + c) / 2, (b - a) / 2, (e - c) / 2, (b + a) / 2);
  };
  for (int j = 0; j < plant.channels(); ++j) {
    UncertainPlant less = plant;
    less.spreads.col(j) *= 0.85;
    Draws draws(11);
    bool found = false;
    for (int i = 0; i < 300000 && !found; ++i) {
      Task machine = task;
      for (const ParameterRange& range : settings.ranges) {
        set_parameter(machine.system, range.parameter, draws.chance(0.5) ? range.low : range.high);
      }
      // Ends of the limits, and small values: a channel shows where the others are silent.
      const auto pick = [&](double limit) {
        constexpr std::array<double, 5> kShares = {-1, -0.02, 0, 0.02, 1};
        return limit * kShares[static_cast<std::size_t>(draws.integer(0, 4))];
      };
      Eigen::VectorXd x = Eigen::VectorXd::Zero(6);
      for (int s = 3; s < 6; ++s) x(s) = pick(plant.state_limits(s));
      Eigen::VectorXd u = pair(pick(1.8), pick(1.8), pick(0.5), pick(0.6));
      if (u.cwiseAbs().maxCoeff() > 0.9) u *= 0.9 / u.cwiseAbs().maxCoeff();
      const Eigen::VectorXd next = machine.step(x, u);
      // The direction that the channel pushes in.
      Eigen::VectorXd c = plant.spreads.col(j).normalized();
      for (const double sign : {-1.0, 1.0}) {
        ASSERT_LE(excess(plant, sign * c, x, u, next), 1e-12);
        found = found || excess(less, sign * c, x, u, next) > 1e-12;
      }
    }
    EXPECT_TRUE(found) << "channel " << j;
  }
}

TEST(PlantInclusion, RefusesWhatItCannotProve) {
  Task task = make_task("cart-pole", CartPole{});
  InclusionSettings settings = cart_pole_settings(task, 0.1);
  const auto refused = [&](const std::string& field, const std::string& value,
                           const std::string& rule) {
    test_support::expect_invalid([&] { inclusion(task, settings); }, field, value, rule);
  };
  task.settings.integrator = Integrator::runge_kutta_4;
  refused("integrator", "runge_kutta_4", "semi_implicit_euler");
  task.settings.integrator = Integrator::semi_implicit_euler;
  settings.state_limits(3) = kInfinity;
  refused("state_limits[3]", "inf", "must be finite");
  settings.state_limits(3) = 3;
  settings.state_limits(2) = 0.7;
  refused("state_limits[2]", "0.7", "must be at most 0.6");
  settings.state_limits(2) = 0.6;
  settings.action_limits = Eigen::VectorXd::Constant(1, 21);
  refused("action_limits[0]", "21", "must be at most 20");
  settings.action_limits.resize(0);
  settings.ranges[0].high = 0.95;
  refused("ranges.cart_mass_kilograms", "[0.9, 0.95]", "must hold the task's own value 1");
  settings.ranges.clear();
  settings.combined_limits = {{"rotors", 1}};
  EXPECT_NO_THROW(inclusion(make_task("mass", MassSpring{}), {}));
  task = make_task("quadrotor", Quadrotor{});
  settings = quadrotor_settings(task, 0.1);
  settings.combined_limits = {{"rotors", 1}};
  refused("combined_limits", "rotors", "rotors 2 + 4");
  // The spring's own pull at the goal is not known.
  Task mass = make_task("mass", MassSpring{});
  mass.settings.goal << 1, 0;
  EXPECT_THROW(inclusion(mass, within(tolerance(mass, parameter_names(mass.system), 0.1))),
               InvalidInput);
}

struct Pendulum {
  static constexpr int kStates = 2;
  static constexpr int kActions = 1;
  double length_metres = 1;
  static constexpr auto parameters() {
    return std::to_array<Parameter<Pendulum>>(
        {{"length_metres", &Pendulum::length_metres, ParameterRule::positive(), "m", "length"}});
  }
  std::array<double, 2> start(const CounterRandom&) const { return {0, 0}; }
  std::array<double, 2> step(const std::array<double, 2>& x, const std::array<double, 1>& u) const {
    const double rate = x[1] + 0.01 * (9.81 / length_metres * std::sin(x[0]) + u[0]);
    return {x[0] + 0.01 * rate, rate};
  }
  double cost(const std::array<double, 2>& x, const std::array<double, 1>&) const { return x[0]; }
};

TEST(PlantInclusion, LinearisesAnyTaskAtTheCornersOfItsTolerance) {
  const Task task = make_task("pendulum", make_custom_system(Pendulum{}));
  InclusionSettings settings;
  settings.ranges = tolerance(task, std::vector<std::string>{"length_metres"}, 0.5);
  test_support::expect_invalid([&] { linearised_plant(task, settings); }, "statement", "nonlinear",
                               "must be linear");
  settings.statement = PlantStatement::linear;
  EXPECT_THROW(inclusion(task, settings), InvalidInput);
  const UncertainPlant plant = linearised_plant(task, settings);
  EXPECT_EQ(plant.statement, PlantStatement::linear);
  ASSERT_EQ(plant.corners.size(), 3U);
  EXPECT_EQ(plant.corners[0].name, "nominal");
  EXPECT_NEAR(plant.corners[0].a(1, 0), 0.0981, 1e-8);
  EXPECT_EQ(plant.corners[1].name, "length_metres = 0.5");
  EXPECT_NEAR(plant.corners[1].a(1, 0), 0.1962, 1e-8);
  EXPECT_NEAR(plant.corners[2].a(1, 0), 0.0654, 1e-8);
  EXPECT_NEAR(plant.corners[2].b(1, 0), 0.01, 1e-10);
  // And a built-in one with an integrator that has no inclusion.
  Task cart_pole = make_task("cart-pole", CartPole{});
  cart_pole.settings.integrator = Integrator::runge_kutta_4;
  settings = cart_pole_settings(cart_pole, 0.1);
  settings.statement = PlantStatement::linear;
  EXPECT_EQ(linearised_plant(cart_pole, settings).corners.size(), 33U);
}

}  // namespace lifeguard::plant_inclusion_test
