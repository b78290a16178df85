#pragma once

#include <string_view>

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// What is fixed before the first round, against what the configuration and the seed give.
void check_description(CheckedRun& run);
/// The same for a description at hand; `when` begins the findings.
void compare_description(CheckedRun& run, const RunDescription& expected, double tolerance,
                         std::string_view when);

}  // namespace lifeguard
