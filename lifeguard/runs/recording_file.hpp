#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

#include "lifeguard/trajectories/recording.hpp"

namespace lifeguard {

/// How a recording is written down: docs/trajectories.md describes both, version 1.
enum class RecordingFormat {
  csv,         // one row a step
  json_lines,  // one line a trajectory
};

/// What no file of a recording exceeds, and no line of it that holds a trajectory as JSON; see also
/// the limits of Recording.
inline constexpr std::size_t kMostRecordingBytes = std::size_t{1} << 30;
inline constexpr std::size_t kMostRecordingLineBytes = std::size_t{64} << 20;

/// By the name's ending: .csv, .jsonl or .json. Throws InvalidInput for another.
RecordingFormat recording_format(const std::filesystem::path& path);

/// The recording in a file. Throws InvalidInput that says file, line, column, value and rule;
/// whatever the bytes are, nothing else happens.
Recording read_recording(const std::filesystem::path& path);
/// The same of a text or a stream; `source` stands for the file's name in messages.
Recording read_recording(std::string_view text, RecordingFormat format, std::string_view source);
Recording read_recording(std::istream& in, RecordingFormat format, std::string_view source);

/// Writes it with every bit of every number. The file is there whole or not at all. Throws
/// InvalidInput if the recording is not valid, OutputError if the file cannot be written.
void write_recording(const Recording& recording, const std::filesystem::path& path);
/// The same as text.
std::string recording_text(const Recording& recording, RecordingFormat format);

}  // namespace lifeguard
