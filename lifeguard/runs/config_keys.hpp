#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

/// The values a key may have. Text is made from it: "must be greater than 0 and at most 1".
struct Range {
  double low = -kInfinity;
  double high = kInfinity;
  bool low_open = false;  // low itself is not allowed

  static Range at_least(double low) { return {.low = low}; }
  static Range above(double low) { return {.low = low, .low_open = true}; }
  static Range between(double low, double high) { return {.low = low, .high = high}; }

  bool contains(double value) const;
  std::string rule() const;
};

/// Whoever wants to know every key of a configuration: the reader, the reference page, the list of
/// effective values. A key's name, rule, unit and meaning are written once, in visit_keys().
class KeyVisitor {
 public:
  virtual ~KeyVisitor() = default;
  /// The keys that follow belong to the table `name`.
  virtual void section(std::string_view name, std::string_view meaning) = 0;
  virtual void number(std::string_view key, double& value, const Range& range,
                      std::string_view unit, std::string_view meaning) = 0;
  virtual void integer(std::string_view key, int& value, const Range& range, std::string_view unit,
                       std::string_view meaning) = 0;
  virtual void flag(std::string_view key, bool& value, std::string_view meaning) = 0;
  virtual void text(std::string_view key, std::string& value, std::string_view meaning) = 0;
  /// One of `choices`, by its place.
  virtual void choice(std::string_view key, int& value, const std::vector<std::string>& choices,
                      std::string_view meaning) = 0;
  /// Some of `choices`, in the order given.
  virtual void choices(std::string_view key, std::vector<std::string>& values,
                       const std::vector<std::string>& choices, std::string_view meaning) = 0;
};

/// choice() for an enumeration whose values are 0, 1, 2, … in the order of `choices`.
template <typename Enum>
void visit_choice(KeyVisitor& visitor, std::string_view key, Enum& value,
                  const std::vector<std::string>& choices, std::string_view meaning) {
  int place = static_cast<int>(value);
  visitor.choice(key, place, choices, meaning);
  value = static_cast<Enum>(place);
}

}  // namespace lifeguard
