#pragma once

#include <functional>
#include <string_view>

#include "lifeguard/trajectories/recording.hpp"

namespace lifeguard {

/// A recording as lines of JSON, one for each trajectory (docs/trajectories.md). Throws
/// InvalidInput that says the line of `source` and the place in it.
Recording read_recording_json(std::string_view text, std::string_view source);
/// Gives the text of a valid recording in pieces.
void write_recording_json(const Recording& recording,
                          const std::function<void(std::string_view)>& write);

}  // namespace lifeguard
