#pragma once

#include <Eigen/Core>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

struct ClosedLoop;

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

/// The policies of one task that are allowed:
///   { α ∈ R^d : A α ≤ b, ‖b - A α‖₂ ≤ c_max, and every matrix inequality holds }.
/// The rows of A and then the inequalities are the constraints of the set. Each has a name ("roll
/// gain upper limit") that messages, certificates and plots repeat. c_max = infinity means no bound
/// on the slack. A value: change a set by making another one. Copies share what they say, so that a
/// million tasks with the same limits hold one set.
class SafeSet {
 public:
  /// All of R^d: no rows, no slack limit.
  explicit SafeSet(int parameters);
  /// Throws InvalidInput unless all numbers are finite (c_max may be infinite), c_max > 0, no row
  /// of A is zero, and names are given, not empty and different from each other.
  SafeSet(Eigen::MatrixXd coefficients, Eigen::VectorXd limits, std::vector<std::string> names,
          double slack_limit = kInfinity);

  /// d, how many rows there are, and how many constraints: rows and inequalities.
  int parameters() const { return static_cast<int>(data_->coefficients.cols()); }
  int rows() const { return static_cast<int>(data_->coefficients.rows()); }
  int constraints() const { return static_cast<int>(data_->names.size()); }
  /// Whether anything is asked for.
  bool constrained() const { return constraints() > 0; }
  const Eigen::MatrixXd& coefficients() const { return data_->coefficients; }  // A
  /// |A|, entry by entry, for rounding bounds.
  const Eigen::MatrixXd& magnitudes() const { return data_->magnitudes; }
  /// b, the constraints' names (of the rows first) and c_max.
  const Eigen::VectorXd& limits() const { return data_->limits; }  // b
  const std::vector<std::string>& names() const { return data_->names; }
  const std::string& name(int row) const { return names()[static_cast<std::size_t>(row)]; }
  const std::vector<GainInequality>& inequalities() const { return data_->inequalities; }
  /// What inequalities mean for the machine, where they come from a closed loop.
  const std::vector<std::shared_ptr<const ClosedLoop>>& closed_loops() const {
    return data_->closed_loops;
  }
  double slack_limit() const { return data_->slack_limit; }  // c_max
  bool has_slack_limit() const { return slack_limit() < kInfinity; }

  /// The same rows with another c_max.
  SafeSet with_slack_limit(double slack_limit) const;
  /// The same with these inequalities added. Throws InvalidInput unless they are for as many
  /// parameters and their names are new.
  SafeSet with_inequalities(const std::vector<GainInequality>& inequalities) const;
  /// The same, remembering what these inequalities mean. Throws InvalidInput unless the set has all
  /// inequalities of the closed loop, under whatever names.
  SafeSet with_meaning(std::shared_ptr<const ClosedLoop> closed_loop) const;

  /// Whether there are other copies of it.
  bool is_shared() const { return data_.use_count() > 1; }

  bool operator==(const SafeSet& other) const;

 private:
  friend SafeSet intersect(const std::vector<SafeSet>& parts);

  struct Data {
    Eigen::MatrixXd coefficients;
    Eigen::MatrixXd magnitudes;
    Eigen::VectorXd limits;
    std::vector<std::string> names;
    double slack_limit = kInfinity;
    std::vector<GainInequality> inequalities;
    std::vector<std::shared_ptr<const ClosedLoop>> closed_loops;
  };
  explicit SafeSet(Data data) : data_(std::make_shared<const Data>(std::move(data))) {}

  std::shared_ptr<const Data> data_;  // shared by all copies, and never changed
};

/// The gains that keep a machine in its guaranteed region.
SafeSet closed_loop_set(const ClosedLoop& closed_loop);

/// What obeys all of the sets. A name that occurs again gets " (2)", " (3)" … appended. The slack
/// of an intersection is over all its rows, so a limit on a part's slack has no place in the
/// result: throws InvalidInput if a part has one. Intersect first, then call with_slack_limit.
SafeSet intersect(const std::vector<SafeSet>& parts);

/// Lower bounds on how far inside a parameter vector is. They are rigorous: whatever the order of
/// summation, the bound is never above the exact value (docs/safe_sets.md, "Rounding").
struct Margins {
  /// Row i: at most b_i - a_iᵀα. After the rows, inequality j: at most 1 - ρ, the part by which
  /// its norm is below its limit.
  Eigen::VectorXd rows;
  /// At most c_max - ‖b - A α‖; infinity without a slack limit.
  double slack = kNaN;

  /// The constraint with the smallest margin; -1 without any.
  int worst_row() const;
  /// The smallest of all row margins and the slack margin.
  double worst() const;
};

/// The margins of every α' with |α' - α| ≤ error, entry by entry. Overflow gives -infinity.
Margins margins(const SafeSet& set, const Eigen::VectorXd& parameters);
Margins margins(const SafeSet& set, const Eigen::VectorXd& parameters,
                const Eigen::VectorXd& error);

/// Memory of margins(), which with it allocates nothing once it has seen the largest size.
struct MarginWorkspace {
  Margins margins;
  Eigen::VectorXd sizes, products, magnitude, spread;
};
/// As above; the answer lives in the workspace.
const Margins& margins(const SafeSet& set, const Eigen::VectorXd& parameters,
                       const Eigen::VectorXd& error, MarginWorkspace& workspace);

/// Whether α obeys every row and the slack limit, in plain arithmetic.
bool obeys(const SafeSet& set, const Eigen::Ref<const Eigen::VectorXd>& parameters);

/// Whether α is proven to lie strictly inside: every margin's lower bound is above 0.
bool strictly_safe(const SafeSet& set, const Eigen::VectorXd& parameters);

/// Why α is not strictly_safe, with numbers: "breaks "gain 2 ≤ 3" by 0.4". Empty if it is.
std::string why_not_safe(const SafeSet& set, const Eigen::VectorXd& parameters);

/// b' = b - A ᾱ rounded down, for the set as seen from an anchor: A x ≤ b' implies A (ᾱ + x) ≤ b.
Eigen::VectorXd limits_from_anchor(const SafeSet& set, const Eigen::VectorXd& anchor);

/// γ_n = n u / (1 - n u) with u = 2⁻⁵³ (Higham, "Accuracy and stability of numerical algorithms",
/// §3.1): bounds the relative error of n chained roundings. Rounded up.
double rounding_gamma(long n);

}  // namespace lifeguard
