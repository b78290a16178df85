#include "lifeguard/runs/mass_plant.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace lifeguard {

std::optional<MassStability> mass_plant(const System& system) {
  constexpr std::array<std::pair<std::string_view, double MassStability::*>, 4> kNames = {
      {{"spring_newtons_per_metre", &MassStability::spring_newtons_per_metre},
       {"damping_newton_seconds_per_metre", &MassStability::damping_newton_seconds_per_metre},
       {"mass_kilograms", &MassStability::mass_kilograms},
       {"actuator_gain", &MassStability::actuator_gain}}};
  MassStability plant;
  std::size_t found = 0;
  for (const ParameterDescription& parameter : describe(system).parameters) {
    for (const auto& [name, field] : kNames) {
      if (parameter.name != name) continue;
      plant.*field = parameter.value;
      ++found;
    }
  }
  return found == kNames.size() ? std::optional(plant) : std::nullopt;
}

}  // namespace lifeguard
