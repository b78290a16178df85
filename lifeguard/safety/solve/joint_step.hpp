#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/safety/solve/basis_step.hpp"
#include "lifeguard/safety/solve/coefficient_step.hpp"

namespace lifeguard {

/// What a joint step starts from and aims at.
struct JointStepProblem {
  const std::vector<BasisStepTask>& tasks;
  const Eigen::MatrixXd& basis;  // L, safe together with S
  const Eigen::MatrixXd& coefficients;
  const Eigen::MatrixXd& target_basis;
  const Eigen::MatrixXd& target_coefficients;
  double mu1, mu2;
  double low, high;  // of the singular values
};

/// A step in L and S together:
///   min μ₁‖S⁺ − S̃‖² + μ₂‖L⁺ − L̃‖²  with  A(L⁺ s + L(s⁺ − s)) ≤ r, ‖r − A(L⁺ s + L(s⁺ − s))‖ ≤ c,
///                                         sym(QᵀL⁺) ⪰ low, ‖L⁺‖ ≤ high,
/// the constraints linearised at (L, S) but for the ball and the spectrum, whose convex sets are
/// cut out by planes; Q is the polar factor of L. Where (L, S) is its own step, it is stationary
/// for the joint projection. One dense least-distance program in dk + kT variables: for problems
/// given as data, not for a learner's rounds.
class JointStep {
 public:
  /// Writes L⁺ for a target drawn near, (1 − h)(L, S) + h(L̃, S̃), 0 < h ≤ 1: a proximal step. Its
  /// spectrum may leave [low, high] a little. False when the solver fails.
  bool solve(const JointStepProblem& problem, double h, Eigen::MatrixXd& basis);

  /// By how much the last step lowers the objective if the constraints are as linearised.
  double model_gain() const { return model_gain_; }

 private:
  void add_row(const JointStepProblem& problem, int task, const Eigen::VectorXd& left,
               const Eigen::VectorXd& right, double bound);
  void add_task_row(const JointStepProblem& problem, int task, const Eigen::VectorXd& normal,
                    double bound);
  bool cut_balls(const JointStepProblem& problem);
  bool cut_spectrum(const JointStepProblem& problem);

  CoefficientStep solver_;
  CoefficientMemory memory_;
  RowMajorMatrix rows_;
  Eigen::VectorXd bounds_;
  Eigen::VectorXd target_;
  Eigen::VectorXd move_;
  Eigen::MatrixXd basis_;         // L⁺
  Eigen::MatrixXd coefficients_;  // S⁺
  Eigen::MatrixXd polar_;         // Q
  double model_gain_ = 0;
};

}  // namespace lifeguard
