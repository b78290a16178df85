#include "lifeguard/systems/parameter.hpp"

#include <fmt/format.h>

namespace lifeguard {

std::string ParameterRule::text() const {
  std::string rule = "must be finite";
  if (low > -kInfinity) {
    rule += fmt::format(" and {} {}", low_open ? "greater than" : "at least", low);
  }
  if (high < kInfinity) rule += fmt::format(" and at most {}", high);
  return rule;
}

}  // namespace lifeguard
