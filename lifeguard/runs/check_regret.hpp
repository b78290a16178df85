#pragma once

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// The regret against the theorem's bound, and the quantities of the lemmas against theirs.
void check_regret(CheckedRun& run);

}  // namespace lifeguard
