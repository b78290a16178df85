#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lifeguard/trajectories/recording.hpp"

/// What both formats of recordings are made of.
namespace lifeguard {

/// The version that is written, and the only one that is read.
inline constexpr int kRecordingVersion = 1;

/// The lines of a text, whatever ends them, without a byte order mark.
class RecordingLines {
 public:
  explicit RecordingLines(std::string_view text);
  /// Goes to the next line that is not empty; false at the end.
  bool next();
  std::string_view line() const { return line_; }
  /// From 1.
  long number() const { return number_; }

 private:
  std::string_view rest_;
  std::string_view line_;
  long number_ = 0;
};

/// The text without spaces and tabs at its ends.
std::string_view without_spaces(std::string_view text);

/// "position [m]": what is in the last brackets is the unit, which may be missing.
Signal signal_from_title(std::string_view title);

/// The shortest text that is read as the same double.
void append_number(std::string& text, double value);

/// recording.validate(), with `place` before what it names.
void validate_read(const Recording& recording, std::string_view place);

/// "finished", "failed" or "cut short"; nothing for another text.
std::optional<EndReason> end_reason(std::string_view text);
/// The rule that another text breaks.
inline constexpr std::string_view kEndRule = "must be \"finished\", \"failed\" or \"cut short\"";

}  // namespace lifeguard
