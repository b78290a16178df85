#pragma once

#include <functional>
#include <string_view>

#include "lifeguard/trajectories/recording.hpp"

namespace lifeguard {

/// A recording as comma-separated values, one row a step (docs/trajectories.md). Throws
/// InvalidInput that says line and column of `source`.
Recording read_recording_csv(std::string_view text, std::string_view source);
/// Gives the text of a valid recording in pieces.
void write_recording_csv(const Recording& recording,
                         const std::function<void(std::string_view)>& write);

}  // namespace lifeguard
