#pragma once

#include <Eigen/Core>
#include <memory>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/gain_inequality.hpp"

namespace lifeguard {

struct ClosedLoop;

/// The policies of one task that are allowed:
///   { α ∈ R^d : A α ≤ b, ‖b - A α‖₂ ≤ c_max, and every matrix inequality holds }.
/// The rows of A and then the inequalities are the constraints of the set. Each has a name ("roll
/// gain upper limit") that messages, certificates and plots repeat. c_max = infinity means no bound
/// on the slack. A value, cheap to copy: change a set by making another one.
class SafeSet {
 public:
  /// All of R^d: no rows, no slack limit.
  explicit SafeSet(int parameters);
  /// Throws InvalidInput unless all numbers are finite (c_max may be infinite), c_max > 0, no row
  /// of A is zero, and names are given, not empty and different from each other.
  SafeSet(Eigen::MatrixXd coefficients, Eigen::VectorXd limits, std::vector<std::string> names,
          double slack_limit = kInfinity);

  /// d, how many rows there are, and how many constraints: rows and inequalities.
  int parameters() const { return static_cast<int>(coefficients_.cols()); }
  int rows() const { return static_cast<int>(coefficients_.rows()); }
  int constraints() const { return static_cast<int>(names_.size()); }
  /// Whether anything is asked for.
  bool constrained() const { return constraints() > 0; }
  const Eigen::MatrixXd& coefficients() const { return coefficients_; }  // A
  /// |A|, entry by entry, for rounding bounds.
  const Eigen::MatrixXd& magnitudes() const { return magnitudes_; }
  /// b, the constraints' names (of the rows first) and c_max.
  const Eigen::VectorXd& limits() const { return limits_; }  // b
  const std::vector<std::string>& names() const { return names_; }
  const std::string& name(int row) const { return names_[static_cast<std::size_t>(row)]; }
  const std::vector<GainInequality>& inequalities() const { return *inequalities_; }
  /// What inequalities mean for the machine, where they come from a closed loop.
  const std::vector<std::shared_ptr<const ClosedLoop>>& closed_loops() const {
    return closed_loops_;
  }
  double slack_limit() const { return slack_limit_; }  // c_max
  bool has_slack_limit() const { return slack_limit_ < kInfinity; }

  /// The same rows with another c_max.
  SafeSet with_slack_limit(double slack_limit) const;
  /// The same with these inequalities added. Throws InvalidInput unless they are for as many
  /// parameters and their names are new.
  SafeSet with_inequalities(const std::vector<GainInequality>& inequalities) const;
  /// The same, remembering what these inequalities mean. Throws InvalidInput unless the set has all
  /// inequalities of the closed loop, under whatever names.
  SafeSet with_meaning(std::shared_ptr<const ClosedLoop> closed_loop) const;

  bool operator==(const SafeSet& other) const;

 private:
  friend SafeSet intersect(const std::vector<SafeSet>& parts);

  Eigen::MatrixXd coefficients_;
  Eigen::MatrixXd magnitudes_;
  Eigen::VectorXd limits_;
  std::vector<std::string> names_;
  double slack_limit_ = kInfinity;
  // Shared by all copies, and never changed.
  std::shared_ptr<const std::vector<GainInequality>> inequalities_;
  std::vector<std::shared_ptr<const ClosedLoop>> closed_loops_;
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
