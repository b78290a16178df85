#include "lifeguard/systems/task_settings.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {
namespace {

template <class Value>
bool same(const Value& a, const Value& b) {
  return a == b;
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

}  // namespace

TaskSettings TaskSettings::unlimited(int states, int actions) {
  TaskSettings s;
  s.start_high = Eigen::VectorXd::Zero(states);
  s.state_weights = Eigen::VectorXd::Zero(states);
  s.action_weights = Eigen::VectorXd::Zero(actions);
  s.action_high = Eigen::VectorXd::Constant(actions, kInfinity);
  s.failure_bounds = Eigen::VectorXd::Constant(states, kInfinity);
  return symmetric(std::move(s));
}

void TaskSettings::validate(int states, int actions) const {
  require_positive("dt_seconds", dt_seconds);
  require_finite_vector("start_low", start_low, states);
  require_finite_vector("start_high", start_high, states);
  require_ordered("start_low", start_low, "start_high", start_high);
  require_each(
      "goal", goal, states, [](double x) { return std::fabs(x) <= kDivergenceBound; },
      "must lie in [-1e6, 1e6], like every state");
  require_weights("state_weights", state_weights, states);
  require_weights("action_weights", action_weights, actions);
  require_size("action_low", action_low.size(), actions);
  require_size("action_high", action_high.size(), actions);
  require_ordered("action_low", action_low, "action_high", action_high);
  // One-sided or missing limits may be infinite, but what is applied must have a finite cost.
  require_each(
      "action_low", action_low, actions, [](double x) { return x <= 1e100; },
      "must be at most 1e100");
  require_each(
      "action_high", action_high, actions, [](double x) { return x >= -1e100; },
      "must be at least -1e100");
  require_each(
      "failure_bounds", failure_bounds, states, [](double x) { return x > 0; },
      "must be greater than 0; infinity means no bound");
  require(failure_cost >= 0 && failure_cost <= 1e100, "failure_cost", failure_cost,
          "must lie in [0, 1e100]");
  sigma.require_fits("sigma", actions);
  noise_limit.require_fits("noise_limit", actions);
  require_not_negative("sigma", sigma);
  for (int a = 0; a < actions; ++a) {
    if (noise_limit.of(a) > sigma.of(a)) continue;
    require(false, noise_limit.name_of("noise_limit", a), noise_limit.of(a),
            "must be greater than sigma; infinity means none");
  }
}

bool TaskSettings::operator==(const TaskSettings& other) const {
  // A field that is added here must be described in kTaskSettings.
  [[maybe_unused]] const auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13] = *this;
  static_assert(std::tuple_size_v<decltype(kTaskSettings)> == 13);
  return std::apply([&](const auto&... s) { return (same(this->*s.field, other.*s.field) && ...); },
                    kTaskSettings);
}

TaskSettings symmetric(TaskSettings settings) {
  settings.start_low = -settings.start_high;
  settings.action_low = -settings.action_high;
  settings.goal = Eigen::VectorXd::Zero(settings.start_high.size());
  return settings;
}

}  // namespace lifeguard
