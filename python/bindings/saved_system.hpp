#pragma once

#include "bindings/common.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::python {

/// A system as something that can be pickled, and back. A system that a file described needs the
/// settings of its task, if it has one.
nb::tuple saved_system(const System& system);
System system_from(const nb::tuple& state, const TaskSettings* settings);

}  // namespace lifeguard::python
