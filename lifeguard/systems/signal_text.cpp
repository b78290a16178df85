#include "lifeguard/systems/signal_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

namespace lifeguard {
namespace {

/// The whole number at the beginning of a text, which is taken from it.
std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view expected, std::string_view& text) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

using Explained = std::vector<std::pair<std::string, std::string>>;

void add(std::string name, std::string meaning, Explained& found) {
  const std::pair entry(std::move(name), std::move(meaning));
  if (std::find(found.begin(), found.end(), entry) == found.end()) found.push_back(entry);
}

/// Every numbered gain and action of a text, and what it is.
Explained numbered(std::string_view text, const SystemDescription& system,
                   const Features& features) {
  const std::size_t inputs = system.inputs(features).size();
  Explained found;
  for (; !text.empty(); text.remove_prefix(1)) {
    std::string_view rest = text;
    if (take("gain(", rest)) {
      const auto action = take_number(rest);
      if (!action || !take(", ", rest)) continue;
      const auto input = take_number(rest);
      if (!input || !take(")", rest) || *action >= system.actions.size() || *input >= inputs) {
        continue;
      }
      add(fmt::format("gain({}, {})", *action, *input),
          gain_meanings(system, features)[*action * inputs + *input], found);
    } else if (take("action ", rest)) {
      const auto action = take_number(rest);
      const bool limit = rest.starts_with(" upper limit") || rest.starts_with(" lower limit");
      if (!action || !limit || *action >= system.actions.size()) continue;
      add(fmt::format("action {}", *action), signal_text(system.actions[*action]), found);
    }
  }
  return found;
}

}  // namespace

std::string signal_text(const Signal& signal) {
  return signal.unit.empty() || signal.unit == "1"
             ? signal.name
             : fmt::format("{} [{}]", signal.name, signal.unit);
}

std::string signals_text(const std::vector<Signal>& signals) {
  std::vector<std::string> texts;
  for (const Signal& signal : signals) texts.push_back(signal_text(signal));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string value_text(double value, const Signal& signal) {
  return signal.unit.empty() || signal.unit == "1" ? fmt::format("{:.4g}", value)
                                                   : fmt::format("{:.4g} {}", value, signal.unit);
}

std::string values_text(const PerAction& values, const std::vector<Signal>& actions) {
  std::vector<std::string> texts;
  for (const Signal& action : actions) {
    const double value = values.of(static_cast<Eigen::Index>(texts.size()));
    texts.push_back(fmt::format("{} {}", action.name, value_text(value, action)));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string gain_unit(const Signal& action, const Signal& input) {
  const std::string above = action.unit.empty() ? "1" : action.unit;
  if (input.unit == "1" || input.unit.empty()) return above == "1" ? "" : above;
  const bool compound = input.unit.find_first_of(" /") != std::string::npos;
  return fmt::format("{}/{}", above, compound ? fmt::format("({})", input.unit) : input.unit);
}

std::vector<std::string> gain_meanings(const SystemDescription& system, const Features& features) {
  std::vector<std::string> meanings;
  for (const Signal& action : system.actions) {
    for (const Signal& input : system.inputs(features)) {
      const std::string name = input.name == "1"
                                   ? action.name + ", constant part"
                                   : fmt::format("{} per {}", action.name, input.name);
      meanings.push_back(signal_text({name, gain_unit(action, input)}));
    }
  }
  return meanings;
}

std::string row_meaning(std::string_view row, const SystemDescription& system,
                        const Features& features) {
  const Explained found = numbered(row, system, features);
  return found.empty() ? "" : found.front().second;
}

std::string with_row_meanings(const std::string& text, const SystemDescription& system,
                              const Features& features) {
  std::string result = text;
  for (const auto& [name, meaning] : numbered(text, system, features)) {
    result += fmt::format("; {}: {}", name, meaning);
  }
  return result;
}

}  // namespace lifeguard
