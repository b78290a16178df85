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
/// the same monomial: with 6 features 27 · 28 / 2 = 378 entries are 203 different sums.
class StateBaseline {
 public:
  /// The sums that depend on the states alone, over every stride-th step. Call once for a batch.
  void prepare(const Trajectories& trajectories, int stride, bool centre_each_step);
  /// Least squares of `numbers` (steps × trajectories.stride()), which must have mean zero over the
  /// live trajectories of each step, or over the batch, and be zero where no longer live.
  void fit(const Trajectories& trajectories, const double* numbers);
  /// Adds v(x) - mean of v to each live entry of `values`, the mean being that of the step or of
  /// the batch.
  void add_values(const Trajectories& trajectories, double* values) const;

  int terms() const { return static_cast<int>(coefficients_.size()); }
  const Eigen::VectorXd& coefficients() const { return coefficients_; }

 private:
  void set_features(int features);
  void load_tile(const Trajectories& trajectories, int m);

  int features_ = 0;
  int stride_ = 1;
  bool centre_each_step_ = true;
  std::size_t tile_width_ = 0;         // trajectories, rounded up to the 8 lanes of a sum
  std::vector<int> first_, second_;    // each monomial as a product of two terms
  std::vector<int> monomial_of_;       // of entry (p, q), q ≤ p, of the normal equations
  AlignedVector<double> tile_;         // terms × tile_width_, of one step
  AlignedVector<double> sums_;         // 8 partial sums for each monomial
  AlignedVector<double> term_sums_;    // of each step: terms
  std::vector<double> live_;           // live trajectories of each step
  AlignedVector<double> right_lanes_;  // 8 partial sums for each term
  Eigen::VectorXd scale_;
  Eigen::MatrixXd normal_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd coefficients_;
  Eigen::VectorXd batch_means_;  // of each term
};

}  // namespace lifeguard
