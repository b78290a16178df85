#pragma once

#include <Eigen/Core>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/systems/system.hpp"

namespace lifeguard {

struct ClosedLoop;

/// A learnt policy for a controller: u = K Φ(x), limited to the actuators' range, with the features
/// Φ of policy.hpp: x - goal, and what the run's policies see beyond it. For a system with
/// features of its own x stands for these, and the goal is zero.
struct ExportedPolicy {
  std::string experiment;
  std::string method;
  int seed = 0;
  long round = 0;
  std::string task;
  std::string system;
  std::vector<Signal> inputs;   // what x is: states, or the system's own features
  std::vector<Signal> actions;  // what u is
  bool own_features = false;
  Features features;      // what of x the gains are for
  Eigen::MatrixXd gains;  // actions × features
  Eigen::VectorXd goal;
  Eigen::VectorXd action_low;
  Eigen::VectorXd action_high;
  double dt_seconds = 0;  // how long an action is held
  int steps = 0;          // of a trajectory that a machine shall record; 0 if nobody asks for one
  PerAction sigma;        // of the exploration noise, for all actions or for each
  PerAction noise_limit = kInfinity;  // at ± this it is clipped
  std::string fingerprint;            // of a policy that was handed out to a machine
  std::string worst_row;              // the constraint it is nearest to; empty without constraints
  std::string worst_row_meaning;      // of the gain in its name; empty if the name says all
  std::vector<std::string> gain_meanings;  // one for each gain, row by row, with its unit
  double margin = 0;                       // how far, a lower bound; infinity without constraints
  /// What is proven of the machine under this policy; null without a closed loop.
  std::shared_ptr<const ClosedLoop> closed_loop;

  /// The deviation of the noise before it is clipped, so that `sigma` is what is played.
  PerAction noise_scale() const;
};

/// `task` is a task's name or its number from 0. Throws InvalidInput for a task the run does not
/// have, and RunFileError if the policy to export is not proven safe.
ExportedPolicy export_policy(const RunView& run, const std::string& task);

/// What an export says of where a policy comes from.
struct PolicyOrigin {
  std::string experiment;
  std::string method;
  int seed = 0;
  long round = 0;
  Features features;
};
/// A task's policy. Throws RunFileError if it is not safe.
ExportedPolicy export_policy(const PolicyOrigin& origin, const Task& task, const SafeSet& safe_set,
                             const GaussianPolicy& policy);

nlohmann::ordered_json policy_to_json(const ExportedPolicy& policy);

}  // namespace lifeguard
