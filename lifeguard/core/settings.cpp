#include "lifeguard/core/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"

namespace lifeguard {
namespace {

std::string join_path(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

std::string one_of(std::span<const std::string_view> choices) {
  return fmt::format("must be one of \"{}\"", fmt::join(choices, "\", \""));
}

}  // namespace

bool Range::contains(double value) const {
  if (!std::isfinite(value)) return false;
  if (or_zero && value == 0) return true;
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::rule() const {
  std::string text;
  if (std::isfinite(low)) {
    text = fmt::format("{} {}", low_open ? "greater than" : "at least", low);
  }
  if (std::isfinite(high)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ", high_open ? "less than" : "at most",
                        high);
  }
  if (text.empty()) return "must be finite";
  return fmt::format("must be {}{}", or_zero ? "0 or " : "", text);
}

void SettingChecker::section(std::string_view name, std::string_view /*meaning*/) {
  section_ = name;
}
std::string SettingChecker::path(std::string_view name) const { return join_path(section_, name); }
void SettingChecker::number(std::string_view name, double& value, const Range& range,
                            std::string_view /*unit*/, std::string_view /*meaning*/) {
  if (!range.contains(value)) require(false, path(name), value, range.rule());
}
void SettingChecker::integer(std::string_view name, int& value, const Range& range,
                             std::string_view /*unit*/, std::string_view /*meaning*/) {
  if (!range.contains(value)) require(false, path(name), value, range.rule());
}
void SettingChecker::flag(std::string_view /*name*/, bool& /*value*/,
                          std::string_view /*meaning*/) {}
void SettingChecker::text(std::string_view name, std::string& value, std::string_view /*meaning*/) {
  if (value.empty()) require(false, path(name), value, "must be a text that is not empty");
}
void SettingChecker::choice(std::string_view name, int& value,
                            std::span<const std::string_view> choices,
                            std::string_view /*meaning*/) {
  if (value < 0 || value >= static_cast<int>(choices.size())) {
    require(false, path(name), value, one_of(choices));
  }
}
void SettingChecker::list(std::string_view name, std::vector<std::string>& values,
                          std::span<const std::string_view> choices, std::string_view /*meaning*/) {
  for (const std::string& value : values) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      require(false, path(name), value, one_of(choices));
    }
  }
}

void SettingSaver::section(std::string_view name, std::string_view /*meaning*/) { section_ = name; }
std::string SettingSaver::path(std::string_view name) const { return join_path(section_, name); }
void SettingSaver::number(std::string_view name, double& value, const Range& /*range*/,
                          std::string_view /*unit*/, std::string_view /*meaning*/) {
  writer_.field(path(name), value);
}
void SettingSaver::integer(std::string_view name, int& value, const Range& /*range*/,
                           std::string_view /*unit*/, std::string_view /*meaning*/) {
  writer_.field(path(name), value);
}
void SettingSaver::flag(std::string_view name, bool& value, std::string_view /*meaning*/) {
  writer_.field(path(name), value);
}
void SettingSaver::text(std::string_view name, std::string& value, std::string_view /*meaning*/) {
  writer_.field(path(name), value);
}
void SettingSaver::choice(std::string_view name, int& value,
                          std::span<const std::string_view> choices, std::string_view /*meaning*/) {
  writer_.field(path(name), std::string(choices[static_cast<std::size_t>(value)]));
}
void SettingSaver::list(std::string_view name, std::vector<std::string>& values,
                        std::span<const std::string_view> /*choices*/,
                        std::string_view /*meaning*/) {
  writer_.field(path(name), static_cast<int>(values.size()));
  for (const std::string& value : values) writer_.field(path(name), value);
}

void SettingLoader::section(std::string_view name, std::string_view /*meaning*/) {
  section_ = name;
}
std::string SettingLoader::path(std::string_view name) const { return join_path(section_, name); }
void SettingLoader::number(std::string_view name, double& value, const Range& range,
                           std::string_view /*unit*/, std::string_view /*meaning*/) {
  reader_.field(path(name), value);
  require(range.contains(value), path(name), value, range.rule());
}
void SettingLoader::integer(std::string_view name, int& value, const Range& range,
                            std::string_view /*unit*/, std::string_view /*meaning*/) {
  reader_.field(path(name), value);
  require(range.contains(value), path(name), value, range.rule());
}
void SettingLoader::flag(std::string_view name, bool& value, std::string_view /*meaning*/) {
  reader_.field(path(name), value);
}
void SettingLoader::text(std::string_view name, std::string& value, std::string_view /*meaning*/) {
  reader_.field(path(name), value);
}
void SettingLoader::choice(std::string_view name, int& value,
                           std::span<const std::string_view> choices,
                           std::string_view /*meaning*/) {
  std::string read;
  reader_.field(path(name), read);
  const auto found = std::find(choices.begin(), choices.end(), read);
  require(found != choices.end(), path(name), read, one_of(choices));
  value = static_cast<int>(found - choices.begin());
}
void SettingLoader::list(std::string_view name, std::vector<std::string>& values,
                         std::span<const std::string_view> choices, std::string_view /*meaning*/) {
  int count = 0;
  reader_.field(path(name), count);
  require(count >= 0 && count <= static_cast<int>(choices.size()), path(name), count,
          "must be the number of entries that follow");
  values.resize(static_cast<std::size_t>(count));
  for (std::string& value : values) {
    reader_.field(path(name), value);
    require(std::find(choices.begin(), choices.end(), value) != choices.end(), path(name), value,
            one_of(choices));
  }
}

}  // namespace lifeguard
