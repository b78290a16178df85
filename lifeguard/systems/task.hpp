#pragma once

#include <Eigen/Core>
#include <string>

#include "lifeguard/systems/linear_model.hpp"
#include "lifeguard/systems/system.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard {

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

/// A checked task, with the system's default settings or with these.
Task make_task(std::string name, System system);
Task make_task(std::string name, System system, TaskSettings settings);

}  // namespace lifeguard
