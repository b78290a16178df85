#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lifeguard/systems/system.hpp"

namespace lifeguard::python {

/// [("mass_kilograms", (1, 2)), ("gain", (0.5, 2, True))]: parameters and where they lie.
using Ranges = std::vector<std::pair<
    std::string, std::variant<std::pair<double, double>, std::tuple<double, double, bool>>>>;

std::vector<ParameterRange> to_ranges(const Ranges& ranges);

}  // namespace lifeguard::python
