#pragma once

#include <cstddef>

#include "lifeguard/systems/task.hpp"

namespace lifeguard::python {

/// Rows of a batch are padded to a multiple of this many copies, the widest vector.
inline constexpr int kBatchPadding = 8;

/// One step of many copies of a task with a built-in system, in doubles side by side.
struct BatchStep {
  const Task* task;
  int count;
  std::size_t stride;     // of each row
  const double* actions;  // before they are limited
  double* states;
  double* costs;   // of the step
  double* failed;  // 1 if the new state ends the trajectory
};
void batch_step(const BatchStep& step);

}  // namespace lifeguard::python
