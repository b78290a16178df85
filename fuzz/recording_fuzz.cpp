// Whatever bytes are given as a recording, as either format: they are refused with InvalidInput, or
// what was read can be written and read again to the same.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/recording_file.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard::recording_fuzz {

void try_input(std::string_view text, RecordingFormat format) {
  try {
    const Recording recording = read_recording(text, format, "input");
    for (const RecordingFormat other : {RecordingFormat::csv, RecordingFormat::json_lines}) {
      if (read_recording(recording_text(recording, other), other, "output") == recording) continue;
      std::fprintf(stderr, "recording_fuzz: what was written is not what was read\n");
      std::abort();
    }
    static const Task task = make_task("mass", system_by_name("mass-spring"));
    to_trajectories(recording, task, {}, 3);
  } catch (const InvalidInput&) {
    // What the documentation says of input that is not valid.
  }
}

}  // namespace lifeguard::recording_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto format :
       {lifeguard::RecordingFormat::csv, lifeguard::RecordingFormat::json_lines}) {
    lifeguard::recording_fuzz::try_input(text, format);
  }
  return 0;
}
