#include "lifeguard/runs/recording_file.hpp"

#include <fmt/format.h>

#include <array>
#include <istream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/input_file.hpp"
#include "lifeguard/runs/output_file.hpp"
#include "lifeguard/runs/recording_csv.hpp"
#include "lifeguard/runs/recording_json.hpp"

namespace lifeguard {
namespace {

void write_as(const Recording& recording, RecordingFormat format,
              const std::function<void(std::string_view)>& write) {
  recording.validate();
  if (format == RecordingFormat::csv) {
    write_recording_csv(recording, write);
  } else {
    write_recording_json(recording, write);
  }
}

}  // namespace

RecordingFormat recording_format(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".csv") return RecordingFormat::csv;
  require(ending == ".jsonl" || ending == ".json", "recording",
          fmt::format("\"{}\"", path.string()), "must end in .csv, .jsonl or .json");
  return RecordingFormat::json_lines;
}

Recording read_recording(const std::filesystem::path& path) {
  const RecordingFormat format = recording_format(path);
  return read_recording(read_input_file("recording", path, kMostRecordingBytes), format,
                        path.string());
}

Recording read_recording(std::string_view text, RecordingFormat format, std::string_view source) {
  require(text.size() <= kMostRecordingBytes, source, fmt::format("{} bytes", text.size()),
          fmt::format("must have at most {} bytes", kMostRecordingBytes));
  return format == RecordingFormat::csv ? read_recording_csv(text, source)
                                        : read_recording_json(text, source);
}

Recording read_recording(std::istream& in, RecordingFormat format, std::string_view source) {
  std::string text;
  std::array<char, 1 << 16> part{};
  while (in.read(part.data(), static_cast<std::streamsize>(part.size())), in.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
    require(text.size() <= kMostRecordingBytes, source, "more bytes",
            fmt::format("must have at most {} bytes", kMostRecordingBytes));
  }
  return read_recording(std::string_view(text), format, source);
}

void write_recording(const Recording& recording, const std::filesystem::path& path) {
  const RecordingFormat format = recording_format(path);
  OutputFile file(path);
  write_as(recording, format, [&](std::string_view text) { file.write(text); });
  file.finish();
}

std::string recording_text(const Recording& recording, RecordingFormat format) {
  std::string all;
  write_as(recording, format, [&](std::string_view text) { all += text; });
  return all;
}

}  // namespace lifeguard
