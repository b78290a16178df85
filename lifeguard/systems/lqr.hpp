#pragma once

#include <Eigen/Core>
#include <optional>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/systems/task.hpp"

namespace lifeguard {

/// Whether the Riccati equation was solved.
enum class LqrStatus {
  not_run,
  solved,         // gains stabilise the linear model; the residual is below the tolerance
  not_converged,  // no stabilising solution was found: gains and cost_to_go mean nothing
};

/// u = K (x - goal) minimises Σ (x'Qx + u'Ru) over an infinite horizon of the linear model.
struct LqrResult {
  LqrStatus status = LqrStatus::not_run;
  Eigen::MatrixXd gains;       // K, actions × states
  Eigen::MatrixXd cost_to_go;  // P of the Riccati equation
  /// ‖A'PA - P - A'PB (R + B'PB)⁻¹ B'PA + Q‖ / ‖P‖, in the largest entry.
  double relative_residual = kNaN;
};

/// Solves the discrete algebraic Riccati equation by doubling (core/riccati.hpp).
LqrResult solve_lqr(const LinearModel& model, const Eigen::MatrixXd& q, const Eigen::MatrixXd& r);

/// The LQR controller of a task's own linearisation and cost, as the gains (actions × inputs) of
/// its policy: on the state relative to the goal, or on the features of its own that a system has,
/// if these can express the controller near the goal. Throws InvalidInput if the task has none (an
/// action without weight, an unstable mode that no action reaches, features that cannot).
Eigen::MatrixXd lqr_gains(const Task& task);

/// The same for a policy with these features: zero on second-order terms, and with a bias the
/// action that holds the goal.
Eigen::MatrixXd lqr_policy_gains(const Task& task, const Features& features);

/// The same for callers that can do without: nothing where a task has no LQR controller.
std::optional<Eigen::MatrixXd> find_lqr_policy_gains(const Task& task,
                                                     const Features& features = {});

}  // namespace lifeguard
