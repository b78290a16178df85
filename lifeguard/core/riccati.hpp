#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// The least cost of 1, 2, 4, 8, … steps of x⁺ = Ax + Bu with costs xᵀQx + uᵀRu, by
/// structure-preserving doubling (Chu, Fan, Lin and Wang, "Structure-preserving algorithms for
/// periodic discrete-time algebraic Riccati equations", 2004). Converges quadratically to the
/// stabilising solution of the Riccati equation, if there is one.
class RiccatiDoubling {
 public:
  /// R must be positive definite. One step to go: cost_to_go() is Q.
  RiccatiDoubling(Eigen::MatrixXd a, const Eigen::MatrixXd& b, Eigen::MatrixXd q,
                  const Eigen::MatrixXd& r);

  /// Twice as many steps to go. The largest change of an entry of cost_to_go().
  double twice();

  /// The matrix P of the least cost xᵀPx.
  const Eigen::MatrixXd& cost_to_go() const { return h_; }

 private:
  // Of step j: the 2^j-th power of the symplectic pencil.
  Eigen::MatrixXd a_, g_, h_;
};

}  // namespace lifeguard
