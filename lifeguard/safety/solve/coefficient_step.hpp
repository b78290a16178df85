#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <vector>

#include "lifeguard/core/stop.hpp"
#include "lifeguard/safety/solve/least_distance.hpp"
#include "lifeguard/safety/solve/projection_settings.hpp"

namespace lifeguard {

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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
  /// From then on the solver fails as soon as it has passed.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  /// `solution` and `target` have k entries.
  CoefficientPath solve(const RowMajorMatrix& b_rows, const Eigen::VectorXd& bounds,
                        double slack_limit, const Eigen::Ref<const Eigen::VectorXd>& target,
                        CoefficientMemory& memory, Eigen::Ref<Eigen::VectorXd> solution);

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

  Deadline deadline_;
  DualActiveSet active_set_;
  RowMajorMatrix rows_;     // unit length
  Eigen::VectorXd bounds_;  // of the unit rows
  Eigen::VectorXd target_;
  Eigen::VectorXd nearest_;  // the answer of the last least-distance program
  Eigen::VectorXd violations_;
  Eigen::VectorXd products_;
  long iterations_ = 0;
  long capacity_ = 0;  // rows that can be active
  // The ball search works in the eigenvectors of BᵀB.
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen_;
  Eigen::MatrixXd gram_;
  Eigen::MatrixXd decomposed_;  // the Gram matrix that eigen_ holds
  RowMajorMatrix rotated_;      // B W
  RowMajorMatrix scaled_;
  Eigen::VectorXd rotated_target_;
  Eigen::VectorXd rotated_bounds_;  // Wᵀ Bᵀ r
  Eigen::VectorXd contraction_;     // 1/√(1 + νE)
  Eigen::VectorXd residual_;
};

/// The largest τ in [0, 1] with B τs ≤ r and ‖r − B τs‖ ≤ c, up to rounding; `image` is B s.
double longest_scale(const Eigen::Ref<const Eigen::VectorXd>& image,
                     const Eigen::Ref<const Eigen::VectorXd>& bounds, double slack_limit);

}  // namespace lifeguard
