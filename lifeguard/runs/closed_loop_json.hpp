#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {

/// What a closed loop says and of which plant: λ, P, the guaranteed box, limits, corners, channels.
nlohmann::ordered_json closed_loop_json(const ClosedLoop& closed_loop);

/// "nonlinear" or "linear".
const char* statement_text(const ClosedLoop& closed_loop);

}  // namespace lifeguard
