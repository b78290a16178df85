#pragma once

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// The last state: the learner that is stored, its policies, and the last certificate.
void check_last_state(CheckedRun& run);

}  // namespace lifeguard
