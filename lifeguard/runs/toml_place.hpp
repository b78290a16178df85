#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lifeguard/core/check.hpp"
#include "lifeguard/runs/toml.hpp"

/// Internal, not installed: values of TOML tables, with messages that say where they stand.
namespace lifeguard {

/// A place in the file, for messages: "quadrotor.toml:7: family.settings.sigma". What the command
/// line set was merged in as a copy, and a copy has no source.
class TomlPlace {
 public:
  TomlPlace(std::string_view source, std::string key) : source_(source), key_(std::move(key)) {}
  TomlPlace child(std::string_view key) const {
    return {source_, key_.empty() ? std::string(key) : fmt::format("{}.{}", key_, key)};
  }
  std::string at(const toml::node& node) const {
    if (!node.source().path) return fmt::format("--set: {}", key_);
    return fmt::format("{}:{}: {}", source_, node.source().begin.line, key_);
  }

 private:
  std::string source_;
  std::string key_;
};

/// What stands at the longest beginning of `path` that is there; nothing if no key of it is.
inline const toml::node* nearest_node(const toml::table& root, std::string path) {
  while (!path.empty()) {
    if (const auto found = root.at_path(path)) return found.node();
    const std::size_t last = path.find_last_of(".[");
    path.resize(last == std::string::npos ? 0 : last);
  }
  return nullptr;
}

inline double read_number(const toml::node& node, const TomlPlace& where) {
  require(node.is_number(), where.at(node), text_of(node), "must be a number");
  return number_of(node);
}

inline std::string read_choice(const toml::node& node, const TomlPlace& where,
                               const std::vector<std::string>& choices) {
  const auto value = node.value<std::string>();
  const bool known =
      node.is_string() && std::find(choices.begin(), choices.end(), *value) != choices.end();
  require(known, where.at(node), text_of(node),
          fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \"")));
  return *value;
}

inline const toml::table& read_table(const toml::node& node, const TomlPlace& where) {
  require(node.is_table(), where.at(node), text_of(node), "must be a table");
  return *node.as_table();
}

/// One number for each entry, or a single number for all of them.
inline Eigen::VectorXd read_vector(const toml::node& node, const TomlPlace& where, int size) {
  if (const toml::array* array = node.as_array()) {
    require(static_cast<int>(array->size()) == size, where.at(node), text_of(node),
            fmt::format("must have {} entries", size));
    Eigen::VectorXd vector(size);
    for (int i = 0; i < size; ++i) vector(i) = read_number((*array)[i], where);
    return vector;
  }
  return Eigen::VectorXd::Constant(size, read_number(node, where));
}

inline std::string read_text(const toml::node& node, const TomlPlace& where) {
  const auto value = node.value<std::string>();
  require(node.is_string() && is_plain_line(*value), where.at(node), text_of(node), kPlainLine);
  return *value;
}

}  // namespace lifeguard
