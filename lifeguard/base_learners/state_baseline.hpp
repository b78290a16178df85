#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/aligned.hpp"
#include "lifeguard/rollout/trajectories.hpp"

namespace lifeguard {

/// v(x) = Σ_f c_f Φ_f + Σ_{f ≤ h} W_fh Φ_f Φ_h, fitted by least squares to one number for each live
/// step. Terms and numbers are centred, by the mean of their step or by that of the batch, so the
/// fit explains differences between trajectories and the mean is left to the caller.
///
/// The normal equations are sums of products of two terms of degree 1 or 2, and many products are
/// the same monomial: with 6 features the 27 · 28 / 2 = 378 entries are 203 different sums.
class StateBaseline {
 public:
  /// Least squares over every stride-th step of `numbers` (steps × trajectories.stride()), which
  /// are zero where no longer live and on average: over each step, or over the batch.
  void fit(const Trajectories& trajectories, int stride, bool centre_each_step,
           const double* numbers);
  /// The same for other numbers of the same batch.
  void refit(const Trajectories& trajectories, const double* numbers);
  /// v(x) of all trajectories at step m; zero where no longer live.
  void values(const Trajectories& trajectories, int m, double* v) const;
  /// The mean of v over the steps of the fit.
  double mean_value() const;

  int terms() const { return static_cast<int>(coefficients_.size()); }
  const Eigen::VectorXd& coefficients() const { return coefficients_; }

 private:
  void set_features(int features);
  void load_tile(const Trajectories& trajectories, int m, const double* numbers);
  void factorise();
  void solve();

  int features_ = 0;
  int stride_ = 1;
  bool centre_each_step_ = true;

  // Rows of a tile are the terms, then the numbers, then ones. Products of rows, as index pairs:
  std::vector<int> first_, second_;          // one for each different monomial
  std::vector<int> all_first_, all_second_;  // every pair of terms, q ≤ p
  std::vector<int> monomial_of_;             // the monomial of each such pair
  std::vector<int> numbers_row_, ones_row_, term_rows_;

  AlignedVector<double> tile_;         // of one step
  AlignedVector<double> sums_;         // of monomials, in lanes
  AlignedVector<double> step_sums_;    // of the terms of one step, in lanes
  AlignedVector<double> centre_;       // each step's term sums / √live, one row for each term
  AlignedVector<double> centre_sums_;  // their products, in lanes
  AlignedVector<double> right_;        // of terms times numbers and of the numbers, in lanes
  double live_ = 0;
  Eigen::VectorXd means_;  // of the terms over the batch
  Eigen::VectorXd scale_;
  Eigen::MatrixXd normal_;
  // Of something, since a copy reads the status that only a decomposition sets.
  Eigen::LLT<Eigen::MatrixXd> factor_{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::VectorXd coefficients_;
};

}  // namespace lifeguard
