#include "lifeguard/core/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lifeguard {

InvalidInput::InvalidInput(std::string_view field, std::string_view value, std::string_view rule)
    : std::invalid_argument(fmt::format("{} = {}: {}", field, value, rule)),
      field_(field),
      value_(value),
      rule_(rule) {}

void require(bool condition, std::string_view field, double value, std::string_view rule) {
  if (!condition) throw InvalidInput(field, fmt::format("{}", value), rule);
}

void require(bool condition, std::string_view field, std::string_view value,
             std::string_view rule) {
  if (!condition) throw InvalidInput(field, value, rule);
}

void require_finite(std::string_view field, double value) {
  require(std::isfinite(value), field, value, "must be finite");
}

void require_positive(std::string_view field, double value) {
  require(std::isfinite(value) && value > 0, field, value, "must be finite and greater than 0");
}

void require_not_negative(std::string_view field, double value) {
  require(std::isfinite(value) && value >= 0, field, value, "must be finite and at least 0");
}

void require_size(std::string_view field, long size, long expected) {
  if (size != expected) {
    throw InvalidInput(field, fmt::format("{} entries", size),
                       fmt::format("must have {} entries", expected));
  }
}

void require_file_name(std::string_view field, std::string_view name) {
  const auto plain = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f' && c != '/' && c != '\\';
  };
  const bool ok = !name.empty() && name.size() <= kLongestFileName && name.front() != '.' &&
                  name.front() != '-' && std::all_of(name.begin(), name.end(), plain);
  if (ok) return;
  throw InvalidInput(
      field, fmt::format("\"{}\"", name),
      fmt::format("must be the name of a file: 1 to {} bytes, no / or \\, no control "
                  "characters, no . or - at its beginning",
                  kLongestFileName));
}

std::string indexed(std::string_view field, long index) {
  return fmt::format("{}[{}]", field, index);
}

}  // namespace lifeguard
