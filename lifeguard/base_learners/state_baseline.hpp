#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// v(x) = Σ_f c_f Φ_f + Σ_{f ≤ h} W_fh Φ_f Φ_h, fitted by least squares to one number for each live
/// step. Terms and numbers are centred, by the mean of their step or by that of the batch, so the
/// fit explains differences between trajectories and the mean is left to the caller.
///
/// The normal equations are sums of products of two terms, and many products are the same monomial:
/// with 6 features the 27 · 28 / 2 = 378 entries are 203 different sums. They depend on the
/// features alone, so further fits to the same batch only need a new right-hand side.
class StateBaseline {
 public:
  /// Least squares over every stride-th step of `numbers` (steps × trajectories.stride()) minus
  /// `means`, over what is live; `lengths` as in batch_kernels.hpp. Means are those of each step,
  /// or, unless centre_each_step, all are that of all steps of the fit.
  void fit(const Trajectories& trajectories, const double* lengths, int stride,
           bool centre_each_step, const double* numbers, const double* means);
  /// The same for other numbers of the same batch.
  void refit(const Trajectories& trajectories, const double* lengths, const double* numbers,
             const double* means);
  /// v(x) on every so many-th step, zero where no longer live, and its sums over these steps.
  void values(const Trajectories& trajectories, const double* lengths, int every, double* v,
              double* sums) const;
  /// v of any features, given as a function of f = 0, 1, ….
  template <class FeatureOf>
  double value(const FeatureOf& feature_of) const {
    const double* w = coefficients_.data() + features_;
    double value = 0;
    for (int f = 0; f < features_; ++f) {
      double slope = coefficients_(f);
      for (int h = f; h < features_; ++h) slope += *w++ * feature_of(h);
      value += slope * feature_of(f);
    }
    return value;
  }
  /// The mean of v over the steps of the fit.
  double mean_value() const;

  int terms() const { return static_cast<int>(coefficients_.size()); }
  const Eigen::VectorXd& coefficients() const { return coefficients_; }

 private:
  /// Σ over the batch of each of `rows` times the terms Φ_g Φ_h, g ≥ f: the monomials that f
  /// begins. The rows are Φ_f and Φ_e Φ_f, e ≤ f.
  struct Block {
    std::vector<int> rows;
    int first_column;
    int columns;
    std::size_t at;  // in sums_
  };

  void set_features(int features);
  /// Adds the numbers of the k-th step of the fit to the right-hand side.
  void add_numbers(const Trajectories& trajectories, const double* lengths, int k,
                   const double* numbers, double mean);
  void factorise();
  void solve();

  int features_ = 0;
  int stride_ = 1;
  bool centre_each_step_ = true;

  std::vector<Block> blocks_;
  std::vector<std::size_t> sum_of_;  // where in sums_ the product of two terms is, q ≤ p
  std::vector<int> all_terms_;

  AlignedVector<double> tile_;         // of one step: the terms, then ones
  AlignedVector<double> rows_;         // the features of all steps of the fit
  AlignedVector<double> numbers_;      // of one step, minus their mean
  AlignedVector<double> products_;     // of these and a feature
  AlignedVector<double> sums_;         // of monomials, in lanes
  AlignedVector<double> step_sums_;    // of the terms of one step, in lanes
  AlignedVector<double> centre_;       // each step's term sums / √live, one row for each term
  AlignedVector<double> centre_sums_;  // their products, in lanes
  AlignedVector<double> right_;        // of terms times numbers, in lanes
  double live_ = 0;
  Eigen::VectorXd means_;  // of the terms over the batch
  Eigen::VectorXd scale_;
  Eigen::MatrixXd normal_;
  // Of something, since a copy reads the status that only a decomposition sets.
  Eigen::LLT<Eigen::MatrixXd> factor_{Eigen::MatrixXd::Identity(1, 1)};
  Eigen::VectorXd coefficients_;
};

}  // namespace lifeguard
