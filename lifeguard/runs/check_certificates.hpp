#pragma once

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// What evaluations and certificates say of policies, against those that are stored: the first
/// ones, the last ones, and after every round the one that the next round played.
void check_certificates(CheckedRun& run);

}  // namespace lifeguard
