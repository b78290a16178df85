#pragma once

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// Everything again: plays the run and compares every number but the times, to the bit.
void check_replay(CheckedRun& run);

}  // namespace lifeguard
