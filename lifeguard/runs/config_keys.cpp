#include "lifeguard/runs/config_keys.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lifeguard {

bool Range::contains(double value) const {
  if (!std::isfinite(value)) return false;
  return (low_open ? value > low : value >= low) && value <= high;
}

std::string Range::rule() const {
  std::string text;
  if (std::isfinite(low)) {
    text = low_open ? fmt::format("greater than {}", low) : fmt::format("at least {}", low);
  }
  if (std::isfinite(high)) {
    text += fmt::format("{}at most {}", text.empty() ? "" : " and ", high);
  }
  return text.empty() ? "must be finite" : "must be " + text;
}

}  // namespace lifeguard
