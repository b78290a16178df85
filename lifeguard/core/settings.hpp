#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

class StateReader;
class StateWriter;

/// The values a setting may have. Text is made from it: "must be greater than 0 and at most 1".
struct Range {
  double low = -kInfinity;
  double high = kInfinity;
  bool low_open = false;   // low itself is not allowed
  bool high_open = false;  // high itself is not allowed
  bool or_zero = false;    // 0 is allowed as well: it switches something off

  static Range at_least(double low) { return {.low = low}; }
  static Range above(double low) { return {.low = low, .low_open = true}; }
  static Range between(double low, double high) { return {.low = low, .high = high}; }
  /// (low, high]
  static Range above_to(double low, double high) {
    return {.low = low, .high = high, .low_open = true};
  }

  bool contains(double value) const;
  std::string rule() const;
};

/// Whoever wants to know every setting of a struct: what validates, saves and loads it, the reader
/// of configuration files, the reference page. A setting's name, rule, unit and meaning are written
/// once, in the `visit` beside the struct that holds it; everything else walks that.
///
///   void StepSettings::visit(SettingVisitor& visitor) {
///     visitor.number("step_size", size, Range::above(0), "", "the fixed step, or c of c / j");
class SettingVisitor {
 public:
  virtual ~SettingVisitor() = default;
  /// The settings that follow belong to the table `name` of a configuration.
  virtual void section(std::string_view name, std::string_view meaning) = 0;
  virtual void number(std::string_view name, double& value, const Range& range,
                      std::string_view unit, std::string_view meaning) = 0;
  virtual void integer(std::string_view name, int& value, const Range& range, std::string_view unit,
                       std::string_view meaning) = 0;
  virtual void flag(std::string_view name, bool& value, std::string_view meaning) = 0;
  virtual void text(std::string_view name, std::string& value, std::string_view meaning) = 0;
  /// One of `choices`, by its place.
  virtual void choice(std::string_view name, int& value, std::span<const std::string_view> choices,
                      std::string_view meaning) = 0;
  /// Some of `choices`, in the order given.
  virtual void list(std::string_view name, std::vector<std::string>& values,
                    std::span<const std::string_view> choices, std::string_view meaning) = 0;
};

/// choice() for an enumeration whose values are 0, 1, 2, … in the order of `choices`.
template <typename Enum>
void visit_choice(SettingVisitor& visitor, std::string_view name, Enum& value,
                  std::span<const std::string_view> choices, std::string_view meaning) {
  int place = static_cast<int>(value);
  visitor.choice(name, place, choices, meaning);
  value = static_cast<Enum>(place);
}

/// Throws InvalidInput for the first setting that breaks its rule. Allocates nothing if all hold.
class SettingChecker : public SettingVisitor {
 public:
  void section(std::string_view name, std::string_view meaning) override;
  void number(std::string_view name, double& value, const Range& range, std::string_view unit,
              std::string_view meaning) override;
  void integer(std::string_view name, int& value, const Range& range, std::string_view unit,
               std::string_view meaning) override;
  void flag(std::string_view name, bool& value, std::string_view meaning) override;
  void text(std::string_view name, std::string& value, std::string_view meaning) override;
  void choice(std::string_view name, int& value, std::span<const std::string_view> choices,
              std::string_view meaning) override;
  void list(std::string_view name, std::vector<std::string>& values,
            std::span<const std::string_view> choices, std::string_view meaning) override;

 private:
  std::string path(std::string_view name) const;
  std::string_view section_;
};

/// The rules that a struct's visit() describes.
template <typename Settings>
void check_settings(const Settings& settings) {
  SettingChecker checker;
  Settings copy = settings;
  copy.visit(checker);
}

/// Writes every setting as a line "table.name value".
class SettingSaver : public SettingVisitor {
 public:
  explicit SettingSaver(StateWriter& writer) : writer_(writer) {}
  void section(std::string_view name, std::string_view meaning) override;
  void number(std::string_view name, double& value, const Range& range, std::string_view unit,
              std::string_view meaning) override;
  void integer(std::string_view name, int& value, const Range& range, std::string_view unit,
               std::string_view meaning) override;
  void flag(std::string_view name, bool& value, std::string_view meaning) override;
  void text(std::string_view name, std::string& value, std::string_view meaning) override;
  void choice(std::string_view name, int& value, std::span<const std::string_view> choices,
              std::string_view meaning) override;
  void list(std::string_view name, std::vector<std::string>& values,
            std::span<const std::string_view> choices, std::string_view meaning) override;

 private:
  std::string path(std::string_view name) const;
  StateWriter& writer_;
  std::string section_;
};

/// Reads what SettingSaver wrote. Whatever breaks a rule throws InvalidInput.
class SettingLoader : public SettingVisitor {
 public:
  explicit SettingLoader(StateReader& reader) : reader_(reader) {}
  void section(std::string_view name, std::string_view meaning) override;
  void number(std::string_view name, double& value, const Range& range, std::string_view unit,
              std::string_view meaning) override;
  void integer(std::string_view name, int& value, const Range& range, std::string_view unit,
               std::string_view meaning) override;
  void flag(std::string_view name, bool& value, std::string_view meaning) override;
  void text(std::string_view name, std::string& value, std::string_view meaning) override;
  void choice(std::string_view name, int& value, std::span<const std::string_view> choices,
              std::string_view meaning) override;
  void list(std::string_view name, std::vector<std::string>& values,
            std::span<const std::string_view> choices, std::string_view meaning) override;

 private:
  std::string path(std::string_view name) const;
  StateReader& reader_;
  std::string section_;
};

}  // namespace lifeguard
