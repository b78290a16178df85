#include "cli/page.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace lifeguard {

std::string page_with(const nlohmann::ordered_json& data) {
  constexpr std::string_view kPlace = "<!--data-->";
  std::string page = page_template();
  const std::size_t place = page.find(kPlace);
  if (place == std::string::npos) throw std::logic_error("the page has no place for its data");
  // In a script element only "<" can end or change how the text is read.
  std::string text;
  for (const char c : data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return page.replace(place, kPlace.size(), text);
}

}  // namespace lifeguard
