#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/stop.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/solve/tightened_tasks.hpp"

namespace lifeguard {

/// The projection as one problem in L and S. What it points to stays the caller's.
struct JointProblem {
  const std::vector<TightenedTask>* tasks = nullptr;
  const Knowledge* target = nullptr;
  double mu1 = 1, mu2 = 1;
  double low = 0, high = 0;  // of the singular values
  double margin = 0;         // the part of every bound that was taken off it
  Deadline deadline = {};
};

/// A descent in L and S together, which alternation cannot replace: a row that L and s could both
/// give way to holds each of them where it is. It follows the minima of
///   μ₁‖S − S̃‖² + μ₂‖L − L̃‖² − w (Σ log(r − A L s) + Σ log(c² − ‖r − A L s‖²)
///                                + Σ log(σ − low) + Σ log(high − σ))
/// to smaller and smaller weights w by Newton's method. The Hessian has one k × k block for each
/// task, which is eliminated; what is left is dense in the numbers of L. Time is linear in the
/// number of tasks, and memory does not depend on it.
///
/// Near such a minimum, with Newton step Δ, the multipliers of the linearised step are ≥ 0 and
/// leave the gradient of the Lagrangian at −R, where R is what curvature makes of Δ. So by duality
///   w (n + √n) + ‖R_L‖²/4μ₂ + ‖R_S‖²/4μ₁,   n the number of constraints,
/// bounds what a small step from here can gain. The descent ends when this is less than a part of
/// the objective, or less than the margin costs by which the bounds are tighter than they need be,
/// or less than the objective is off by when the last digits of the target are.
class JointDescent {
 public:
  enum class Outcome {
    going_on,
    stationary,  // no small step lowers the objective by more than the tolerance
    step_limit,
    time_limit,
    too_large,  // L has more numbers than a dense Hessian has room for
    failed,     // the numbers do not allow another step: rounding, overflow
  };

  /// `start` is feasible up to rounding; the descent begins inside of it by the part `inside` of
  /// its room, 0 < inside < 1: with less it stays nearer to the start. `tolerance` is the part of
  /// the objective that a small step may still gain in the end.
  void begin(const JointProblem& problem, const Knowledge& start, double inside, double tolerance);
  /// To the minimum for the present weight, or to the end.
  Outcome advance(int max_steps);

  /// Strictly feasible, up to rounding.
  const Knowledge& point() const { return point_; }
  double objective() const { return objective_; }
  /// What a small step from a stationary point can gain at most.
  double left_to_gain() const { return left_to_gain_; }
  /// Newton steps of the last advance().
  int steps() const { return steps_; }

 private:
  void move_inside(double part);
  double objective(const Knowledge& at) const;
  double merit(const Knowledge& at);
  bool load_singular_vectors();
  bool load_derivatives();
  bool load_task(Eigen::Index task);
  void eliminate_task();
  void add_spectrum();
  bool find_step();
  bool find_basis_step();
  bool find_coefficient_steps();
  bool is_stationary();
  bool search_line();

  JointProblem problem_;
  double tolerance_ = 0;
  double constraints_ = 0;  // n
  double weight_ = 0;       // w
  double ridge_ = 0;        // added to the Hessian, where it is not positive definite
  int steps_ = 0;
  Knowledge point_;
  Knowledge trial_;
  double objective_ = kNaN;
  double merit_ = kNaN;
  double slope_ = kNaN;  // of the merit along the step
  double left_to_gain_ = kNaN;
  double margin_cost_ = kNaN;
  double rounding_ = kNaN;  // of the objective near the target
  // All derivatives are in the singular vectors of L: ΔL = U F Vᵀ, Δs = V f.
  Eigen::MatrixXd left_;      // U, d × d
  Eigen::MatrixXd right_;     // V, k × k
  Eigen::VectorXd values_;    // σ
  Eigen::MatrixXd policies_;  // L S
  Eigen::MatrixXd hessian_;   // in F, after elimination; its lower triangle
  Eigen::MatrixXd shifted_hessian_;
  Eigen::MatrixXd gradient_;            // in F
  Eigen::MatrixXd reduced_gradient_;    // after elimination
  Eigen::MatrixXd basis_step_;          // F
  Eigen::MatrixXd basis_residual_;      // R_L
  double coefficient_residual_ = kNaN;  // ‖R_S‖²
  Eigen::MatrixXd coefficient_steps_;   // Δs of every task
  // Of one task:
  Eigen::MatrixXd rows_;          // A U
  Eigen::VectorXd slack_;         // r − A L s
  double ball_curvature_ = 0;     // 2/(c² − ‖slack‖²)
  Eigen::VectorXd force_;         // the gradient of its barrier in α
  Eigen::MatrixXd factor_;        // E, with EᵀE the Hessian of its barrier in α
  Eigen::MatrixXd image_factor_;  // E L
  Eigen::VectorXd coefficients_;  // Vᵀ s
  Eigen::VectorXd coefficient_gradient_;
  Eigen::MatrixXd block_inverse_;  // of the Hessian in s
  Eigen::MatrixXd elimination_;    // w EᵀE L times it
  Eigen::MatrixXd across_, along_, turned_, curvature_;
};

}  // namespace lifeguard
