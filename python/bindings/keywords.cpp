#include "bindings/keywords.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"

namespace lifeguard::python {
namespace {

nb::str key(std::string_view name) { return nb::str(name.data(), name.size()); }

}  // namespace

KeywordReader::KeywordReader(nb::dict keywords, std::string main)
    : keywords_(std::move(keywords)), main_(std::move(main)), section_(main_), table_(keywords_) {}

std::string KeywordReader::path(std::string_view name) const {
  return section_.empty() ? std::string(name) : fmt::format("{}.{}", section_, name);
}

nb::object KeywordReader::find(std::string_view name) {
  known_.insert(path(name));
  const nb::str k = key(name);
  if (!table_.contains(k)) return {};
  return table_[k];
}

void KeywordReader::section(std::string_view name, std::string_view /*meaning*/) {
  section_ = name;
  if (section_ == main_) {
    table_ = keywords_;
    return;
  }
  table_ = nb::dict();
  const nb::str k = key(name);
  if (!keywords_.contains(k)) {
    known_.insert(section_);
    return;
  }
  const nb::object given = keywords_[k];
  require(nb::isinstance<nb::dict>(given), name, shown(given), "must be a dictionary of settings");
  table_ = nb::borrow<nb::dict>(given);
  known_.insert(section_);
}

void KeywordReader::number(std::string_view name, double& value, const Range& range,
                           std::string_view /*unit*/, std::string_view /*meaning*/) {
  const nb::object given = find(name);
  if (!given.is_valid()) return;
  double read = 0;
  require(!nb::isinstance<nb::bool_>(given) && !nb::isinstance<nb::str>(given) &&
              nb::try_cast(given, read),
          path(name), shown(given), "must be a number");
  require(std::isfinite(read), path(name), shown(given), "must be finite");
  require(range.contains(read), path(name), shown(given), range.rule());
  value = read;
}

void KeywordReader::integer(std::string_view name, int& value, const Range& range,
                            std::string_view /*unit*/, std::string_view /*meaning*/) {
  const nb::object given = find(name);
  if (!given.is_valid()) return;
  int read = 0;
  require(!nb::isinstance<nb::bool_>(given) && !nb::isinstance<nb::float_>(given) &&
              nb::try_cast(given, read),
          path(name), shown(given), "must be an integer");
  require(range.contains(read), path(name), shown(given), range.rule());
  value = read;
}

void KeywordReader::flag(std::string_view name, bool& value, std::string_view /*meaning*/) {
  const nb::object given = find(name);
  if (!given.is_valid()) return;
  require(nb::isinstance<nb::bool_>(given), path(name), shown(given), "must be True or False");
  value = nb::cast<bool>(given);
}

void KeywordReader::text(std::string_view name, std::string& value, std::string_view /*meaning*/) {
  const nb::object given = find(name);
  if (!given.is_valid()) return;
  require(nb::isinstance<nb::str>(given), path(name), shown(given), "must be a text");
  value = nb::cast<std::string>(given);
}

void KeywordReader::choice(std::string_view name, int& value,
                           std::span<const std::string_view> choices,
                           std::string_view /*meaning*/) {
  const nb::object given = find(name);
  if (!given.is_valid()) return;
  const std::string read = nb::isinstance<nb::str>(given) ? nb::cast<std::string>(given) : "";
  const auto found = std::find(choices.begin(), choices.end(), read);
  require(found != choices.end(), path(name), shown(given),
          fmt::format("must be one of {}", fmt::join(choices, ", ")));
  value = static_cast<int>(found - choices.begin());
}

void KeywordReader::list(std::string_view name, std::vector<std::string>& values,
                         std::span<const std::string_view> choices, std::string_view /*meaning*/) {
  const nb::object given = find(name);
  if (!given.is_valid()) return;
  std::vector<std::string> read;
  require(!nb::isinstance<nb::str>(given) && nb::try_cast(given, read), path(name), shown(given),
          "must be a list of texts");
  for (const std::string& entry : read) {
    require(std::find(choices.begin(), choices.end(), entry) != choices.end(), path(name), entry,
            fmt::format("must be one of {}", fmt::join(choices, ", ")));
  }
  values = std::move(read);
}

void KeywordReader::refuse_unknown() const {
  const auto refuse = [&](const nb::dict& table, const std::string& prefix) {
    for (const auto& [name, value] : table) {
      const std::string full = prefix + nb::cast<std::string>(name);
      if (known_.contains(full) ||
          (&table == &keywords_ && known_.contains(nb::cast<std::string>(name)))) {
        continue;
      }
      std::vector<std::string> known;
      for (const std::string& k : known_) {
        if (k.starts_with(prefix)) known.push_back(k.substr(prefix.size()));
      }
      throw InvalidInput(full, shown(value),
                         fmt::format("unknown setting; known are {}", fmt::join(known, ", ")));
    }
  };
  refuse(keywords_, main_.empty() ? "" : main_ + ".");
  for (const auto& [name, value] : keywords_) {
    if (nb::isinstance<nb::dict>(value)) {
      refuse(nb::borrow<nb::dict>(value), nb::cast<std::string>(name) + ".");
    }
  }
}

template <class Value>
void SettingsToDict::put(std::string_view name, const Value& value) {
  table_[key(name)] = nb::cast(value);
}

void SettingsToDict::describe(std::string_view name, const std::string& value,
                              const std::string& rule, std::string_view unit,
                              std::string_view meaning) {
  text_ += fmt::format("    {} = {}{}{}: {}{}{}\n", name, value, unit.empty() ? "" : " ", unit,
                       meaning, rule.empty() ? "" : "; ", rule);
}

void SettingsToDict::section(std::string_view name, std::string_view meaning) {
  table_ = nb::dict();
  tables_[key(name)] = table_;
  text_ += fmt::format("\n{}: {}\n", name, meaning);
}

void SettingsToDict::number(std::string_view name, double& value, const Range& range,
                            std::string_view unit, std::string_view meaning) {
  put(name, value);
  describe(name, fmt::format("{}", value), range.rule(), unit, meaning);
}

void SettingsToDict::integer(std::string_view name, int& value, const Range& range,
                             std::string_view unit, std::string_view meaning) {
  put(name, value);
  describe(name, fmt::format("{}", value), range.rule(), unit, meaning);
}

void SettingsToDict::flag(std::string_view name, bool& value, std::string_view meaning) {
  put(name, value);
  describe(name, value ? "True" : "False", "", "", meaning);
}

void SettingsToDict::text(std::string_view name, std::string& value, std::string_view meaning) {
  put(name, value);
  describe(name, fmt::format("\"{}\"", value), "", "", meaning);
}

void SettingsToDict::choice(std::string_view name, int& value,
                            std::span<const std::string_view> choices, std::string_view meaning) {
  const std::string_view chosen = choices[static_cast<std::size_t>(value)];
  put(name, chosen);
  describe(name, fmt::format("\"{}\"", chosen), fmt::format("one of {}", fmt::join(choices, ", ")),
           "", meaning);
}

void SettingsToDict::list(std::string_view name, std::vector<std::string>& values,
                          std::span<const std::string_view> choices, std::string_view meaning) {
  put(name, values);
  describe(name, fmt::format("[{}]", fmt::join(values, ", ")),
           fmt::format("some of {}", fmt::join(choices, ", ")), "", meaning);
}

}  // namespace lifeguard::python
