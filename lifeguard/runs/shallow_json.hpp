#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lifeguard {

/// JSON of a file that may be damaged. What we store is flat, so a text that nests deeper than that
/// is refused before it can use up the stack. Throws nlohmann::json::exception.
nlohmann::json shallow_json(const std::string& text);

/// What a nlohmann::json::exception says, without the parser's own name for it.
std::string complaint_of(const std::exception& error);

}  // namespace lifeguard
