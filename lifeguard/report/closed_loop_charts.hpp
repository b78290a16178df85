#pragma once

#include <optional>

#include "lifeguard/report/charts.hpp"

namespace lifeguard {

struct ClosedLoop;

/// How fast each task's machine comes to its goal under the policies that were played, for the
/// worst plant within its tolerance, against λ. Only of runs with closed loops.
std::optional<Chart> decay_chart(const RunDetails& details, long since);

/// The guaranteed region of a task in two states, with trajectories of its last policy.
std::optional<Chart> guaranteed_region_chart(const RunDetails& details, std::size_t task,
                                             long since);

/// λ ρ: a bound on the factor by which ‖x‖_P grows in a step without noise, proven where it is
/// below λ.
double decay_of(const ClosedLoop& closed_loop, const Eigen::VectorXd& parameters);

}  // namespace lifeguard
