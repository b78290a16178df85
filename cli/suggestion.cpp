#include "cli/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lifeguard {
namespace {

/// Letters to insert, delete, replace or swap (with the next one) to make one word of the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 40;
  if (word.size() > kLongest) return "";
  // A word that is known is not mistyped, but in the wrong place.
  if (std::find(candidates.begin(), candidates.end(), word) != candidates.end()) return "";
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t away = distance(word, candidate);
    // The beginning of a word is as good as a word with a slip in it.
    const bool begins = word.size() > 2 && candidate.starts_with(word);
    const std::size_t cost = begins ? 1 : away;
    if (cost < least) {
      least = cost;
      best = candidate;
    }
  }
  return best;
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  std::vector<std::string> known;
  if (chosen.empty()) {
    for (const CLI::App* each : app.get_subcommands({})) known.push_back(each->get_name());
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::vector<std::string> unknown = app.remaining(true);
  std::string text = error.what();
  if (!unknown.empty()) {
    text = fmt::format("{} {}", chosen.empty() ? "there is no command or option" : "not expected:",
                       fmt::join(unknown, " "));
  }
  for (const std::string& word : unknown) {
    const std::string meant = nearest(word.substr(0, word.find('=')), known);
    if (!meant.empty()) text += fmt::format("; did you mean {}?", meant);
  }
  const std::string name = chosen.empty() ? "" : command.get_name() + " ";
  return fmt::format("{}\n`lifeguard {}--help` says what there is", text, name);
}

}  // namespace lifeguard
