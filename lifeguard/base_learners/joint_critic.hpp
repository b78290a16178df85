#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/action_range.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// What a state is worth and what an action adds to that, from one batch at once:
///   c_m + V_{m+1}(x_{m+1}) = V_m(x_m) + ηᵀWΦ + ηᵀHη + residual,
/// with the deviation η = clip(u) - clip(KΦ) of the action as it acts. The value of M - m steps to
/// go is V_m = Σ_k b_k(M-m) φ(x)ᵀv_k with b_1 = 1 - e^{-r/τ_1} and b_2 = e^{-r/τ_2} - e^{-r/τ_1},
/// and φ = 1, Φ, ΦΦᵀ; the constant has a part that is linear in M - m as well. Where a trajectory
/// has finished V is 0, where it failed what the remaining steps cost, where it was cut short that
/// of the state it was left in.
///
/// No such V knows what it costs that an action cannot be had. Steps that begin or end with a mean
/// action beyond its limits are left out: what leads to them is valued behind them. If they are
/// many, φ has o² and |o| of the overflow o = kΦ - clip(kΦ) of an action instead.
///
/// W and H are all that policy improvement needs: a change Δ of the gains changes the cost of a
/// trajectory by about Σ_m E[(ΔΦ)ᵀWΦ + ½ (ΔΦ)ᵀH₂ΔΦ], H₂ the second derivative of ηᵀHη. So the
/// gradient is W Σ_m E[ΦΦᵀ] and the Newton step -H₂⁻¹W, whatever the states are.
///
/// One solve for all (LSTD, Bradtke and Barto 1996): the residual is orthogonal to V's features and
/// to those of η. Neighbouring states are nearly the same, so V's features are those of every
/// kStride-th step, each with the sum of the residuals up to the next. Residuals beyond 4.4 times
/// their median count less (Huber 1981). The noise of what comes out is measured by leaving out one
/// eighth of the trajectories at a time (the delete-group jackknife); fewer than eight are divided
/// into pieces of equal length.
///
/// All is in units of the actions' noises, so it does not depend on what they are measured in.
class JointCritic {
 public:
  /// Steps from one instrument of V to the next.
  static constexpr int kStride = 5;
  /// Groups of the jackknife, which are the lanes of the sums.
  static constexpr int kGroups = 8;

  /// False if the batch does not determine it: fewer than two groups, fewer live steps than twice
  /// the unknowns, or a system that is singular to working precision. Reuses memory.
  bool fit(const Trajectories& trajectories, const GaussianPolicy& played,
           const ActionRange& range);

  /// W and H₂ of the last fit, in the actions' own units: costs for a unit of action.
  Eigen::MatrixXd slopes() const;      // A × F
  Eigen::MatrixXd curvatures() const;  // A × A
  /// -H₂⁻¹W as one vector in the order of α, where each eigenvalue of H₂ is at least twice its
  /// standard error and a quarter of their mean.
  const Eigen::VectorXd& newton_step() const { return newton_step_; }
  /// How long that step is expected to be by noise alone: the trace of its covariance times the
  /// metric, which has a block for each action or one for all.
  double step_noise(const Eigen::MatrixXd& metric) const;
  /// The gradient of Σ_m E[c_m] over the mean trajectory of the batch, whose Fisher information is
  /// `fisher`, in blocks; step m counts `step_weights`[m] times (null: once). Where noise decides
  /// whether an action is at its limit, by the moments of a clipped normal deviate.
  Eigen::VectorXd cost_gradient(const Eigen::MatrixXd& fisher, const double* step_weights) const;

  /// Of the last fit.
  int unknowns() const { return unknowns_; }

 private:
  /// How the batch is laid out: lane i + n·j of row t is step j·rows + t of trajectory i.
  struct Layout {
    int count = 0, steps = 0, features = 0, actions = 0;
    int pieces = 1;         // of each trajectory
    int rows = 0;           // steps of a piece
    int lanes = 0;          // that are used
    int groups = 0;         // that have any
    std::size_t width = 0;  // of a row: lanes and padding
    long live = 0;          // steps
    long told = 0;          // those that are learnt from
  };

  void lay_out(const Trajectories& trajectories);
  void load_means(const Trajectories& trajectories);
  void find_overflows(const Trajectories& trajectories);
  void load_values(int t);
  void load_effects(const Trajectories& trajectories, int t);
  /// b_k(m) φ(x_m) - b_k(m+1) φ(x_{m+1}) of all lanes, for each unknown of V; added to what is
  /// there if `add`. Rows of `stride`.
  void write_differences(int t, bool add, double* to, std::size_t stride) const;
  void sum_moments();
  void gather_groups(int first_row, int rows);
  bool solve();
  void find_residuals();
  /// What a large residual counts less is taken off the moments.
  void reweigh();
  void measure_noise();
  bool choose_step();
  double basis(int k, int steps_to_go) const { return basis_[3 * steps_to_go + k]; }

  /// Rows of lanes.
  std::size_t place(int t, int rows, int row) const {
    return (static_cast<std::size_t>(t) * rows + row) * at_.width;
  }
  double* value_row(int t, int p) { return &phi_[place(t, values_, p)]; }
  const double* value_row(int t, int p) const { return &phi_[place(t, values_, p)]; }
  const double* effect_row(int t, int k) const { return &effects_of_[place(t, effects_, k)]; }
  const double* mean_row(int t, int a) const { return &means_[place(t, at_.actions, a)]; }
  const double* feature_row(int t, int f) const { return &features_[place(t, at_.features, f)]; }
  /// b_k(m) for k = 0 … 2, then b_k(m+1); 0 where a step is not learnt from.
  const double* time_row(int t, int k) const { return &times_[place(t, 6, k)]; }

  Layout at_;
  Eigen::VectorXd sigma_;
  Eigen::MatrixXd gains_;         // in units of noise
  Eigen::VectorXd low_, high_;    // likewise; infinite without a limit
  std::vector<int> overflowing_;  // actions whose mean does
  int values_ = 0;                // of φ
  int value_unknowns_ = 0;        // v
  int effects_ = 0;               // W and H
  int unknowns_ = 0;
  std::vector<double> basis_;         // of 0 … M steps to go, three of each
  AlignedVector<double> features_;    // rows + 1; those of the state it was left in at a cut
  AlignedVector<double> present_;     // rows + 1: 1 where there is a state, else 0
  AlignedVector<double> means_;       // rows + 1: kΦ of each action
  AlignedVector<double> phi_;         // rows + 1
  AlignedVector<double> effects_of_;  // rows: η ⊗ Φ and ηηᵀ - I
  AlignedVector<double> times_;       // rows
  AlignedVector<double> live_;        // rows: 1 or 0
  AlignedVector<double> told_;        // rows: 1 where a step is learnt from, else 0
  AlignedVector<double> costs_;       // rows
  AlignedVector<double> level_;       // rows + 1: φᵀv of both time scales
  AlignedVector<double> residuals_;   // rows
  AlignedVector<double> deviations_;  // of one row: η of each action
  AlignedVector<double> tile_;
  AlignedVector<double> sums_;
  std::vector<int> tile_rows_;
  std::vector<double> sorted_;
  std::vector<Eigen::MatrixXd> group_moments_;  // yzᵀ of each group, with y c as the last column
  Eigen::MatrixXd moments_;
  Eigen::VectorXd scale_;  // of the instruments
  Eigen::MatrixXd system_;
  Eigen::PartialPivLU<Eigen::MatrixXd> factor_;
  Eigen::VectorXd solution_;
  Eigen::MatrixXd changes_;      // of W and H without a group, less their mean
  Eigen::MatrixXd step_factor_;  // H₂⁻¹ with its floors, in units of noise
  Eigen::VectorXd newton_step_;
};

}  // namespace lifeguard
