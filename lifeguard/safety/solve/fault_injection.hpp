#pragma once

#include <functional>

namespace lifeguard {

/// The solver steps that a test can make fail.
enum class ProjectionStage { coefficient_step, basis_step, semidefinite_program };

/// How a solver step is made to fail: `failure` as if it reported one, the others as if it had
/// returned numbers that are wrong without saying so.
enum class ProjectionFault { none, failure, not_finite, unsafe };

/// For tests: asked before each solver step how it shall fail. Empty: never.
using FaultInjection = std::function<ProjectionFault(ProjectionStage)>;

/// For tests: whether the last look at a policy of this task shall refuse it. Empty: never.
using LastLookInjection = std::function<bool(int task)>;

}  // namespace lifeguard
