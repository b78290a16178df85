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

inline toml::table parse_toml(std::string_view text, std::string_view source) {
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
