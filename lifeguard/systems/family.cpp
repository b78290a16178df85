#include "lifeguard/systems/family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"

namespace lifeguard {
namespace {

using NamedParameter = std::pair<const char*, double*>;

/// Every parameter of a built-in system with the name of its field.
std::vector<NamedParameter> named_parameters(System& system) {
  if (auto* s = std::get_if<MassSpring>(&system)) {
    return {{"spring_newtons_per_metre", &s->spring_newtons_per_metre},
            {"damping_newton_seconds_per_metre", &s->damping_newton_seconds_per_metre},
            {"mass_kilograms", &s->mass_kilograms},
            {"actuator_gain", &s->actuator_gain}};
  }
  if (auto* s = std::get_if<CartPole>(&system)) {
    return {{"cart_mass_kilograms", &s->cart_mass_kilograms},
            {"pole_mass_kilograms", &s->pole_mass_kilograms},
            {"pole_length_metres", &s->pole_length_metres},
            {"damping_newton_seconds_per_metre", &s->damping_newton_seconds_per_metre},
            {"actuator_gain", &s->actuator_gain},
            {"gravity_metres_per_second2", &s->gravity_metres_per_second2}};
  }
  if (auto* s = std::get_if<Quadrotor>(&system)) {
    return {{"inertia_x_kilogram_metres2", &s->inertia_x_kilogram_metres2},
            {"inertia_y_kilogram_metres2", &s->inertia_y_kilogram_metres2},
            {"inertia_z_kilogram_metres2", &s->inertia_z_kilogram_metres2},
            {"arm_metres", &s->arm_metres},
            {"mass_kilograms", &s->mass_kilograms},
            {"thrust_newton_seconds2", &s->thrust_newton_seconds2},
            {"drag_newton_metre_seconds2", &s->drag_newton_metre_seconds2},
            {"rotor_inertia_kilogram_metres2", &s->rotor_inertia_kilogram_metres2},
            {"gravity_metres_per_second2", &s->gravity_metres_per_second2}};
  }
  return {};
}

Family make_family(std::string name, System nominal, std::vector<ParameterRange> ranges) {
  TaskSettings settings = default_settings(nominal);
  return {std::move(name), std::move(nominal), std::move(ranges), std::move(settings)};
}

Family with_actuator_gain(Family family, std::string name, double low, double high) {
  family.name = std::move(name);
  family.ranges.push_back({"actuator_gain", low, high, true});
  return family;
}

}  // namespace

std::vector<std::string> parameter_names(const System& system) {
  System copy = system;
  std::vector<std::string> names;
  for (const auto& [name, value] : named_parameters(copy)) names.emplace_back(name);
  return names;
}

double& parameter(System& system, std::string_view name) {
  for (const auto& [known, value] : named_parameters(system)) {
    if (name == known) return *value;
  }
  throw InvalidInput("parameter", name,
                     fmt::format("must be one of {}", fmt::join(parameter_names(system), ", ")));
}

double parameter(const System& system, std::string_view name) {
  System copy = system;
  return parameter(copy, name);
}

void Family::validate() const {
  require(!name.empty(), "name", "\"\"", "must not be empty");
  for (const ParameterRange& range : ranges) {
    const auto field = [&](const char* end) {
      return fmt::format("{}.ranges.{}.{}", name, range.parameter, end);
    };
    parameter(nominal, range.parameter);
    const auto same = [&](const ParameterRange& r) { return r.parameter == range.parameter; };
    require(std::count_if(ranges.begin(), ranges.end(), same) == 1, "ranges", range.parameter,
            "must have one range only");
    require_finite(field("low"), range.low);
    require_finite(field("high"), range.high);
    require(range.low <= range.high, field("low"), range.low,
            fmt::format("must not exceed high = {}", range.high));
    require(!range.logarithmic || range.low > 0, field("low"), range.low,
            "must be greater than 0 in a logarithmic range");
  }
  // The rules on parameters are intervals, so tasks at both ends being valid makes all so.
  for (const bool high : {false, true}) {
    Task corner{name, nominal, settings};
    for (const ParameterRange& range : ranges) {
      parameter(corner.system, range.parameter) = high ? range.high : range.low;
    }
    corner.validate();
  }
}

Task Family::draw(std::uint64_t seed, std::uint64_t index) const {
  validate();
  Task task{fmt::format("{} {}", name, index), nominal, settings};
  const CounterRandom random(seed, RandomStream::parameters, index);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const ParameterRange& range = ranges[i];
    const auto n = static_cast<std::uint32_t>(i);
    double value = range.logarithmic
                       ? std::exp(random.uniform(n, std::log(range.low), std::log(range.high)))
                       : random.uniform(n, range.low, range.high);
    // Rounding must not leave the range.
    value = std::clamp(value, range.low, range.high);
    parameter(task.system, range.parameter) = value;
  }
  return task;
}

std::vector<Task> Family::draw_many(std::uint64_t seed, int count) const {
  require(count > 0, "tasks", count, "must be at least 1");
  std::vector<Task> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(draw(seed, static_cast<std::uint64_t>(i)));
  return tasks;
}

Family mass_spring_family() {
  return make_family("mass-spring", MassSpring{},
                     {{"spring_newtons_per_metre", 1, 10},
                      {"damping_newton_seconds_per_metre", 0.01, 0.2},
                      {"mass_kilograms", 0.5, 5}});
}

Family cart_pole_family() {
  return make_family("cart-pole", CartPole{},
                     {{"cart_mass_kilograms", 0.5, 1.5},
                      {"pole_mass_kilograms", 0.1, 0.2},
                      {"pole_length_metres", 0.2, 0.8},
                      {"damping_newton_seconds_per_metre", 0.01, 0.09}});
}

Family quadrotor_family() {
  return make_family("quadrotor", Quadrotor{},
                     {{"inertia_x_kilogram_metres2", 4.5e-3, 6.5e-3},
                      {"inertia_y_kilogram_metres2", 4.2e-3, 5.2e-3},
                      {"inertia_z_kilogram_metres2", 1.5e-2, 2.1e-2},
                      {"arm_metres", 0.27, 0.30}});
}

Family wide_mass_spring_family() {
  return with_actuator_gain(mass_spring_family(), "wide-mass-spring", 1.0 / 3.0, 3.0);
}

Family wide_cart_pole_family() {
  return with_actuator_gain(cart_pole_family(), "wide-cart-pole", 0.5, 2.0);
}

std::vector<std::string> family_names() {
  return {"mass-spring", "cart-pole", "quadrotor", "wide-mass-spring", "wide-cart-pole"};
}

Family family_by_name(std::string_view name) {
  for (const auto& make : {mass_spring_family, cart_pole_family, quadrotor_family,
                           wide_mass_spring_family, wide_cart_pole_family}) {
    if (Family family = make(); family.name == name) return family;
  }
  throw InvalidInput("family", name,
                     fmt::format("must be one of {}", fmt::join(family_names(), ", ")));
}

}  // namespace lifeguard
