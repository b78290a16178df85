#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lifeguard/core/stop.hpp"

namespace lifeguard {

/// What text from outside may cost. Beyond, it is refused.
struct InputLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t values = 5'000'000;  // of JSON: numbers, strings, lists, objects …
  std::size_t depth = 64;          // of lists and objects in each other
};

/// All of a file, or of standard input if its name is "-". Pipes and devices are read too, up to
/// the limit and until the deadline. Throws InvalidInput for what cannot be read.
std::string read_input(const std::string& name, const InputLimits& limits = {},
                       const Deadline& deadline = {});

/// JSON from outside. Throws InvalidInput that says where and why: line and column if it is not
/// JSON; the path of the value ("tasks[2].A[0]") if it is nested too deep, if a key is given twice,
/// or if a number is too large for a double or too near to 0.
nlohmann::json parse_json(std::string_view text, const InputLimits& limits = {});

/// A value as JSON, short enough for a message: the rest is "...".
std::string shown(const nlohmann::json& value);
/// Text from outside in quotation marks, short enough for a message and safe for a terminal.
std::string shown(std::string_view text);

}  // namespace lifeguard
