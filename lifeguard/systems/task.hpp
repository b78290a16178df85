#pragma once

#include <Eigen/Core>
#include <memory>
#include <string>
#include <variant>

#include "lifeguard/policy/features.hpp"
#include "lifeguard/systems/cart_pole.hpp"
#include "lifeguard/systems/linear_model.hpp"
#include "lifeguard/systems/mass_spring.hpp"
#include "lifeguard/systems/quadrotor.hpp"

namespace lifeguard {

/// How a step of dt is taken with the action held. All built-in systems have the state
/// (positions, velocities), which the semi-implicit form uses.
enum class Integrator {
  explicit_euler,       // order 1; unstable on weakly damped oscillations, kept for comparison
  semi_implicit_euler,  // order 1, symplectic: velocities first, then positions with the new ones
  runge_kutta_4,        // order 4, four times the work
};

/// A state that leaves ±this has diverged: no system here means anything out there.
inline constexpr double kDivergenceBound = 1e6;

/// Everything that makes a control problem out of a system, in SI units. The vectors have one entry
/// for each state or action of the system. A custom system has its own start, cost and step; of
/// these settings it takes the action limits, the failure bounds and cost, and sigma.
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
  /// Standard deviation of the exploration noise on every action.
  double sigma = 0.1;

  bool operator==(const TaskSettings& other) const;
};

class CustomSystem;  // a user's own system: see custom_system.hpp

using System = std::variant<MassSpring, CartPole, Quadrotor, std::shared_ptr<const CustomSystem>>;

/// One control problem: a value without hidden state. Build it with a checked constructor function
/// below or with Family::draw, and call validate() after changing it.
struct Task {
  std::string name;
  System system;
  TaskSettings settings;

  int states() const;
  int actions() const;
  /// Throws InvalidInput naming the field, its value and the rule.
  void validate() const;

  /// One step with the action limited and held for dt; no noise, no failure test.
  Eigen::VectorXd step(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const;
  /// dx/dt of a built-in system.
  Eigen::VectorXd derivative(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const;
  /// The cost of one live step.
  double cost(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const;
  bool failed(const Eigen::VectorXd& state) const;
  /// The derivative of step() at the goal and the action that holds it there, analytically, with
  /// the integrator's own discretisation; by central differences for a custom system.
  LinearModel linearise() const;
  /// The action that keeps the goal at rest (zero unless a spring pulls at the goal).
  Eigen::VectorXd equilibrium_action() const;

  bool operator==(const Task&) const = default;
};

/// The system's default settings, as in docs/systems.md.
TaskSettings default_settings(const System& system);

Task make_task(std::string name, System system);
Task make_task(std::string name, System system, TaskSettings settings);

}  // namespace lifeguard
