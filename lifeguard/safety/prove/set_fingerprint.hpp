#pragma once

#include "lifeguard/core/uncertain_plant.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// Every number and name of a set: its rows, its inequalities and the closed loops they stand for.
void add_set(Fingerprint& hash, const SafeSet& set);

/// Every number and name of a plant.
void add_plant(Fingerprint& hash, const UncertainPlant& plant);

}  // namespace lifeguard
