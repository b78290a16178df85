#include "lifeguard/runs/recording_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

RecordingLines::RecordingLines(std::string_view text) : rest_(text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool RecordingLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (!without_spaces(line_).empty()) return true;
  }
  line_ = {};
  return false;
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Signal signal_from_title(std::string_view title) {
  title = without_spaces(title);
  const std::size_t bracket = title.rfind(" [");
  if (!title.ends_with(']') || bracket == std::string_view::npos) return {std::string(title), ""};
  return {std::string(without_spaces(title.substr(0, bracket))),
          std::string(without_spaces(title.substr(bracket + 2, title.size() - bracket - 3)))};
}

void append_number(std::string& text, double value) {
  std::array<char, 32> digits{};
  const std::to_chars_result end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end.ptr);
  // Readers of JSON take -0 for an integer, which has no sign.
  if (std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data())) == "-0") {
    text += ".0";
  }
}

void validate_read(const Recording& recording, std::string_view place) {
  try {
    recording.validate();
  } catch (const InvalidInput& error) {
    throw InvalidInput(fmt::format("{}: {}", place, error.field()), error.value(), error.rule());
  }
}

std::optional<EndReason> end_reason(std::string_view text) {
  for (const EndReason end : {EndReason::finished, EndReason::failed, EndReason::cut_short}) {
    if (text == to_string(end)) return end;
  }
  return std::nullopt;
}

}  // namespace lifeguard
