#pragma once

#include <Eigen/Core>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lifeguard/runs/run_file.hpp"

namespace lifeguard {

/// A learnt policy for a controller: u = K (x - goal), limited to the actuators' range.
struct ExportedPolicy {
  std::string experiment;
  std::string method;
  int seed = 0;
  long round = 0;
  std::string task;
  Eigen::MatrixXd gains;  // actions × states
  Eigen::VectorXd goal;
  Eigen::VectorXd action_low;
  Eigen::VectorXd action_high;
  double sigma = 0;
  std::string worst_row;  // the constraint it is nearest to; empty without constraints
  double margin = 0;      // how far, a lower bound; infinity without constraints
};

/// `task` is a task's name or its number from 0. Throws InvalidInput for a task the run does not
/// have, and RunFileError if the policy to export is not proven safe.
ExportedPolicy export_policy(const RunReader& run, const std::string& task);

nlohmann::ordered_json policy_to_json(const ExportedPolicy& policy);
/// A C++ header without dependencies: the gains and one function from state to action.
std::string policy_to_header(const ExportedPolicy& policy);

}  // namespace lifeguard
