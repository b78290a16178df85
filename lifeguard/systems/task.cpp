#include "lifeguard/systems/task.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/overloaded.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/dynamics.hpp"

namespace lifeguard {
namespace {

std::span<const double> span_of(const Eigen::VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
std::span<double> span_of(Eigen::VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}

/// The linear model of one step of the integrator around an equilibrium.
LinearModel discretise(const LinearModel& c, std::span<const int> positions,
                       std::span<const int> velocities, Integrator integrator, double dt) {
  const Eigen::Index n = c.a.rows();
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(n, n);
  if (integrator == Integrator::runge_kutta_4) {
    // The step of order 4 on a linear system is its Taylor series cut after dt⁴.
    const Eigen::MatrixXd h = dt * c.a;
    const Eigen::MatrixXd series = identity + h / 2.0 * (identity + h / 3.0 * (identity + h / 4.0));
    return {identity + h * series, dt * series * c.b};
  }
  LinearModel d{identity + dt * c.a, dt * c.b};
  if (integrator == Integrator::semi_implicit_euler) {
    // At rest the rates of the positions are a sum of velocities: these are the new ones.
    for (const int position : positions) {
      d.a.row(position) = identity.row(position);
      d.b.row(position).setZero();
      for (const int velocity : velocities) {
        const double share = c.a(position, velocity);
        if (share == 0) continue;
        d.a.row(position) += dt * share * d.a.row(velocity);
        d.b.row(position) += dt * share * d.b.row(velocity);
      }
    }
  }
  return d;
}

/// The derivative of task.step() by central differences.
LinearModel differences(const Task& task) {
  constexpr double kStep = 1e-6;
  const Eigen::VectorXd& goal = task.settings.goal;
  const Eigen::VectorXd rest = task.equilibrium_action();
  LinearModel model{Eigen::MatrixXd(task.states(), task.states()),
                    Eigen::MatrixXd(task.states(), task.actions())};
  for (int i = 0; i < task.states(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(task.states(), i);
    model.a.col(i) = (task.step(goal + h, rest) - task.step(goal - h, rest)) / (2 * kStep);
  }
  for (int i = 0; i < task.actions(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(task.actions(), i);
    model.b.col(i) = (task.step(goal, rest + h) - task.step(goal, rest - h)) / (2 * kStep);
  }
  return model;
}

}  // namespace

int Task::states() const {
  return std::visit(Overloaded{[]<BuiltInSystem S>(const S&) { return int{S::kStates}; },
                               [](const CustomSystemPointer& custom) { return custom->states(); }},
                    system.model().machine);
}

int Task::actions() const {
  return std::visit(Overloaded{[]<BuiltInSystem S>(const S&) { return int{S::kActions}; },
                               [](const CustomSystemPointer& custom) { return custom->actions(); }},
                    system.model().machine);
}

int Task::own_features() const {
  return std::visit(
      Overloaded{[](const BuiltInSystem auto&) { return 0; },
                 [](const CustomSystemPointer& custom) { return custom->own_features(); }},
      system.model().machine);
}

void Task::validate() const {
  validate_system(system);
  settings.validate(states(), actions());
}

Eigen::VectorXd Task::input(const Eigen::VectorXd& state) const {
  require_size("state", state.size(), states());
  return std::visit(Overloaded{[&](const BuiltInSystem auto&) -> Eigen::VectorXd {
                                 return state - settings.goal;
                               },
                               [&](const CustomSystemPointer& custom) -> Eigen::VectorXd {
                                 if (custom->own_features() == 0) return state - settings.goal;
                                 Eigen::VectorXd out(custom->own_features());
                                 custom->features(span_of(state), span_of(out));
                                 return out;
                               }},
                    system.model().machine);
}

Eigen::VectorXd Task::step(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const {
  require_size("state", state.size(), states());
  require_size("action", action.size(), actions());
  const Eigen::VectorXd u = action.cwiseMax(settings.action_low).cwiseMin(settings.action_high);
  Eigen::VectorXd next = state;
  std::visit(Overloaded{[&]<BuiltInSystem S>(const S& s) {
                          HWY_NAMESPACE::integrate(HWY_NAMESPACE::Dynamics<S>(s),
                                                   settings.integrator, settings.dt_seconds,
                                                   u.data(), next.data());
                        },
                        [&](const CustomSystemPointer& custom) {
                          custom->step(span_of(state), span_of(u), span_of(next));
                        }},
             system.model().machine);
  return next;
}

Eigen::VectorXd Task::derivative(const Eigen::VectorXd& state,
                                 const Eigen::VectorXd& action) const {
  require_size("state", state.size(), states());
  require_size("action", action.size(), actions());
  Eigen::VectorXd out(states());
  std::visit(Overloaded{[&]<BuiltInSystem S>(const S& s) {
                          HWY_NAMESPACE::derivative(HWY_NAMESPACE::Dynamics<S>(s), state.data(),
                                                    action.data(), out.data());
                        },
                        [](const CustomSystemPointer&) {
                          throw InvalidInput(
                              "system", "custom",
                              "must be a built-in system: a custom one is defined by its step");
                        }},
             system.model().machine);
  return out;
}

double Task::cost(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const {
  require_size("state", state.size(), states());
  require_size("action", action.size(), actions());
  const Eigen::VectorXd u = action.cwiseMax(settings.action_low).cwiseMin(settings.action_high);
  return std::visit(Overloaded{[&](const BuiltInSystem auto&) {
                                 const Eigen::VectorXd error = state - settings.goal;
                                 return settings.state_weights.dot(error.cwiseAbs2()) +
                                        settings.action_weights.dot(u.cwiseAbs2());
                               },
                               [&](const CustomSystemPointer& custom) {
                                 return custom->cost(span_of(state), span_of(u));
                               }},
                    system.model().machine);
}

bool Task::failed(const Eigen::VectorXd& state) const {
  require_size("state", state.size(), states());
  for (int i = 0; i < states(); ++i) {
    if (!(std::fabs(state(i)) <= std::min(settings.failure_bounds(i), kDivergenceBound))) {
      return true;
    }
  }
  return std::visit(
      Overloaded{[](const BuiltInSystem auto&) { return false; },
                 [&](const CustomSystemPointer& custom) { return custom->failed(span_of(state)); }},
      system.model().machine);
}

LinearModel Task::linearise() const {
  if (const DescribedSystem* from_file = described(system); from_file && from_file->model) {
    return *from_file->model;
  }
  const auto continuous = [&](const BuiltInSystem auto& s) {
    if constexpr (requires { s.linearise(settings.goal); }) {
      return s.linearise(settings.goal);
    } else {
      return s.linearise();
    }
  };
  return std::visit(Overloaded{[&]<BuiltInSystem S>(const S& s) {
                                 return discretise(continuous(s), S::kPositions, S::kVelocities,
                                                   settings.integrator, settings.dt_seconds);
                               },
                               [&](const CustomSystemPointer&) { return differences(*this); }},
                    system.model().machine);
}

Eigen::VectorXd Task::equilibrium_action() const {
  return std::visit(
      Overloaded{[&](const BuiltInSystem auto& s) { return s.equilibrium_action(settings.goal); },
                 [&](const CustomSystemPointer& custom) {
                   return custom->equilibrium_action(settings.goal);
                 }},
      system.model().machine);
}

bool Task::operator==(const Task& other) const {
  return name == other.name && system == other.system && settings == other.settings;
}

TaskSettings default_settings(const System& system) {
  return std::visit(
      Overloaded{[]<BuiltInSystem S>(const S&) { return S::default_settings(); },
                 [](const CustomSystemPointer& custom) { return custom->default_settings(); }},
      system.model().machine);
}

Task make_task(std::string name, System system) {
  validate_system(system);
  TaskSettings settings = default_settings(system);
  return make_task(std::move(name), std::move(system), std::move(settings));
}

Task make_task(std::string name, System system, TaskSettings settings) {
  Task task{std::move(name), std::move(system), std::move(settings)};
  task.validate();
  return task;
}

}  // namespace lifeguard
