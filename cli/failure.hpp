#pragma once

namespace lifeguard {

/// Says on standard error, in the user's words, what the exception that is being handled means, and
/// returns the exit code that stands for it. To be called in a catch block.
int report_failure();

}  // namespace lifeguard
