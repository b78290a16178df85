#include "lifeguard/systems/lqr.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <optional>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/riccati.hpp"
#include "lifeguard/systems/described_system.hpp"

namespace lifeguard {

LqrResult solve_lqr(const LinearModel& model, const Eigen::MatrixXd& q, const Eigen::MatrixXd& r) {
  LqrResult result;
  result.status = LqrStatus::not_converged;
  if (r.llt().info() != Eigen::Success) return result;
  RiccatiDoubling doubling(model.a, model.b, q, r);
  const Eigen::MatrixXd& h = doubling.cost_to_go();
  constexpr int kMaxDoublings = 60;
  for (int j = 0; j < kMaxDoublings; ++j) {
    const double change = doubling.twice();
    if (!h.allFinite()) return result;
    if (change <= 1e-15 * h.cwiseAbs().maxCoeff()) break;
  }

  const Eigen::MatrixXd bph = model.b.transpose() * h;
  const Eigen::LDLT<Eigen::MatrixXd> s(r + bph * model.b);
  result.cost_to_go = h;
  result.gains = -s.solve(bph * model.a);
  const Eigen::MatrixXd residual =
      model.a.transpose() * h * model.a - h + (bph * model.a).transpose() * result.gains + q;
  result.relative_residual = residual.cwiseAbs().maxCoeff() / h.cwiseAbs().maxCoeff();
  const Eigen::MatrixXd closed = model.a + model.b * result.gains;
  const bool stable = closed.eigenvalues().cwiseAbs().maxCoeff() < 1.0;
  if (stable && result.relative_residual < 1e-9) result.status = LqrStatus::solved;
  return result;
}

namespace {

/// Why a task has no LQR controller, or its gains on the state.
struct LqrOutcome {
  std::optional<InvalidInput> problem;
  Eigen::MatrixXd gains;
};

LqrOutcome state_gains(const Task& task) {
  for (int a = 0; a < task.actions(); ++a) {
    const double weight = task.settings.action_weights(a);
    if (weight > 0) continue;
    return {InvalidInput(indexed("action_weights", a), fmt::format("{}", weight),
                         "must be greater than 0 for LQR"),
            {}};
  }
  LqrResult result = solve_lqr(task.linearise(), task.settings.state_weights.asDiagonal(),
                               task.settings.action_weights.asDiagonal());
  if (result.status != LqrStatus::solved) {
    return {InvalidInput("task", task.name,
                         "must have a stabilising LQR controller (check weights and parameters)"),
            {}};
  }
  return {{}, std::move(result.gains)};
}

/// The smallest gains G on features φ of the system's own with G φ(x) = K (x - goal) + u near the
/// goal, where u holds the goal: G ∂φ/∂x = K and G φ(goal) = u.
LqrOutcome feature_gains(const Task& task, const Eigen::MatrixXd& state_gains) {
  constexpr double kStep = 1e-6;
  const Eigen::VectorXd& goal = task.settings.goal;
  Eigen::MatrixXd slopes(task.inputs(), task.states() + 1);
  for (int i = 0; i < task.states(); ++i) {
    const Eigen::VectorXd h = kStep * Eigen::VectorXd::Unit(task.states(), i);
    slopes.col(i) = (task.input(goal + h) - task.input(goal - h)) / (2 * kStep);
  }
  slopes.col(task.states()) = task.input(goal);
  Eigen::MatrixXd wanted(task.actions(), task.states() + 1);
  wanted << state_gains, task.equilibrium_action();
  const Eigen::MatrixXd gains =
      slopes.transpose().completeOrthogonalDecomposition().solve(wanted.transpose()).transpose();
  const double error = (gains * slopes - wanted).cwiseAbs().maxCoeff();
  if (!(error <= 1e-6 * wanted.cwiseAbs().maxCoeff())) {
    return {
        InvalidInput("task", task.name, "must have features that can express LQR near the goal"),
        {}};
  }
  return {{}, gains};
}

LqrOutcome policy_gains(const Task& task, const Features& features) {
  LqrOutcome outcome = state_gains(task);
  if (outcome.problem) return outcome;
  if (task.own_features() > 0) {
    require(features.is_state_only(), "features", "bias or second order",
            "must be the default for a system with features of its own");
    return feature_gains(task, outcome.gains);
  }
  Eigen::MatrixXd gains = Eigen::MatrixXd::Zero(task.actions(), features.count(task.states()));
  gains.leftCols(task.states()) = outcome.gains;
  if (features.bias) gains.col(task.states()) = task.equilibrium_action();
  return {{}, std::move(gains)};
}

}  // namespace

Eigen::MatrixXd lqr_gains(const Task& task) { return lqr_policy_gains(task, Features{}); }

Eigen::MatrixXd lqr_policy_gains(const Task& task, const Features& features) {
  LqrOutcome outcome = policy_gains(task, features);
  if (outcome.problem) throw *outcome.problem;
  return std::move(outcome.gains);
}

std::optional<Eigen::MatrixXd> find_lqr_policy_gains(const Task& task, const Features& features) {
  if (!can_simulate(task.system)) return std::nullopt;
  LqrOutcome outcome = policy_gains(task, features);
  if (outcome.problem) return std::nullopt;
  return std::move(outcome.gains);
}

}  // namespace lifeguard
