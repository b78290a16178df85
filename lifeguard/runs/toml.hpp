#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/input_file.hpp"

/// Internal, not installed: what every reader of TOML needs.
namespace lifeguard {

inline std::string text_of(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

/// The value of a number. One that is written as an integer may be too large for every digit of it
/// to be kept: the library has none for it then, and the nearest number is meant.
inline double number_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  return node.as_floating_point()->get();
}

/// Throws InvalidInput for keys of so many parts that reading them would take all of the stack.
inline void require_short_keys(std::string_view text, std::string_view source) {
  constexpr int kMostParts = 256;
  int parts = 0;
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '.') ++parts;
    // Nothing else separates the parts of a key.
    if (std::string_view("\n=,{}[]#").find(c) != std::string_view::npos) parts = 0;
    require(parts < kMostParts, fmt::format("{}:{}", source, line), "(a key)",
            fmt::format("must have fewer than {} parts", kMostParts));
  }
}

inline toml::table parse_toml(std::string_view text, std::string_view source) {
  require_short_keys(text, source);
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw InvalidInput(fmt::format("{}:{}", source, error.source().begin.line), "(not TOML)",
                       error.description());
  }
}

/// What `from` says takes the place of what `into` says, key by key.
inline void merge_tables(toml::table& into, const toml::table& from) {
  for (const auto& entry : from) {
    const toml::key& key = entry.first;
    const toml::node& value = entry.second;
    toml::node* old = into.get(key);
    if (old != nullptr && old->is_table() && value.is_table()) {
      merge_tables(*old->as_table(), *value.as_table());
    } else {
      value.visit([&, &key = key](const auto& v) { into.insert_or_assign(key, v); });
    }
  }
}

/// What may stand in a line of a terminal, a file or a state: no control characters.
inline bool is_plain_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}
constexpr std::string_view kPlainLine = "must be one line of plain text";

inline std::string read_text_file(const std::filesystem::path& path) {
  return read_input_file("file", path);
}

}  // namespace lifeguard
