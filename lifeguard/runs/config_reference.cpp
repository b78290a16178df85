// What a configuration can say, as a page, and what one says, as a list.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "lifeguard/core/settings.hpp"
#include "lifeguard/runs/experiment.hpp"

namespace lifeguard {
namespace {

class ReferenceWriter : public SettingVisitor {
 public:
  void section(std::string_view name, std::string_view meaning) override {
    page += fmt::format(
        "\n## [{}]\n{}\n\n| key | default | unit | rule | meaning |\n|---|---|---|---|---|\n", name,
        meaning);
  }
  void number(std::string_view key, double& value, const Range& range, std::string_view unit,
              std::string_view meaning) override {
    row(key, fmt::format("{}", value), unit, range.rule(), meaning);
  }
  void integer(std::string_view key, int& value, const Range& range, std::string_view unit,
               std::string_view meaning) override {
    row(key, fmt::format("{}", value), unit, "integer, " + range.rule(), meaning);
  }
  void flag(std::string_view key, bool& value, std::string_view meaning) override {
    row(key, value ? "true" : "false", "", "true or false", meaning);
  }
  void text(std::string_view key, std::string& value, std::string_view meaning) override {
    row(key, fmt::format("\"{}\"", value), "", "text", meaning);
  }
  void choice(std::string_view key, int& value, std::span<const std::string_view> choices,
              std::string_view meaning) override {
    row(key, fmt::format("\"{}\"", choices[static_cast<std::size_t>(value)]), "",
        fmt::format("one of \"{}\"", fmt::join(choices, "\", \"")), meaning);
  }
  void list(std::string_view key, std::vector<std::string>& values,
            std::span<const std::string_view> known, std::string_view meaning) override {
    row(key, fmt::format("[\"{}\"]", fmt::join(values, "\", \"")), "",
        fmt::format("list of \"{}\"", fmt::join(known, "\", \"")), meaning);
  }

  std::string page;

 private:
  void row(std::string_view key, std::string_view value, std::string_view unit,
           std::string_view rule, std::string_view meaning) {
    page += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", key, value, unit, rule, meaning);
  }
};

class ValueLister : public SettingVisitor {
 public:
  void section(std::string_view name, std::string_view /*meaning*/) override { section_ = name; }
  void number(std::string_view key, double& value, const Range&, std::string_view,
              std::string_view) override {
    add(key, fmt::format("{}", value));
  }
  void integer(std::string_view key, int& value, const Range&, std::string_view,
               std::string_view) override {
    add(key, fmt::format("{}", value));
  }
  void flag(std::string_view key, bool& value, std::string_view) override {
    add(key, value ? "true" : "false");
  }
  void text(std::string_view key, std::string& value, std::string_view) override {
    add(key, value);
  }
  void choice(std::string_view key, int& value, std::span<const std::string_view> choices,
              std::string_view) override {
    add(key, std::string(choices[static_cast<std::size_t>(value)]));
  }
  void list(std::string_view key, std::vector<std::string>& values,
            std::span<const std::string_view>, std::string_view) override {
    add(key, fmt::format("{}", fmt::join(values, ", ")));
  }

  std::vector<std::pair<std::string, std::string>> pairs;

 private:
  void add(std::string_view key, const std::string& value) {
    pairs.emplace_back(fmt::format("{}.{}", section_, key), value);
  }
  std::string section_;
};

}  // namespace

std::string configuration_reference() {
  ReferenceWriter writer;
  ExperimentConfig defaults;
  visit_keys(writer, defaults);
  return "# Configuration\n\n"
         "Every key of a configuration file, with its default. Printed by `lifeguard info --keys`; "
         "a\n"
         "test compares this page with what the program reads. A key that is not listed is an\n"
         "error. On the command line `--set table.key=value` replaces what the file says.\n\n"
         "Two tables have pages of their own: `[family]`, the systems that tasks are drawn from\n"
         "([systems.md](systems.md)), and `[safe_set]`, the constraints of every task\n"
         "([safe_sets.md](safe_sets.md)). `[variants.NAME]` gives a method another name with some\n"
         "keys set: `method = \"learner\"`, `set = [\"learner.k=2\"]`; `methods` may then list "
         "NAME.\n" +
         writer.page;
}

std::vector<std::pair<std::string, std::string>> effective_values(const ExperimentConfig& config) {
  ExperimentConfig copy = config;
  ValueLister lister;
  visit_keys(lister, copy);
  return lister.pairs;
}

}  // namespace lifeguard
