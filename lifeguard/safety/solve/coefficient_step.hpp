#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <vector>

#include "lifeguard/safety/solve/least_distance.hpp"

namespace lifeguard {

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Which part of the cascade gave the coefficients.
enum class CoefficientPath {
  not_run,
  inside,  // the target itself is feasible
  rows,    // the rows bind: a least-distance program
  ball,    // the slack ball binds too: a search for its multiplier
  scaled,  // the solver failed: feasible, on the way from 0 to the last iterate, not optimal
};

/// What one task's solution passes on to its next one. Only speed depends on it.
struct CoefficientMemory {
  std::vector<int> active_rows;
};

/// The S-step for one task (the cone program of the paper, with its anchor corrected):
///   min ‖s − s̃‖²  with  B s ≤ r  and  ‖r − B s‖ ≤ c,   B = A L, r > 0, ‖r‖ < c,
/// so that s = 0 is strictly feasible and an answer always exists. A workspace: one for each
/// thread, no allocation once it has seen the largest size.
class CoefficientStep {
 public:
  /// `solution` and `target` have k entries. `fail_solver` makes the solver fail on purpose: a test
  /// of what happens then.
  CoefficientPath solve(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds,
                        double slack_limit, const Eigen::Ref<const Eigen::VectorXd>& target,
                        CoefficientMemory& memory, Eigen::Ref<Eigen::VectorXd> solution,
                        bool fail_solver = false);

  /// Rows that were made active, over all programs of the last call.
  long iterations() const { return iterations_; }

 private:
  bool nearest(CoefficientMemory& memory);
  bool solve_ball(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds, double slack_limit,
                  const Eigen::Ref<const Eigen::VectorXd>& target, CoefficientMemory& memory,
                  Eigen::Ref<Eigen::VectorXd> solution);
  double ball_excess(const Eigen::VectorXd& bounds, double slack_limit, double multiplier,
                     CoefficientMemory& memory);
  double ball_multiplier_without_rows(const Eigen::VectorXd& bounds, double limit) const;
  void load_rows(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds);
  void reserve(long rows, long size);
  void collect_products(int row);

  DualActiveSet set_;
  RowMajorMatrix rows_;     // unit length
  Eigen::VectorXd bounds_;  // of the unit rows
  Eigen::VectorXd target_;
  Eigen::VectorXd x_;
  Eigen::VectorXd violations_;
  Eigen::VectorXd products_;
  long iterations_ = 0;
  // The ball search works in the eigenvectors of BᵀB.
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen_;
  Eigen::MatrixXd gram_;
  Eigen::MatrixXd decomposed_;  // the Gram matrix that eigen_ holds
  RowMajorMatrix rotated_;      // B W
  RowMajorMatrix scaled_;
  Eigen::VectorXd rotated_target_;
  Eigen::VectorXd rotated_bounds_;  // Wᵀ Bᵀ r
  Eigen::VectorXd shrink_;          // 1/√(1 + νE)
  Eigen::VectorXd residual_;
};

/// A radius c' < c with ‖r‖ < c' for bounds r = b'(1 − η), such that ‖r − y‖ ≤ c' implies ‖b' − y‖
/// < c: the triangle inequality needs c' + η‖b'‖ < c. `anchor_slack` is ‖b'‖ < c.
double tightened_slack_limit(double anchor_slack, double slack_limit, double eta);

/// The largest τ in [0, 1] with B τs ≤ r and ‖r − B τs‖ ≤ c, up to rounding; `image` is B s.
double longest_scale(const Eigen::Ref<const Eigen::VectorXd>& image,
                     const Eigen::Ref<const Eigen::VectorXd>& bounds, double slack_limit);

}  // namespace lifeguard
