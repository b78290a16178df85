#pragma once

#include <exception>

namespace lifeguard {

/// Says on standard error, in the user's words, what the exception that is being handled means, and
/// returns the exit code that stands for it. To be called in a catch block.
int report_failure();

/// The same for a run file of a fleet that cannot grow any more, which no command resumes: a round
/// is whole or not there, so that what asked for it is done again. Ends with the code for it.
[[noreturn]] void end_without_room(const std::exception& error);

}  // namespace lifeguard
