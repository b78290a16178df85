// The list of the built-in systems: a new one is its file and an entry here. It is read more than
// once where the equations of motion are compiled (dynamics.hpp), hence no #pragma once.

#include "lifeguard/systems/cart_pole.hpp"
#include "lifeguard/systems/mass_spring.hpp"
#include "lifeguard/systems/quadrotor.hpp"

// These are made of the ones before.
#include "lifeguard/systems/rigid_quadrotor.hpp"

#include "lifeguard/systems/flying_quadrotor.hpp"

#ifndef LIFEGUARD_SYSTEMS_BUILT_IN_SYSTEMS_HPP
#define LIFEGUARD_SYSTEMS_BUILT_IN_SYSTEMS_HPP

#include <memory>
#include <utility>
#include <variant>

#include "lifeguard/systems/built_in_system.hpp"

namespace lifeguard {

/// All of them, in the order in which they are listed everywhere.
using BuiltInSystems = SystemList<MassSpring, CartPole, Quadrotor, RigidQuadrotor, FlyingQuadrotor>;

/// One of them, or a user's own.
using SystemVariant = BuiltInSystems::As<std::variant, CustomSystemPointer>;

/// What a System holds.
struct SystemModel {
  SystemVariant machine;
};

/// A built-in system as any system, and back: of another type it is a bug.
template <class S>
System built_in(S system) {
  return System(std::make_shared<const SystemModel>(SystemModel{std::move(system)}));
}
template <class S>
const S& built_in_as(const System& system) {
  return std::get<S>(system.model().machine);
}

}  // namespace lifeguard

#endif  // LIFEGUARD_SYSTEMS_BUILT_IN_SYSTEMS_HPP
