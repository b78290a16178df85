#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// u ~ N(K Φ(x), σ² I). The parameter vector α stacks the rows of K, one action after the other,
/// so a curvature that is the same for every action is I ⊗ G (docs/mathematics.md, §2).
class GaussianPolicy {
 public:
  /// From K (actions × features), or from its rows in one vector; σ ≥ 0.
  GaussianPolicy(Eigen::MatrixXd gains, double sigma);
  static GaussianPolicy from_parameters(const Eigen::VectorXd& parameters, int actions,
                                        double sigma);

  /// Other numbers in the same shape, without allocating.
  void assign(const Eigen::VectorXd& parameters, double sigma);

  /// K, σ and their sizes; α; and the mean action K Φ for given features.
  const Eigen::MatrixXd& gains() const { return gains_; }
  double sigma() const { return sigma_; }
  int actions() const { return static_cast<int>(gains_.rows()); }
  int features() const { return static_cast<int>(gains_.cols()); }
  Eigen::VectorXd parameters() const;
  Eigen::VectorXd mean(const Eigen::VectorXd& features) const { return gains_ * features; }

  /// The same policy without exploration noise, as it is evaluated.
  GaussianPolicy without_noise() const { return {gains_, 0.0}; }

 private:
  void check() const;

  Eigen::MatrixXd gains_;
  double sigma_;
};

/// α as K (actions × features) and back.
Eigen::MatrixXd gains_from_parameters(const Eigen::VectorXd& parameters, int actions);
Eigen::VectorXd parameters_from_gains(const Eigen::MatrixXd& gains);

}  // namespace lifeguard
