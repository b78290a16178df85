#pragma once

#include <Eigen/Core>
#include <array>
#include <limits>
#include <string_view>
#include <tuple>

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
  /// Standard deviation of the exploration noise on every action, as it is played.
  double sigma = 0.1;
  /// The noise on every action is clipped at ±this (core/clipped_noise.hpp); infinity: it is not.
  double noise_limit = std::numeric_limits<double>::infinity();

  /// Settings for so many states and actions that start at the origin, have it as their goal, and
  /// limit and weigh nothing.
  static TaskSettings unlimited(int states, int actions);
  /// Throws InvalidInput naming the field, its value and the rule.
  void validate(int states, int actions) const;

  bool operator==(const TaskSettings& other) const;
};

/// What a setting has one entry for.
enum class EntryFor { task, state, action };

/// One setting as configurations and tables see it.
template <class Value>
struct TaskSetting {
  std::string_view key;
  Value TaskSettings::*field;
  EntryFor entry;
  std::string_view meaning;
  bool of_the_system = false;  // a custom system has its own, so this one cannot be chosen for it
};

/// All of them, for whoever reads, compares or documents settings.
inline constexpr auto kTaskSettings = std::make_tuple(
    TaskSetting<double>{"dt_seconds", &TaskSettings::dt_seconds, EntryFor::task,
                        "length of a step; the action is held", true},
    TaskSetting<Integrator>{"integrator", &TaskSettings::integrator, EntryFor::task,
                            "how a step is computed", true},
    TaskSetting<Eigen::VectorXd>{"start_low", &TaskSettings::start_low, EntryFor::state,
                                 "lower corner of the box of start states", true},
    TaskSetting<Eigen::VectorXd>{"start_high", &TaskSettings::start_high, EntryFor::state,
                                 "upper corner of the box of start states", true},
    TaskSetting<Eigen::VectorXd>{"goal", &TaskSettings::goal, EntryFor::state,
                                 "where the state should be"},
    TaskSetting<Eigen::VectorXd>{"state_weights", &TaskSettings::state_weights, EntryFor::state,
                                 "cost of (x - goal)² a step"},
    TaskSetting<Eigen::VectorXd>{"action_weights", &TaskSettings::action_weights, EntryFor::action,
                                 "cost of u² a step, as applied"},
    TaskSetting<Eigen::VectorXd>{"action_low", &TaskSettings::action_low, EntryFor::action,
                                 "lower limit of the action"},
    TaskSetting<Eigen::VectorXd>{"action_high", &TaskSettings::action_high, EntryFor::action,
                                 "upper limit of the action"},
    TaskSetting<Eigen::VectorXd>{"failure_bounds", &TaskSettings::failure_bounds, EntryFor::state,
                                 "|x| beyond this ends the trajectory"},
    TaskSetting<double>{"failure_cost", &TaskSettings::failure_cost, EntryFor::task,
                        "cost of every step after the end"},
    TaskSetting<double>{"sigma", &TaskSettings::sigma, EntryFor::task,
                        "standard deviation of the exploration noise"},
    TaskSetting<double>{"noise_limit", &TaskSettings::noise_limit, EntryFor::task,
                        "the noise on every action is clipped at ± this"});

/// "explicit_euler", "semi_implicit_euler", "runge_kutta_4": the place of a name is the value.
inline constexpr std::array<std::string_view, 3> kIntegratorNames = {
    "explicit_euler", "semi_implicit_euler", "runge_kutta_4"};

/// These settings with start_low = -start_high, action_low = -action_high and the goal at the
/// origin.
TaskSettings symmetric(TaskSettings settings);

}  // namespace lifeguard
