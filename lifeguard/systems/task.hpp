#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/per_action.hpp"
#include "lifeguard/systems/system.hpp"

namespace lifeguard {

/// How a step of dt is taken with the action held. All built-in systems have the state
/// (positions, velocities), which the semi-implicit form uses; the rates of the positions are the
/// velocities or, of Euler's angles, follow from them.
enum class Integrator {
  explicit_euler,       // order 1; unstable on weakly damped oscillations, kept for comparison
  semi_implicit_euler,  // order 1, symplectic: velocities first, then positions with the new ones
  runge_kutta_4,        // order 4, four times the work
};

/// A state that leaves ±this has diverged: no system here means anything out there.
inline constexpr double kDivergenceBound = 1e6;

/// Everything that makes a control problem out of a system, in SI units. The vectors have one entry
/// for each state or action of the system.
///
/// A custom system has its own start, step and cost: of these settings its simulation takes the
/// goal, the action limits, the failure bounds and cost, and sigma. dt_seconds tells how long its
/// step is, the weights are those of its LQR controller.
struct TaskSettings {
  double dt_seconds = 0.01;
  Integrator integrator = Integrator::semi_implicit_euler;
  /// Trajectories start uniformly in the box [start_low, start_high].
  Eigen::VectorXd start_low;
  Eigen::VectorXd start_high;
  /// Where the state should be; features and costs see x - goal.
  Eigen::VectorXd goal;
  /// A step costs Σ state_weights (x - goal)² + Σ action_weights u², with u as applied.
  Eigen::VectorXd state_weights;
  Eigen::VectorXd action_weights;
  /// Actions are limited to [action_low, action_high] before they reach the system.
  Eigen::VectorXd action_low;
  Eigen::VectorXd action_high;
  /// |x_i| > failure_bounds_i is a failure (infinity: none), and so is a diverged state: the
  /// trajectory is absorbed, and each further step costs failure_cost.
  Eigen::VectorXd failure_bounds;
  double failure_cost = 100.0;
  /// Standard deviation of the exploration noise on every action, or on each, as it is played.
  PerAction sigma = 0.1;
  /// The noise on every action, or on each, is clipped at ±this (core/clipped_noise.hpp); infinity:
  /// it is not.
  PerAction noise_limit = std::numeric_limits<double>::infinity();

  /// Settings for so many states and actions that start at the origin, have it as their goal, and
  /// limit and weigh nothing.
  static TaskSettings unlimited(int states, int actions);
  /// Throws InvalidInput naming the field, its value and the rule.
  void validate(int states, int actions) const;

  bool operator==(const TaskSettings& other) const;
};

/// ẋ = A x + B u in continuous time, or x⁺ = A x + B u in discrete time, in deviations from an
/// equilibrium.
struct LinearModel {
  Eigen::MatrixXd a;
  Eigen::MatrixXd b;
};

/// One control problem: a value without hidden state. Build it with a checked constructor function
/// below or with Family::draw, and call validate() after changing it.
struct Task {
  std::string name;
  System system;
  TaskSettings settings;

  /// The sizes of the system's state and action.
  int states() const;
  int actions() const;
  /// Number of features of the system's own, 0 if the policy sees Features of the state.
  int own_features() const;
  /// Number of what a policy with default features sees: its gains are actions × inputs.
  int inputs() const { return own_features() > 0 ? own_features() : states(); }
  /// Throws InvalidInput naming the field, its value and the rule.
  void validate() const;

  /// What a policy with default features sees in this state: the system's own features, else the
  /// state relative to the goal.
  Eigen::VectorXd input(const Eigen::VectorXd& state) const;
  /// One step with the action limited and held for dt; no noise, no failure test.
  Eigen::VectorXd step(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const;
  /// dx/dt of a built-in system.
  Eigen::VectorXd derivative(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const;
  /// The cost of one live step.
  double cost(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const;
  /// Whether this state ends the trajectory.
  bool failed(const Eigen::VectorXd& state) const;
  /// The derivative of step() at the goal and the action that holds it there, analytically, with
  /// the integrator's own discretisation; by central differences for a custom system.
  LinearModel linearise() const;
  /// The action that keeps the goal at rest, e.g. against a spring.
  Eigen::VectorXd equilibrium_action() const;

  bool operator==(const Task& other) const;
};

/// The settings that tasks of the system have by default, as in docs/systems.md.
TaskSettings default_settings(const System& system);

/// A checked task, with the system's default settings or with these.
Task make_task(std::string name, System system);
Task make_task(std::string name, System system, TaskSettings settings);

/// Similar tasks: one system, some of its parameters varied, everything else in common.
struct Family {
  std::string name;
  System nominal;  // parameters without a range stay as they are here
  std::vector<ParameterRange> ranges;
  TaskSettings settings;

  /// Throws InvalidInput naming the field, its value and the rule.
  void validate() const;
  /// Task `index` of the family drawn with this seed: a pure function of both.
  Task draw(std::uint64_t seed, std::uint64_t index) const;
  std::vector<Task> draw_many(std::uint64_t seed, int count) const;
};

/// The family of a system with its default settings.
Family make_family(std::string name, System nominal, std::vector<ParameterRange> ranges);

/// The families of the paper's experiments.
Family mass_spring_family();
Family cart_pole_family();
Family quadrotor_family();
/// The same with an actuator gain drawn log-uniformly, from [1/3, 3] and from [1/2, 2]: tasks that
/// differ in kind, for which no one policy is good.
Family wide_mass_spring_family();
Family wide_cart_pole_family();

/// Makes a system known by its name, so that configurations, run files and commands treat it as the
/// built-in ones, which are there from the beginning. Do this before anything reads a configuration
/// that names it: what was drawn, played or stored with a system can only be read where the same
/// system is registered under the same name.
///
/// `families` are what the key family.base may name. The first must have the system's own name;
/// without any, the system has one family of that name in which nothing varies.
///
/// Throws InvalidInput if the system has no name, if a name is taken, or if a family is not valid.
void register_system(System system, std::vector<Family> families = {});

/// The names of all registered systems, built-in ones first, and the system of a name with its
/// default parameters.
std::vector<std::string> system_names();
System system_by_name(std::string_view name);
/// The families that configurations can name: those of the registered systems. "mass-spring",
/// "cart-pole", "quadrotor", "rigid-quadrotor", "flying-quadrotor", "wide-mass-spring" and
/// "wide-cart-pole" are always there.
std::vector<std::string> family_names();
Family family_by_name(std::string_view name);

}  // namespace lifeguard
