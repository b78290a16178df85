#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// Where a parameter of a family is drawn from: uniformly in [low, high], or with its logarithm
/// uniform.
struct ParameterRange {
  std::string parameter;  // the field's name in MassSpring, CartPole or Quadrotor
  double low = 0;
  double high = 0;
  bool logarithmic = false;
};

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

/// The families of the paper's experiments, with the ranges of docs/systems.md.
Family mass_spring_family();
Family cart_pole_family();
Family quadrotor_family();
/// The same with an actuator gain drawn log-uniformly from [1/3, 3] and [1/2, 2]: tasks that differ
/// in kind, for which no one policy is good.
Family wide_mass_spring_family();
Family wide_cart_pole_family();

/// Names of the families above, and the family of a name: "mass-spring", "cart-pole", "quadrotor",
/// "wide-mass-spring", "wide-cart-pole".
std::vector<std::string> family_names();
Family family_by_name(std::string_view name);

/// The parameters of a built-in system by name, and one of them to read or write.
std::vector<std::string> parameter_names(const System& system);
double& parameter(System& system, std::string_view name);
double parameter(const System& system, std::string_view name);

}  // namespace lifeguard
