#pragma once

#include <string>

#include "lifeguard/report/chart.hpp"

namespace lifeguard {

/// A chart as a picture for a paper, on white. Points that are not finite, or not positive on a
/// logarithmic axis, are left out.
std::string to_svg(const Chart& chart, Scale scale);

}  // namespace lifeguard
