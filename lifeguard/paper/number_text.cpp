#include "lifeguard/paper/number_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lifeguard {

std::string number_text(double value, int digits, std::string_view infinite) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return fmt::format("{}{}", value > 0 ? "" : "-", infinite);
  return fmt::format("{:.{}g}", value, digits);
}

std::string median_text(const OverSeeds& value, int digits, std::string_view infinite) {
  const auto text = [&](double number) { return number_text(number, digits, infinite); };
  if (std::isnan(value.median_low)) return text(value.median);
  return fmt::format("{} ({} to {})", text(value.median), text(value.median_low),
                     text(value.median_high));
}

}  // namespace lifeguard
