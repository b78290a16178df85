#pragma once

#include "bindings/common.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::python {

/// Settings of a task from keyword arguments, by the list that configurations are read by. A number
/// stands for as many equal entries as there are states or actions. Throws InvalidInput for
/// keywords that no setting has.
void read_task_settings(const nb::dict& keywords, int states, int actions, TaskSettings& settings);

/// All of them by name.
nb::dict task_settings_to_dict(const TaskSettings& settings);

}  // namespace lifeguard::python
