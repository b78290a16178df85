#include "lifeguard/safety/prove/set_fingerprint.hpp"

#include <string>
#include <string_view>

#include "lifeguard/safety/sets/closed_loop.hpp"

namespace lifeguard {
namespace {

void add_closed_loop(Fingerprint& hash, const ClosedLoop& loop) {
  add_plant(hash, loop.plant);
  hash.add(loop.decay);
  hash.add(loop.p);
  hash.add(loop.start_low);
  hash.add(loop.start_high);
  hash.add(loop.noise_limits);
  for (std::size_t i = 0; i < loop.inflated.size(); ++i) {
    hash.add(loop.multipliers[i]);
    hash.add(loop.noise_multipliers[i]);
    hash.add(loop.inflated[i]);
  }
}

}  // namespace

void add_set(Fingerprint& hash, const SafeSet& set) {
  hash.add(set.coefficients());
  hash.add(set.limits());
  hash.add(set.slack_limit());
  for (const std::string& name : set.names()) hash.add(std::string_view(name));
  for (const GainInequality& inequality : set.inequalities()) {
    hash.add(inequality.theta());
    hash.add(inequality.limit());
  }
  for (const auto& closed_loop : set.closed_loops()) add_closed_loop(hash, *closed_loop);
}

void add_plant(Fingerprint& hash, const UncertainPlant& plant) {
  for (const UncertainPlant::Corner& corner : plant.corners) {
    hash.add(std::string_view(corner.name));
    hash.add(corner.a);
    hash.add(corner.b);
  }
  hash.add(plant.spreads);
  hash.add(plant.state_factors);
  hash.add(plant.action_factors);
  hash.add(plant.state_limits);
  hash.add(plant.action_directions);
  hash.add(plant.action_limits);
  for (const std::string& name : plant.action_limit_names) hash.add(std::string_view(name));
  hash.add(plant.statement == PlantStatement::linear ? 0.0 : 1.0);
}

}  // namespace lifeguard
