// The list of the built-in systems: a new one is its file and an entry here. It is read more than
// once where the equations of motion are compiled (dynamics.hpp), hence no #pragma once.

#include "lifeguard/systems/cart_pole.hpp"
#include "lifeguard/systems/mass_spring.hpp"
#include "lifeguard/systems/quadrotor.hpp"

#ifndef LIFEGUARD_SYSTEMS_BUILT_IN_SYSTEMS_HPP
#define LIFEGUARD_SYSTEMS_BUILT_IN_SYSTEMS_HPP

#include "lifeguard/systems/built_in_system.hpp"

namespace lifeguard {

/// All of them, in the order in which they are listed everywhere.
using BuiltInSystems = SystemList<MassSpring, CartPole, Quadrotor>;

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_BUILT_IN_SYSTEMS_HPP
