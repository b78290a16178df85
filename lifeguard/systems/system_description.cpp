#include "lifeguard/systems/system_description.hpp"

#include <fmt/format.h>

#include <numeric>

namespace lifeguard {

std::vector<int> SystemDescription::drawn_states() const {
  if (!positions.empty()) return positions;
  std::vector<int> all(states.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<Signal> SystemDescription::inputs(const Features& policy_features) const {
  if (!features.empty()) return features;
  std::vector<Signal> seen = states;
  if (policy_features.bias) seen.push_back({"1", "1"});
  if (policy_features.second_order) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      seen.push_back({states[i].name + "²", fmt::format("({})²", states[i].unit)});
      for (std::size_t j = i + 1; j < states.size(); ++j) {
        seen.push_back({fmt::format("{} · {}", states[i].name, states[j].name),
                        fmt::format("{} · {}", states[i].unit, states[j].unit)});
      }
    }
  }
  return seen;
}

std::vector<std::string> SystemDescription::gain_names(const Features& policy_features) const {
  const std::vector<Signal> seen = inputs(policy_features);
  std::vector<std::string> names;
  for (const Signal& action : actions) {
    for (const Signal& input : seen) {
      names.push_back(
          fmt::format("{} on {}", actions.size() == 1 ? "gain" : action.name, input.name));
    }
  }
  return names;
}

}  // namespace lifeguard
