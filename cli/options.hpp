#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

/// A whole number in decimal digits from `low` to `high`, or InvalidInput. Nothing else is taken
/// for a number: no 0x10, no 1e3, no "true", nothing too large to hold.
template <typename Whole>
Whole whole_number(std::string_view field, std::string_view text, Whole low, Whole high) {
  Whole value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw InvalidInput(field, fmt::format("\"{}\"", text),
                       fmt::format("must be a whole number from {} to {}", low, high));
  }
  return value;
}

namespace options {

template <typename T>
struct Held {
  using Type = T;
  static std::string text(const T& value) { return std::to_string(value); }
};
template <typename T>
struct Held<std::optional<T>> {
  using Type = T;
  static std::string text(const std::optional<T>& value) {
    return value ? std::to_string(*value) : "";
  }
};

}  // namespace options

/// An option that takes such a number. `value` is an integer, whose value is the default, or an
/// optional one, for an option whose absence means something else than any number.
template <typename T, typename Whole = typename options::Held<T>::Type>
CLI::Option* add_number(CLI::App& app, const std::string& name, T& value,
                        std::type_identity_t<Whole> low, std::type_identity_t<Whole> high,
                        const std::string& description) {
  CLI::Option* option = app.add_option_function<std::string>(
      name,
      [&value, name, low, high](const std::string& text) {
        value = whole_number<Whole>(name, text, low, high);
      },
      description);
  return option->type_name("INT")->default_str(options::Held<T>::text(value));
}

/// --threads, which means the same everywhere.
CLI::Option* add_threads(CLI::App& app, int& threads);

/// An option or argument that names a file or a folder, which an empty text does not.
CLI::Option* add_path(CLI::App& app, const std::string& name, std::string& path,
                      const std::string& description);

/// Throws InvalidInput if two of the paths, whatever they are called, are the same file: it would
/// count twice, or be overwritten by what is made of it. Empty ones are none.
void require_distinct_files(std::string_view field, const std::vector<std::string>& paths);

}  // namespace lifeguard
