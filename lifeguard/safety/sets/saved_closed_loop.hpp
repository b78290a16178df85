#pragma once

#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {

/// As text, and back to the same bits.
void write_closed_loop(StateWriter& writer, const ClosedLoop& closed_loop);
/// What write_closed_loop wrote; throws InvalidInput for anything else.
ClosedLoop read_closed_loop(StateReader& reader);

}  // namespace lifeguard
