#pragma once

#include <filesystem>
#include <string>

#include "lifeguard/core/random.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/fleet_run.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/recording.hpp"
#include "lifeguard/trajectories/rollout.hpp"

namespace lifeguard {

/// Masses on springs with limits on their gains; the machines come after it.
inline std::string small_fleet_head(const std::string& reach) {
  return R"([experiment]
name = "small-fleet"
steps = 40
[fleet]
system = "mass-spring"
[fleet.settings]
sigma = 0.3
[safe_set.lqr_box]
reach = )" +
         reach + "\n";
}

/// Two of them; `more` is TOML that comes after them.
inline std::string small_fleet_text(const std::string& more = "",
                                    const std::string& reach = "0.5") {
  return small_fleet_head(reach) + R"([[machine]]
name = "a"
[[machine]]
name = "b"
[machine.parameters]
mass_kilograms = 2.0
)" + more;
}

inline ExperimentConfig small_fleet(const std::string& more = "",
                                    const std::string& reach = "0.5") {
  return parse_config(small_fleet_text(more, reach), "fleet.toml");
}

/// What a machine that plays this policy records, the machine being this task in truth.
inline Recording flown(const Task& task, const ExportedPolicy& policy, std::uint64_t seed,
                       int steps = 40, int trajectories = 12) {
  RolloutSettings settings;
  settings.trajectories = trajectories;
  settings.steps = steps;
  settings.seed = seed;
  settings.features = policy.features;
  Recording recording = recorded(task, GaussianPolicy(policy.gains, policy.sigma), settings);
  recording.machine = policy.task;
  recording.policy = policy.fingerprint;
  return recording;
}

/// One round of a machine of the fleet, with the machine as it is described.
inline ObservedRound fly_round(FleetRun& fleet, const ExperimentConfig& config,
                               const std::string& name, std::uint64_t seed, int trajectories = 12) {
  for (const Machine& machine : config.machines) {
    if (machine.task.name != name) continue;
    const ExportedPolicy policy = fleet.policy(name);
    return fleet.observe(name, flown(machine.task, policy, seed, config.steps, trajectories),
                         {"flight " + std::to_string(seed), "test.csv", std::to_string(seed)});
  }
  return {};
}

constexpr const char* kThirdMachine = "[[machine]]\nname = \"c\"\nnotes = \"the new one\"\n";

/// Two rounds, a change of both the fleet and its limits, two more.
inline void play_small_fleet(const std::filesystem::path& run) {
  {
    const ExperimentConfig config = small_fleet();
    FleetRun fleet(config, run);
    fly_round(fleet, config, "a", 1);
    fly_round(fleet, config, "b", 2);
  }
  const ExperimentConfig config = small_fleet(kThirdMachine, "0.45");
  FleetRun fleet(config, run);
  fly_round(fleet, config, "c", 3);
  fly_round(fleet, config, "a", 4);
}

}  // namespace lifeguard
