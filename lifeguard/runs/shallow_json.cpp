#include "lifeguard/runs/shallow_json.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

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

std::string complaint_of(const std::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
  std::string_view what = error.what();
  const std::size_t bracket = what.find("] ");
  if (what.starts_with('[') && bracket != std::string_view::npos) what.remove_prefix(bracket + 2);
  return std::string(what);
}

}  // namespace lifeguard
