#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/base_learners/adjoint_kernel.hpp"
#include "lifeguard/base_learners/batch_kernels.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/action_range.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// The gradient of a batch's cost through a model of the machine that is fitted to the batch:
///   Φ_{m+1} = AΦ_m + Bv_m + b,   c_m = a quadratic in z_m = (Φ_m, v_m),   v = clip(u),
/// both by least squares. The recorded trajectories are then differentiated as they were (Werbos
/// 1974): with u = KΦ + ε, the noise ε as it was drawn and D_m the actions that were not at their
/// limits,
///   g_m = D_m (∂c/∂v + Bᵀλ_{m+1}),   λ_m = ∂c/∂Φ + Aᵀλ_{m+1} + Kᵀg_m,   ∇ = Σ_m g_mΦ_mᵀ.
/// No value has to be guessed, so that limits on actions, which no quadratic value knows, are no
/// trouble. What it has wrong is what a linear model has wrong in one step; a model that leaves a
/// large part of what happens unexplained is not used. A fall is not differentiable: of batches
/// with one there is no gradient.
///
/// The Newton step δ solves Nδ = -∇, N = Σ_m (D_m H D_m ⊗ Φ_mΦ_mᵀ), H = ∂²c/∂v² + BᵀPB, P that of
/// the model's value far from the end: for a linear machine with quadratic cost it is the step of
/// policy iteration (Hewer 1971).
///
/// Policy iteration begins with a loop that is stable. Where that of A + BK runs away, machines
/// fall, or nothing but the limits of actions keeps them alive, and then nothing of a gain is felt
/// in the gradient. There the step goes to the gains that are best for the model, by its Riccati
/// equation: the step is planned.
///
/// Its noise is measured by leaving out one of eight groups of trajectories at a time (the
/// delete-group jackknife). Each group has a model of its own there, so that what the models are
/// unsure of is in it as well as what the starts were.
///
/// Features that are products of two others (second order) are functions of the state and no
/// states: the model has none of them, and their gains stay as they are. Where these are not 0,
/// that a state moves the actions through them is not in the gradient.
///
/// All is in units of the actions' noises, so it does not depend on what they are measured in.
class ModelCritic {
 public:
  /// Trajectory i is in group i mod kGroups, which is its lane in the sums.
  static constexpr int kGroups = 8;

  /// False if the batch does not determine it: fewer than two groups, a failure in a loop that does
  /// not run away, too few steps for the unknowns of a group's model, a model that does not
  /// predict, or a value that is not finite. Step m counts `step_weights`[m] times in the gradient
  /// (null: once). Reuses memory.
  bool fit(const Trajectories& trajectories, const GaussianPolicy& played, const ActionRange& range,
           const double* step_weights = nullptr);

  /// Of the last fit, in the order of α: the Newton step, or the planned one.
  const Eigen::VectorXd& newton_step() const { return newton_step_; }
  bool planned() const { return planned_; }
  /// Of the sum of a trajectory's costs. Empty if the step is planned.
  const Eigen::VectorXd& cost_gradient() const { return gradient_; }
  /// How long the Newton step is expected to be by noise alone, in a metric that has a block for
  /// each action or one for all.
  double step_noise(const Eigen::MatrixXd& metric) const;
  /// How the actions work together, H (action_coupling.hpp), and in the metric that it makes of
  /// this one how long the Newton step is, and by noise alone. False for a single action, and if
  /// the step is planned.
  bool couple_actions(const Eigen::MatrixXd& metric, Eigen::MatrixXd& coupling, double& length,
                      double& noise);

 private:
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  void lay_out(const Trajectories& trajectories, const GaussianPolicy& played,
               const ActionRange& range);
  SignalRows signals() const {
    return {features_, rows_.data(), per_sigma_.data(), low_.data(), high_.data()};
  }
  /// One in how many steps is looked at, so that there are about so many.
  int one_in(long steps) const;
  bool fit_dynamics(const Trajectories& trajectories);
  /// With products of different signals, or with squares alone. False if it does not explain the
  /// costs: nearly all of them, or, if `exactly`, all.
  bool fit_costs(const Trajectories& trajectories, bool products, bool exactly);
  /// Fills curvature_: H with about so many steps to go, and runs_away_.
  bool find_curvature(int steps);
  /// The step to the gains that are best with about so many steps to go.
  bool plan(int steps);
  /// These gains less those that were played, with dynamics (A B b)ᵀ.
  bool planned_change(const Eigen::MatrixXd& dynamics, int steps, Eigen::VectorXd& change) const;
  /// λ behind the last step of trajectories that were cut short, where the model goes on.
  void value_ends(const Trajectories& trajectories);
  bool differentiate(const Trajectories& trajectories, const double* step_weights);
  /// (A B)ᵀ of rows of `width` → (B A + BK)ᵀ.
  void close_loop(const double* dynamics, std::size_t width, double* closed) const;
  /// noise_ less its mean, and the results from units of noise to those of the actions.
  void to_units_of_actions(int trajectories);
  /// The results of the states' gains to those of all features, where the others do not change.
  void to_all_features();
  /// The sum over all groups of a moment of (z, 1) with (z, 1, Φ⁺), r ≤ c.
  double moment(int r, int c) const {
    return add_lanes(
        &moments_[static_cast<std::size_t>(r * (signals_ + 1 + features_) + c) * kSumLanes]);
  }

  std::vector<int> rows_;  // the features of the batch that are states of the model
  int features_ = 0;       // their number
  int all_features_ = 0, actions_ = 0, signals_ = 0, groups_ = 0;
  std::size_t width_ = 0;                     // of a row: trajectories and padding
  long live_ = 0;                             // steps
  long longest_ = 0;                          // steps of a trajectory
  AlignedVector<double> lengths_, followed_;  // followed_: steps after which the state is known
  Eigen::VectorXd sigma_, per_sigma_;
  RowMajor gains_;              // in units of noise, and so is all that concerns actions below
  Eigen::VectorXd low_, high_;  // infinite without a limit
  AlignedVector<double> tile_, sums_;
  AlignedVector<double> moments_;          // of (z, 1) with (z, 1, Φ⁺), in lanes
  AlignedVector<double> whole_, without_;  // the sums over all lanes; without one of them
  AlignedVector<double> system_;           // to be solved
  Eigen::MatrixXd dynamics_;               // (A B b)ᵀ
  AlignedVector<double> dynamics_rows_, lane_dynamics_;
  AlignedVector<double> closed_loop_, lane_closed_loop_;  // (B A + BK)ᵀ
  RowMajor cost_hessian_;
  bool sum_of_squares_ = false;                             // cost_hessian_ is diagonal
  Eigen::VectorXd cost_slope_;                              // at z = 0
  RowMajor curvature_;                                      // H
  AlignedVector<double> policy_, value_, power_, product_;  // of find_curvature
  bool runs_away_ = false;                                  // the loop, if actions had no limits
  bool planned_ = false;
  int constant_ = -1;  // a feature that is always constant_value_
  double constant_value_ = 1;
  Eigen::VectorXd without_group_;
  AlignedVector<double> adjoints_;
  AdjointSums adjoint_sums_;
  AlignedVector<double> normals_;  // N of each group, in lanes
  Eigen::VectorXd gradient_;
  Eigen::VectorXd newton_step_;
  Eigen::MatrixXd noise_;  // δ without a group, less their mean
  Eigen::MatrixXd weighed_, coupled_;
};

}  // namespace lifeguard
