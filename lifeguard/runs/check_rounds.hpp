#pragma once

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// Each round by itself, and its place; and what was handed out to machines outside.
void check_rounds(CheckedRun& run);
/// The number of unsafe policies after each round, against what proves policies safe or unsafe.
void check_counts(CheckedRun& run);

}  // namespace lifeguard
