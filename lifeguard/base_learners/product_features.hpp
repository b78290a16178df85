#pragma once

#include <vector>

#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// The features of a batch, in their order, but those that are always the product of two others:
/// what a policy sees of second order is a function of the state and no state of its own. Some
/// steps spread over the batch decide; a feature that is zero there, or always the same, stays.
std::vector<int> features_without_products(const Trajectories& trajectories);

}  // namespace lifeguard
