#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/runs/experiment.hpp"

namespace lifeguard {

/// What is understood of one machine of a fleet, before anything is played.
struct MachineReport {
  std::string name;
  std::string system;
  bool retired = false;
  bool simulated = true;  // false: its trajectories come from outside
  std::vector<ParameterRange> tolerances;
  int constraints = 0;  // rows and inequalities of its safe set
  /// Of its closed loop; NaN and empty without one.
  double decay = kNaN;
  bool nonlinear = false;     // the proof speaks of the nonlinear machine
  double start_share = kNaN;  // the part of its start box that is guaranteed, along each side
  Eigen::VectorXd start_low;
  Eigen::VectorXd start_high;
  Eigen::VectorXd state_limits;
  /// Its first policy: where it comes from, its smallest margin and the constraint it is nearest
  /// to.
  std::string first_policy;
  double margin = kNaN;
  std::string nearest;
  std::string nearest_meaning;  // of the gain in that name; empty if the name says all
  std::vector<Signal> states;
  std::vector<Signal> actions;
  PerAction sigma;                           // of the exploration noise
  PerAction noise_limit;                     // at which it is clipped
  std::vector<std::string> tolerance_units;  // one for each tolerance
  /// Why it cannot be used; empty if it can.
  std::string problem;
  /// Its closed loop was not looked for: there were too many before it.
  bool not_solved = false;
  /// What its description lacks, and what that means.
  std::vector<std::string> missing;
};

/// What is understood of a fleet.
struct FleetReport {
  std::string name;
  std::vector<std::string> gains;  // the numbers of a policy, by name, with units
  int steps = 0;
  std::vector<MachineReport> machines;

  /// Whether every machine can be used.
  bool usable() const;
};

/// Builds every safe set and looks at every first policy; machines that fail are part of the
/// report. A closed loop takes a part of a second to be found, so that at most so many different
/// ones are.
FleetReport report_fleet(const ExperimentConfig& fleet, const LongWork& work = {},
                         std::size_t most_closed_loops = std::numeric_limits<std::size_t>::max());

nlohmann::ordered_json fleet_report_to_json(const FleetReport& report);

}  // namespace lifeguard
