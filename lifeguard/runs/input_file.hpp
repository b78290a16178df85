#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace lifeguard {

/// What no configuration and no list of claims exceeds.
inline constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;

/// A text that a user named, whole. `path` may be a pipe that somebody writes to; "-" is standard
/// input if `standard_input` says so. Throws InvalidInput with `field`, the path and the reason if
/// it is not there, cannot be read, is a folder, has more than `most` bytes or is no text. Never
/// waits for a writer that is not there.
std::string read_input_file(std::string_view field, const std::filesystem::path& path,
                            std::size_t most = kMostTextBytes, bool standard_input = false);

}  // namespace lifeguard
