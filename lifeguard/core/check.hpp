#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lifeguard {

/// A caller's mistake. The message names the field, its value and the rule it breaks:
/// "mass_kilograms = -1: must be finite and greater than 0".
class InvalidInput : public std::invalid_argument {
 public:
  /// Says `field = value: rule`.
  InvalidInput(std::string_view field, std::string_view value, std::string_view rule);

  /// The three parts of the message.
  const std::string& field() const { return field_; }
  const std::string& value() const { return value_; }
  const std::string& rule() const { return rule_; }

 private:
  std::string field_;
  std::string value_;
  std::string rule_;
};

/// Each throws InvalidInput unless the value obeys the rule in its name.
void require(bool condition, std::string_view field, double value, std::string_view rule);
void require(bool condition, std::string_view field, std::string_view value, std::string_view rule);
void require_finite(std::string_view field, double value);
void require_positive(std::string_view field, double value);
void require_not_negative(std::string_view field, double value);
void require_size(std::string_view field, long size, long expected);
/// A name that becomes a file's, or part of it: no folders, nothing that a shell or a terminal
/// takes for something else, and not longer than kLongestFileName bytes.
void require_file_name(std::string_view field, std::string_view name);

/// Two such names, a number and an ending are still a name that every file system takes.
inline constexpr std::size_t kLongestFileName = 100;

/// "actions[2]" from "actions" and 2.
std::string indexed(std::string_view field, long index);

}  // namespace lifeguard
