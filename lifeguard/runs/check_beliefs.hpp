#pragma once

#include "lifeguard/runs/checked_run.hpp"

/// Internal, not installed: a part of check_run().
namespace lifeguard {

/// What empirical Bayes believes: there where it must be, and in no contradiction to itself.
void check_beliefs(CheckedRun& run);
/// The last beliefs, against the stored learner, which the expected run has taken over.
void check_last_beliefs(CheckedRun& run);

}  // namespace lifeguard
