#pragma once

#include <string>

namespace lifeguard {

/// Writes `text` to the file, or to standard output if no file is named. Throws if it cannot.
void write_text(const std::string& text, const std::string& file);

}  // namespace lifeguard
