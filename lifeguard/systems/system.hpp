#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/system_description.hpp"
#include "lifeguard/systems/task_settings.hpp"

namespace lifeguard {

class CustomSystem;  // a user's own system: see custom_system.hpp
using CustomSystemPointer = std::shared_ptr<const CustomSystem>;

/// A built-in system, or a user's own.
using System = BuiltInSystems::As<std::variant, CustomSystemPointer>;

/// Its names, units, parameters and values, and how it is drawn.
SystemDescription describe(const System& system);
/// The system's name: describe(system).name.
std::string system_name(const System& system);
/// The settings that tasks of the system have by default, as in docs/systems.md.
TaskSettings default_settings(const System& system);
/// Throws InvalidInput that names the parameter that breaks its rule.
void validate_system(const System& system);

/// The names of the system's parameters, and one of them by its name.
std::vector<std::string> parameter_names(const System& system);
double parameter(const System& system, std::string_view name);
/// Does not look at the rule; validate_system() does.
void set_parameter(System& system, std::string_view name, double value);

/// Whether both are the same system with the same parameters.
bool same_system(const System& a, const System& b);

}  // namespace lifeguard
