#pragma once

#include <string>

#include "lifeguard/report/chart.hpp"

namespace lifeguard {

/// The number at the end of a task's name, or all of it.
std::string short_name(const std::string& name);

/// Puts the label of every mark of a plane on a side where it covers neither a mark nor another
/// label. One that has no such side is left out: the mark still says its name when it is pointed
/// at.
void place_labels(Chart& chart);

}  // namespace lifeguard
