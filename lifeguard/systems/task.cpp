#include "lifeguard/systems/task.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/dynamics.hpp"

namespace lifeguard {
namespace {

using CustomPointer = std::shared_ptr<const CustomSystem>;

/// Calls visitor with the double-precision dynamics of a built-in system.
template <class Visitor>
void visit_dynamics(const System& system, const Visitor& visitor) {
  if (const auto* mass = std::get_if<MassSpring>(&system)) {
    visitor(HWY_NAMESPACE::MassSpringDynamics(*mass));
  } else if (const auto* cart = std::get_if<CartPole>(&system)) {
    visitor(HWY_NAMESPACE::CartPoleDynamics(*cart));
  } else if (const auto* quad = std::get_if<Quadrotor>(&system)) {
    visitor(HWY_NAMESPACE::QuadrotorDynamics(*quad));
  }
}

bool same(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  return a.size() == b.size() && (a.array() == b.array()).all();
}

/// Of the right size, and each entry obeys the rule. The name of an entry is only made for a
/// message, since tasks are validated before every rollout.
template <class Rule>
void require_each(std::string_view field, const Eigen::VectorXd& v, int size, const Rule& obeys,
                  std::string_view rule) {
  require_size(field, v.size(), size);
  for (int i = 0; i < size; ++i) {
    if (!obeys(v(i))) require(false, indexed(field, i), v(i), rule);
  }
}

void require_finite_vector(std::string_view field, const Eigen::VectorXd& v, int size) {
  require_each(
      field, v, size, [](double x) { return std::isfinite(x); }, "must be finite");
}

void require_weights(std::string_view field, const Eigen::VectorXd& v, int size) {
  // The upper limit keeps every cost finite, whatever the state.
  require_each(
      field, v, size, [](double x) { return x >= 0 && x <= 1e100; }, "must lie in [0, 1e100]");
}

void require_ordered(std::string_view low_field, const Eigen::VectorXd& low,
                     std::string_view high_field, const Eigen::VectorXd& high) {
  for (Eigen::Index i = 0; i < low.size(); ++i) {
    if (low(i) <= high(i)) continue;
    require(false, indexed(low_field, i), low(i),
            fmt::format("must not exceed {} = {}", indexed(high_field, i), high(i)));
  }
}

/// The linear model of one step of the integrator around an equilibrium.
LinearModel discretise(const LinearModel& c, Integrator integrator, double dt) {
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
    // Rows of positions have the form x_p⁺ = x_p + dt v⁺: replace v by the row of v⁺.
    for (Eigen::Index row = 0; row < n; ++row) {
      if (!c.b.row(row).isZero(0) || c.a.row(row).array().abs().sum() != 1) continue;
      Eigen::Index velocity = 0;
      c.a.row(row).maxCoeff(&velocity);
      d.a.row(row) = identity.row(row) + dt * d.a.row(velocity);
      d.b.row(row) = dt * d.b.row(velocity);
    }
  }
  return d;
}

}  // namespace

bool TaskSettings::operator==(const TaskSettings& o) const {
  return dt_seconds == o.dt_seconds && integrator == o.integrator && same(start_low, o.start_low) &&
         same(start_high, o.start_high) && same(goal, o.goal) &&
         same(state_weights, o.state_weights) && same(action_weights, o.action_weights) &&
         same(action_low, o.action_low) && same(action_high, o.action_high) &&
         same(failure_bounds, o.failure_bounds) && failure_cost == o.failure_cost &&
         sigma == o.sigma;
}

int Task::states() const {
  if (const auto* custom = std::get_if<CustomPointer>(&system)) return (*custom)->states();
  int count = 0;
  visit_dynamics(system, [&](const auto& dynamics) { count = dynamics.kStates; });
  return count;
}

int Task::actions() const {
  if (const auto* custom = std::get_if<CustomPointer>(&system)) return (*custom)->actions();
  int count = 0;
  visit_dynamics(system, [&](const auto& dynamics) { count = dynamics.kActions; });
  return count;
}

void Task::validate() const {
  if (const auto* mass = std::get_if<MassSpring>(&system)) mass->validate();
  if (const auto* cart = std::get_if<CartPole>(&system)) cart->validate();
  if (const auto* quad = std::get_if<Quadrotor>(&system)) quad->validate();
  if (const auto* custom = std::get_if<CustomPointer>(&system)) {
    require(*custom != nullptr, "system", "null", "must be a system");
  }
  const TaskSettings& s = settings;
  require_positive("dt_seconds", s.dt_seconds);
  require_finite_vector("start_low", s.start_low, states());
  require_finite_vector("start_high", s.start_high, states());
  require_ordered("start_low", s.start_low, "start_high", s.start_high);
  require_each(
      "goal", s.goal, states(), [](double x) { return std::fabs(x) <= kDivergenceBound; },
      "must lie in [-1e6, 1e6], like every state");
  require_weights("state_weights", s.state_weights, states());
  require_weights("action_weights", s.action_weights, actions());
  require_size("action_low", s.action_low.size(), actions());
  require_size("action_high", s.action_high.size(), actions());
  require_ordered("action_low", s.action_low, "action_high", s.action_high);
  // One-sided or missing limits may be infinite, but what is applied must have a finite cost.
  require_each(
      "action_low", s.action_low, actions(), [](double x) { return x <= 1e100; },
      "must be at most 1e100");
  require_each(
      "action_high", s.action_high, actions(), [](double x) { return x >= -1e100; },
      "must be at least -1e100");
  require_each(
      "failure_bounds", s.failure_bounds, states(), [](double x) { return x > 0; },
      "must be greater than 0; infinity means no bound");
  require(s.failure_cost >= 0 && s.failure_cost <= 1e100, "failure_cost", s.failure_cost,
          "must lie in [0, 1e100]");
  require_not_negative("sigma", s.sigma);
}

Eigen::VectorXd Task::step(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const {
  require_size("state", state.size(), states());
  require_size("action", action.size(), actions());
  const Eigen::VectorXd u = action.cwiseMax(settings.action_low).cwiseMin(settings.action_high);
  Eigen::VectorXd next = state;
  if (const auto* custom = std::get_if<CustomPointer>(&system)) {
    (*custom)->step({state.data(), static_cast<std::size_t>(state.size())},
                    {u.data(), static_cast<std::size_t>(u.size())},
                    {next.data(), static_cast<std::size_t>(next.size())});
    return next;
  }
  visit_dynamics(system, [&](const auto& dynamics) {
    HWY_NAMESPACE::integrate(dynamics, settings.integrator, settings.dt_seconds, u.data(),
                             next.data());
  });
  return next;
}

Eigen::VectorXd Task::derivative(const Eigen::VectorXd& state,
                                 const Eigen::VectorXd& action) const {
  require(!std::holds_alternative<CustomPointer>(system), "system", "custom",
          "must be a built-in system: a custom one is defined by its step");
  require_size("state", state.size(), states());
  require_size("action", action.size(), actions());
  Eigen::VectorXd out(states());
  visit_dynamics(system, [&](const auto& dynamics) {
    HWY_NAMESPACE::derivative(dynamics, state.data(), action.data(), out.data());
  });
  return out;
}

double Task::cost(const Eigen::VectorXd& state, const Eigen::VectorXd& action) const {
  require_size("state", state.size(), states());
  require_size("action", action.size(), actions());
  const Eigen::VectorXd u = action.cwiseMax(settings.action_low).cwiseMin(settings.action_high);
  if (const auto* custom = std::get_if<CustomPointer>(&system)) {
    return (*custom)->cost({state.data(), static_cast<std::size_t>(state.size())},
                           {u.data(), static_cast<std::size_t>(u.size())});
  }
  const Eigen::VectorXd error = state - settings.goal;
  return settings.state_weights.dot(error.cwiseAbs2()) + settings.action_weights.dot(u.cwiseAbs2());
}

bool Task::failed(const Eigen::VectorXd& state) const {
  require_size("state", state.size(), states());
  for (int i = 0; i < states(); ++i) {
    if (!(std::fabs(state(i)) <= std::min(settings.failure_bounds(i), kDivergenceBound))) {
      return true;
    }
  }
  const auto* custom = std::get_if<CustomPointer>(&system);
  return custom != nullptr &&
         (*custom)->failed({state.data(), static_cast<std::size_t>(state.size())});
}

LinearModel Task::linearise() const {
  if (const auto* mass = std::get_if<MassSpring>(&system)) {
    return discretise(mass->linearise(), settings.integrator, settings.dt_seconds);
  }
  if (const auto* cart = std::get_if<CartPole>(&system)) {
    return discretise(cart->linearise(), settings.integrator, settings.dt_seconds);
  }
  if (const auto* quad = std::get_if<Quadrotor>(&system)) {
    return discretise(quad->linearise(), settings.integrator, settings.dt_seconds);
  }
  // A custom system: central differences of its step.
  constexpr double kStep = 1e-6;
  const Eigen::VectorXd rest = Eigen::VectorXd::Zero(actions());
  LinearModel model{Eigen::MatrixXd(states(), states()), Eigen::MatrixXd(states(), actions())};
  for (int i = 0; i < states(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(states(), i);
    model.a.col(i) = (step(settings.goal + h, rest) - step(settings.goal - h, rest)) / (2 * kStep);
  }
  for (int i = 0; i < actions(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(actions(), i);
    model.b.col(i) = (step(settings.goal, h) - step(settings.goal, -h)) / (2 * kStep);
  }
  return model;
}

Eigen::VectorXd Task::equilibrium_action() const {
  Eigen::VectorXd action = Eigen::VectorXd::Zero(actions());
  if (const auto* mass = std::get_if<MassSpring>(&system)) {
    action(0) = mass->spring_newtons_per_metre * settings.goal(0) / mass->actuator_gain;
  }
  return action;
}

TaskSettings default_settings(const System& system) {
  TaskSettings s;
  if (std::holds_alternative<MassSpring>(system)) {
    s.dt_seconds = 0.05;
    s.start_high = Eigen::Vector2d(2, 2);
    s.state_weights = Eigen::Vector2d(1, 0.1);
    s.action_weights = Eigen::VectorXd::Constant(1, 0.001);
    s.action_high = Eigen::VectorXd::Constant(1, 20);
    s.failure_bounds = Eigen::VectorXd::Constant(2, kInfinity);
    s.failure_cost = 100;
    s.sigma = 0.5;
  } else if (std::holds_alternative<CartPole>(system)) {
    s.dt_seconds = 0.02;
    s.start_high = Eigen::Vector4d(0.2, 0.2, 0.14, 0.2);
    s.state_weights = Eigen::Vector4d(0.1, 0, 4, 0);
    s.action_weights = Eigen::VectorXd::Constant(1, 0.001);
    s.action_high = Eigen::VectorXd::Constant(1, 20);
    s.failure_bounds = Eigen::Vector4d(3, kInfinity, 0.6, kInfinity);
    s.failure_cost = 5;
    s.sigma = 1;
  } else if (std::holds_alternative<Quadrotor>(system)) {
    s.dt_seconds = 0.01;
    s.start_high.resize(6);
    s.start_high << 0.4, 0.4, 0.4, 0.2, 0.2, 0.2;
    s.state_weights.resize(6);
    s.state_weights << 1, 1, 1, 0.01, 0.01, 0.01;
    s.action_weights = Eigen::VectorXd::Constant(4, 0.01);
    s.action_high = Eigen::VectorXd::Constant(4, 1);
    s.failure_bounds = Eigen::VectorXd::Constant(6, kInfinity);
    // A quadrotor that rolled or pitched by a quarter turn has flipped.
    s.failure_bounds.head(2).setConstant(std::numbers::pi / 2);
    s.failure_cost = 10;
    s.sigma = 0.1;
  } else {
    const CustomSystem& custom = *std::get<CustomPointer>(system);
    s.start_high = Eigen::VectorXd::Zero(custom.states());
    s.state_weights = Eigen::VectorXd::Zero(custom.states());
    s.action_weights = Eigen::VectorXd::Zero(custom.actions());
    s.action_high = Eigen::VectorXd::Constant(custom.actions(), kInfinity);
    s.failure_bounds = Eigen::VectorXd::Constant(custom.states(), kInfinity);
  }
  s.start_low = -s.start_high;
  s.action_low = -s.action_high;
  s.goal = Eigen::VectorXd::Zero(s.start_high.size());
  return s;
}

Task make_task(std::string name, System system) {
  TaskSettings settings = default_settings(system);
  return make_task(std::move(name), std::move(system), std::move(settings));
}

Task make_task(std::string name, System system, TaskSettings settings) {
  Task task{std::move(name), std::move(system), std::move(settings)};
  task.validate();
  return task;
}

}  // namespace lifeguard
