#include "lifeguard/runs/shallow_json.hpp"

#include <nlohmann/json.hpp>

namespace lifeguard {

nlohmann::json shallow_json(const std::string& text) {
  constexpr int kDeepest = 12;
  const auto refuse_deep = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepest) {
      throw nlohmann::json::other_error::create(599, "nested too deeply", nullptr);
    }
    return true;
  };
  return nlohmann::json::parse(text, refuse_deep);
}

}  // namespace lifeguard
