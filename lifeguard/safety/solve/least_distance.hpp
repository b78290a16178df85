#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

namespace lifeguard {

/// The dual of "the point nearest to x̃ with n_i·x ≤ r_i":
///   min ½ λᵀ G λ − vᵀ λ over λ ≥ 0,  with G_ij = n_i·n_j and v_i = n_i·x̃ − r_i,
/// whose solution gives x = x̃ − Σ λ_i n_i. A dual active set method (Goldfarb and Idnani 1983) with
/// the identity as Hessian, so that only inner products of rows are needed: the rows of the
/// coefficient step are dense vectors, those of the basis step rank-one matrices a sᵀ, and both use
/// this class. The rows should have length near 1.
///
/// The caller picks the violated rows; between calls every active row holds with equality and every
/// multiplier is at least 0. Cholesky factors of Gram matrices square the condition number, so the
/// caller refines: it computes the true residuals of the active rows and solves for the correction.
class DualActiveSet {
 public:
  enum class Outcome {
    added,          // the row is active now
    contradictory,  // the row contradicts active rows up to rounding; only reset() may follow
  };

  /// Forgets all rows. At most `capacity` can be active (the dimension of x, at most); memory is
  /// kept from one use to the next.
  void reset(long capacity);

  long size() const { return size_; }
  std::span<const int> rows() const { return {rows_.data(), static_cast<std::size_t>(size_)}; }
  auto multipliers() const { return multipliers_.head(size_); }

  /// Makes a violated row hold with equality. `products` are its inner products with the active
  /// rows, in their order, `square` its own, `violation` > 0 its n·x − r at the present point. Rows
  /// whose multiplier would turn negative leave the active set.
  Outcome enforce(int row, const Eigen::Ref<const Eigen::VectorXd>& products, double square,
                  double violation);

  /// For a warm start: adds a row without a step. False when it depends on the active ones.
  bool append(int row, const Eigen::Ref<const Eigen::VectorXd>& products, double square);
  /// Ends a warm start: sets λ = G⁻¹ v for the appended rows, and drops rows until λ ≥ 0.
  void settle(const Eigen::Ref<const Eigen::VectorXd>& violations_at_target);

  /// G⁻¹ residual, for refinement; `residual` has one entry for each active row.
  void solve(Eigen::Ref<Eigen::VectorXd> residual) const;

 private:
  bool factor_column(const Eigen::Ref<const Eigen::VectorXd>& products, double square);
  void drop(long position);

  long size_ = 0;
  long capacity_ = 0;
  std::vector<int> rows_;
  Eigen::VectorXd multipliers_;
  Eigen::VectorXd rhs_;        // right-hand side of settle
  Eigen::VectorXd column_;     // the next column of the factor
  Eigen::VectorXd direction_;  // change of the multipliers per unit of the new one
  Eigen::VectorXd products_;
  double pivot_ = 0;        // squared distance of the new row from the span of the active ones
  Eigen::MatrixXd factor_;  // upper triangular R with RᵀR = G of the active rows
};

}  // namespace lifeguard
