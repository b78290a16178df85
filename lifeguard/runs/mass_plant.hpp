#pragma once

#include <optional>

#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/system.hpp"

namespace lifeguard {

/// What a [safe_set.mass_stability] table does not say is taken from the system, if it has the
/// parameters of a mass on a spring by name.
std::optional<MassStability> mass_plant(const System& system);

}  // namespace lifeguard
