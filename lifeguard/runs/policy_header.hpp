#pragma once

#include <string>

#include "lifeguard/runs/policy_export.hpp"

namespace lifeguard {

enum class HeaderLanguage { cpp, c99 };

/// A header without dependencies: the gains and one function from state to action, which computes
/// the features as Features::evaluate does, keeps the actuators' limits, and says so where a state
/// is not finite. With a closed loop also its numbers, in constants that a static_assert can look
/// at, and whether a state lies in the guaranteed region. C++ names stand in a namespace that is
/// called as the task, C99 names begin with it.
std::string policy_to_header(const ExportedPolicy& policy,
                             HeaderLanguage language = HeaderLanguage::cpp);

}  // namespace lifeguard
