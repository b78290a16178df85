#pragma once

#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// A user's own system in a program where it is not registered: what it said of itself where it
/// was. It can be looked at and not played. `settings` are what its tasks have by default; the
/// parameters' rules are not known.
System make_absent_system(SystemDescription description, const TaskSettings& settings);

/// Whether it is one.
bool is_absent(const System& system);

}  // namespace lifeguard
