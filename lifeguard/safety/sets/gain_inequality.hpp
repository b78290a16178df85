#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

namespace lifeguard {

/// A convex condition on the gains K (actions m × features n) of a policy u = K x:
///   [I; K]ᵀ Θ [I; K] ⪯ Q,   Θ ⪰ 0, Q ≻ 0,
/// that is zᵀΘz ≤ xᵀQx for z = (x, K x), whatever x is. Two of its uses:
///   the closed loop contracts, ‖A x + B K x‖_P ≤ λ ‖x‖_P:  Θ = [A B]ᵀ P [A B], Q = λ² P;
///   an action stays small where ‖x‖_P ≤ 1, |wᵀK x| ≤ u:     Θ = diag(0, w wᵀ),  Q = u² P.
/// With Θ = UᵀU it says that the spectral norm of U [I; K] Q^-½, which is affine in K, is at most
/// 1. The condition is about the doubles in Θ and Q as they are; nothing rests on how they came to
/// be. A value.
class GainInequality {
 public:
  /// Throws InvalidInput unless the numbers are finite, the matrices symmetric, Q is n × n and
  /// positive definite, Θ is (n + m) × (n + m) with m ≥ 1 and positive semi-definite up to
  /// rounding, and its block of the actions is not 0.
  GainInequality(std::string name, Eigen::MatrixXd theta, Eigen::MatrixXd limit);

  /// Its name, n, m, n m, Θ and Q.
  const std::string& name() const { return name_; }
  int features() const { return static_cast<int>(limit_.rows()); }
  int actions() const { return static_cast<int>(theta_.rows() - limit_.rows()); }
  int parameters() const { return features() * actions(); }
  const Eigen::MatrixXd& theta() const { return theta_; }  // Θ
  const Eigen::MatrixXd& limit() const { return limit_; }  // Q

  /// The same under another name.
  GainInequality renamed(std::string name) const;

  bool operator==(const GainInequality& other) const;

  /// ρ with [I; K]ᵀ Θ [I; K] ⪯ ρ² Q, the least one up to rounding: the condition holds where it is
  /// at most 1. Convex in α, the rows of K as one vector.
  double ratio(const Eigen::Ref<const Eigen::VectorXd>& parameters) const;

  /// The same as a proven upper bound, for every α' with ‖α' - α‖ ≤ error: a Cholesky factorisation
  /// of ρ² Q - [I; K]ᵀ Θ [I; K] - e I in which e covers all rounding errors (Rump, "Verification of
  /// positive definiteness", 2006). Infinity where nothing below 1 can be proven. Cheap: it is
  /// asked of every policy of every round.
  double proven_ratio(const Eigen::Ref<const Eigen::VectorXd>& parameters, double error) const;

  /// A half-space rowᵀα' ≤ bound in which every α' lies that obeys.
  struct Tangent {
    Eigen::VectorXd row;
    double bound;
  };
  /// The tangent planes at α, one for each direction x in which ‖(x, K x)‖_Θ ≥ least · ‖x‖_Q; they
  /// are added to `tangents`.
  void add_tangents(const Eigen::Ref<const Eigen::VectorXd>& parameters, double least,
                    std::vector<Tangent>& tangents) const;

  /// The most features and actions, so that proofs need no memory.
  static constexpr int kMostFeatures = 32;
  static constexpr int kMostActions = 16;

 private:
  using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor,
                               kMostFeatures, kMostFeatures>;
  // T(K) = [I; K]ᵀ Θ [I; K].
  void fill_product(const Eigen::Ref<const Eigen::VectorXd>& parameters, Square& product) const;
  // L⁻¹ M L⁻ᵀ for Q = L Lᵀ.
  void scale(Square& matrix) const;

  std::string name_;
  Eigen::MatrixXd theta_;
  Eigen::MatrixXd limit_;
  Square factor_inverse_;  // L⁻¹
  // Frobenius norms of the blocks of Θ, states with states, actions with states, actions with
  // actions, and of Q, and the trace of Q; all rounded up.
  double state_length_, mixed_length_, action_length_, limit_length_, limit_trace_;
};

}  // namespace lifeguard
