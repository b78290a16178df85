#include "lifeguard/systems/lqr.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include "lifeguard/core/check.hpp"

namespace lifeguard {

LqrResult solve_lqr(const LinearModel& model, const Eigen::MatrixXd& q, const Eigen::MatrixXd& r) {
  const Eigen::Index n = model.a.rows();
  LqrResult result;
  result.status = LqrStatus::not_converged;
  const Eigen::LLT<Eigen::MatrixXd> r_factor(r);
  if (r_factor.info() != Eigen::Success) return result;

  // a, g, h of step j hold the 2^j-th power of the symplectic pencil; h tends to P.
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(n, n);
  Eigen::MatrixXd a = model.a;
  Eigen::MatrixXd g = model.b * r_factor.solve(model.b.transpose());
  Eigen::MatrixXd h = q;
  constexpr int kMaxDoublings = 60;
  for (int j = 0; j < kMaxDoublings; ++j) {
    const Eigen::PartialPivLU<Eigen::MatrixXd> w(identity + g * h);
    const Eigen::MatrixXd wa = w.solve(a);
    const Eigen::MatrixXd wg = w.solve(g);
    const Eigen::MatrixXd change = a.transpose() * h * wa;
    g += a * wg * a.transpose();
    g = 0.5 * (g + g.transpose()).eval();
    h += change;
    h = 0.5 * (h + h.transpose()).eval();
    a = (a * wa).eval();
    if (!h.allFinite()) return result;
    if (change.cwiseAbs().maxCoeff() <= 1e-15 * h.cwiseAbs().maxCoeff()) break;
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

Eigen::MatrixXd lqr_gains(const Task& task) {
  for (int a = 0; a < task.actions(); ++a) {
    require(task.settings.action_weights(a) > 0, indexed("action_weights", a),
            task.settings.action_weights(a), "must be greater than 0 for LQR");
  }
  const LqrResult result = solve_lqr(task.linearise(), task.settings.state_weights.asDiagonal(),
                                     task.settings.action_weights.asDiagonal());
  require(result.status == LqrStatus::solved, "task", task.name,
          "must have a stabilising LQR controller (check weights and parameters)");
  return result.gains;
}

Eigen::MatrixXd lqr_policy_gains(const Task& task, const Features& features) {
  Eigen::MatrixXd gains = Eigen::MatrixXd::Zero(task.actions(), features.count(task.states()));
  gains.leftCols(task.states()) = lqr_gains(task);
  if (features.bias) gains.col(task.states()) = task.equilibrium_action();
  return gains;
}

}  // namespace lifeguard
