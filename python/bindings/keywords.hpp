#pragma once

#include <set>
#include <string>

#include "bindings/common.hpp"
#include "lifeguard/core/settings.hpp"

namespace lifeguard::python {

/// A value as Python writes it, for messages.
inline std::string shown(const nb::handle& value) { return nb::cast<std::string>(nb::repr(value)); }

/// Reads keyword arguments by the same description as configuration files are read by: the keys of
/// the table `main` are keyword arguments themselves, other tables are dictionaries.
///   Learner(4, 1, k=2, projection={"mode": "exact"})
class KeywordReader : public SettingVisitor {
 public:
  KeywordReader(nb::dict keywords, std::string main);

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

  /// Throws InvalidInput for a keyword that no setting asked for.
  void refuse_unknown() const;

 private:
  nb::object find(std::string_view name);
  std::string path(std::string_view name) const;

  nb::dict keywords_;
  std::string main_;
  std::string section_;
  nb::dict table_;
  std::set<std::string> known_;  // paths
};

/// The settings as they are: {"learner": {"k": 0, …}, "projection": {…}}.
class SettingsToDict : public SettingVisitor {
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

  const nb::dict& tables() const { return tables_; }
  /// One line for each setting: name, default, rule, unit, meaning; for docstrings.
  const std::string& description() const { return text_; }

 private:
  template <class Value>
  void put(std::string_view name, const Value& value);
  void describe(std::string_view name, const std::string& value, const std::string& rule,
                std::string_view unit, std::string_view meaning);

  nb::dict tables_;
  nb::dict table_;
  std::string text_;
};

}  // namespace lifeguard::python
