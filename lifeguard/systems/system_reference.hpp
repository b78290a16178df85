#pragma once

#include <string>

namespace lifeguard {

/// What a registered system says of itself, as Markdown: its parameters with units, defaults and
/// rules, its states and actions, the settings of its tasks, and its families.
std::string system_reference(const std::string& name);

/// The same of all built-in systems, in the order of their list.
std::string built_in_systems_reference();

}  // namespace lifeguard
