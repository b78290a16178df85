#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lifeguard {

/// The systems that a fleet's file may name: the registered ones, "linear" and "external".
std::vector<std::string> fleet_systems();

/// A fleet's file to begin with: two machines of this system, every key explained, and a safe set
/// that is feasible. Throws InvalidInput for a system that is not known.
std::string fleet_template(std::string_view system);

}  // namespace lifeguard
