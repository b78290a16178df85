#include "lifeguard/runs/closed_loop_task.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/prove/set_fingerprint.hpp"
#include "lifeguard/safety/sets/closed_loop.hpp"
#include "lifeguard/systems/described_system.hpp"
#include "lifeguard/systems/lqr.hpp"

namespace lifeguard {
namespace {

UncertainPlant plant_of(const ClosedLoopTask& task) {
  if (task.corners.empty()) {
    const bool custom = describe(task.machine.system).custom;
    require(can_simulate(task.machine.system), "safe_set.closed_loop", "(no corners)",
            "an external machine has no model: give corners, the linear models between which its "
            "steps lie");
    const DescribedSystem* from_file = described(task.machine.system);
    if (from_file != nullptr) {
      // Its steps are affine in the entries of its model: the corners of their ranges say all.
      InclusionSettings linear = task.inclusion;
      linear.statement = PlantStatement::linear;
      return linearised_plant(task.machine, linear);
    }
    require(!custom || task.inclusion.statement == PlantStatement::linear,
            "safe_set.closed_loop.statement", "nonlinear",
            "a user's own system has no inclusion: give its corners, or ask for \"linear\"");
    return custom ? linearised_plant(task.machine, task.inclusion)
                  : inclusion(task.machine, task.inclusion);
  }
  // The limits are those that a linear statement about the same machine would have.
  InclusionSettings linear = task.inclusion;
  linear.statement = PlantStatement::linear;
  linear.ranges.clear();
  return given_plant(task.machine, linear, task.corners);
}

/// The LQR controllers of the machine as it is known and of the corners of its tolerance.
std::vector<RequiredGains> required_gains(const ClosedLoopTask& task) {
  std::vector<RequiredGains> required;
  if (task.room == ClosedLoopRoom::none) return required;
  if (!can_simulate(task.machine.system)) {
    // The corners are all that is known of it.
    for (const UncertainPlant::Corner& corner : task.corners) {
      const TaskSettings& s = task.machine.settings;
      const LqrResult lqr = solve_lqr({corner.a, corner.b}, s.state_weights.asDiagonal(),
                                      s.action_weights.asDiagonal());
      require(lqr.status == LqrStatus::solved, "safe_set.closed_loop.corner", corner.name,
              "must have an LQR controller with the machine's weights, or ask for room = \"none\"");
      required.push_back({"LQR of " + corner.name, lqr.gains});
    }
    return required;
  }
  required.push_back({"LQR of the machine", lqr_gains(task.machine)});
  const std::vector<ParameterRange>& ranges = task.inclusion.ranges;
  if (task.room == ClosedLoopRoom::nominal || ranges.empty()) return required;
  for (std::size_t corner = 0; corner < std::size_t{1} << ranges.size(); ++corner) {
    Task machine = task.machine;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const bool high = (corner >> i & 1U) != 0;
      set_parameter(machine.system, ranges[i].parameter, high ? ranges[i].high : ranges[i].low);
    }
    required.push_back({fmt::format("LQR of corner {}", corner), lqr_gains(machine)});
  }
  return required;
}

std::string key_of(const UncertainPlant& plant, const ClosedLoopSettings& settings) {
  Fingerprint hash;
  add_plant(hash, plant);
  hash.add(settings.decay);
  hash.add(settings.start_low);
  hash.add(settings.start_high);
  hash.add(settings.least_start_share);
  hash.add(settings.noise_limits);
  for (const RequiredGains& required : settings.required_gains) hash.add(required.gains);
  hash.add(settings.anchor.value_or(Eigen::MatrixXd()));
  return hash.hex();
}

}  // namespace

std::shared_ptr<const ClosedLoop> solve_closed_loop(const ClosedLoopTask& task,
                                                    const Deadline& deadline) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const ClosedLoop>> made;
  const UncertainPlant plant = plant_of(task);
  ClosedLoopSettings settings = task.settings;
  settings.required_gains = required_gains(task);
  const std::string key = key_of(plant, settings);
  const std::lock_guard lock(mutex);
  std::shared_ptr<const ClosedLoop>& known = made[key];
  if (known) return known;
  const ClosedLoopResult result = make_closed_loop(plant, settings, deadline);
  require(result.closed_loop.has_value(), "safe_set.closed_loop", to_string(result.status),
          fmt::format("must be feasible for {}: {}", task.machine.name, result.message));
  const std::vector<ClosedLoopFinding> findings = check_closed_loop(*result.closed_loop);
  require(findings.empty(), "safe_set.closed_loop", "not proven",
          findings.empty() ? "" : findings.front().message);
  known = std::make_shared<const ClosedLoop>(*result.closed_loop);
  return known;
}

}  // namespace lifeguard
