#pragma once

#include <Eigen/Core>
#include <array>
#include <string_view>
#include <tuple>

#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// What a setting has one entry for.
enum class EntryFor { task, state, action };

/// One of the TaskSettings as configurations and tables see it.
template <class Value>
struct TaskSettingDescription {
  std::string_view key;
  Value TaskSettings::*field;
  EntryFor entry;
  std::string_view meaning;
  bool of_the_system = false;  // a custom system has its own, so this one cannot be chosen for it
};

/// All of them, for whoever reads, compares or documents settings.
inline constexpr auto kTaskSettings = std::make_tuple(
    TaskSettingDescription<double>{"dt_seconds", &TaskSettings::dt_seconds, EntryFor::task,
                                   "length of a step; the action is held", true},
    TaskSettingDescription<Integrator>{"integrator", &TaskSettings::integrator, EntryFor::task,
                                       "how a step is computed", true},
    TaskSettingDescription<Eigen::VectorXd>{"start_low", &TaskSettings::start_low, EntryFor::state,
                                            "lower corner of the box of start states", true},
    TaskSettingDescription<Eigen::VectorXd>{"start_high", &TaskSettings::start_high,
                                            EntryFor::state,
                                            "upper corner of the box of start states", true},
    TaskSettingDescription<Eigen::VectorXd>{"goal", &TaskSettings::goal, EntryFor::state,
                                            "where the state should be"},
    TaskSettingDescription<Eigen::VectorXd>{"state_weights", &TaskSettings::state_weights,
                                            EntryFor::state, "cost of (x - goal)² a step"},
    TaskSettingDescription<Eigen::VectorXd>{"action_weights", &TaskSettings::action_weights,
                                            EntryFor::action, "cost of u² a step, as applied"},
    TaskSettingDescription<Eigen::VectorXd>{"action_low", &TaskSettings::action_low,
                                            EntryFor::action, "lower limit of the action"},
    TaskSettingDescription<Eigen::VectorXd>{"action_high", &TaskSettings::action_high,
                                            EntryFor::action, "upper limit of the action"},
    TaskSettingDescription<Eigen::VectorXd>{"failure_bounds", &TaskSettings::failure_bounds,
                                            EntryFor::state, "|x| beyond this ends the trajectory"},
    TaskSettingDescription<double>{"failure_cost", &TaskSettings::failure_cost, EntryFor::task,
                                   "cost of every step after the end"},
    TaskSettingDescription<PerAction>{"sigma", &TaskSettings::sigma, EntryFor::action,
                                      "standard deviation of the exploration noise"},
    TaskSettingDescription<PerAction>{"noise_limit", &TaskSettings::noise_limit, EntryFor::action,
                                      "the noise is clipped at ± this"});

/// "explicit_euler", "semi_implicit_euler", "runge_kutta_4": the place of a name is the value.
inline constexpr std::array<std::string_view, 3> kIntegratorNames = {
    "explicit_euler", "semi_implicit_euler", "runge_kutta_4"};

/// These settings with start_low = -start_high, action_low = -action_high and the goal at the
/// origin.
TaskSettings symmetric(TaskSettings settings);

}  // namespace lifeguard
