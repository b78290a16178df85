#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/systems/custom_system.hpp"
#include "lifeguard/systems/family.hpp"

namespace lifeguard {

/// Makes a system known by its name, so that configurations, run files and commands treat it as the
/// built-in ones, which are there from the beginning. Do this before anything reads a configuration
/// that names it: what was drawn, played or stored with a system can only be read where the same
/// system is registered under the same name.
///
/// `families` are what the key family.base may name. The first must have the system's own name;
/// without any, the system has one family of that name in which nothing varies.
///
/// Throws InvalidInput if the system has no name, if a name is taken, or if a family is not valid.
void register_system(System system, std::vector<Family> families = {});

/// The same for a user's type, with these parameters varied.
template <UserSystem S>
void register_system(S system, std::vector<ParameterRange> ranges = {}) {
  const System custom = make_custom_system(std::move(system));
  register_system(custom, {make_family(system_name(custom), custom, std::move(ranges))});
}

/// The names of all registered systems, built-in ones first, and the system of a name with its
/// default parameters.
std::vector<std::string> system_names();
System system_by_name(std::string_view name);

}  // namespace lifeguard
