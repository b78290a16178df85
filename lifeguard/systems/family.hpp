#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/systems/parameter.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

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

/// The family of a system with its default settings. The built-in ones stand in the files of their
/// systems: mass_spring_family() and so on.
Family make_family(std::string name, System nominal, std::vector<ParameterRange> ranges);

/// The families that configurations can name: those of the registered systems
/// (system_registry.hpp). "mass-spring", "cart-pole", "quadrotor", "wide-mass-spring" and
/// "wide-cart-pole" are always there.
std::vector<std::string> family_names();
Family family_by_name(std::string_view name);

}  // namespace lifeguard
