#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

/// One task as the projection sees it: α = ᾱ + L s must obey A α ≤ b, ‖b − A α‖ ≤ c_max and the
/// matrix inequalities of its set. The anchor ᾱ is strictly inside, which makes s = 0 feasible
/// whatever L is.
class ProjectionTask {
 public:
  /// Throws InvalidInput unless sizes agree, numbers are finite (c_max may be infinite: no ball),
  /// and the anchor is strictly safe beyond every rounding error.
  ProjectionTask(const SafeSet& set, Eigen::VectorXd anchor);
  ProjectionTask(Eigen::MatrixXd rows, Eigen::VectorXd limits, Eigen::VectorXd anchor,
                 double slack_limit = kInfinity);

  const Eigen::MatrixXd& rows() const { return rows_; }        // A, m × d
  const Eigen::VectorXd& limits() const { return limits_; }    // b
  const Eigen::VectorXd& anchor() const { return anchor_; }    // ᾱ
  const Eigen::VectorXd& reduced() const { return reduced_; }  // b' = b − A ᾱ > 0, rounded down
  double slack_limit() const { return slack_limit_; }          // c_max
  bool has_ball() const { return slack_limit_ < kInfinity; }
  const Eigen::VectorXd& row_lengths() const { return row_lengths_; }  // ‖a_i‖, rounded up
  double anchor_length() const { return anchor_length_; }              // ‖ᾱ‖, rounded up
  const std::vector<GainInequality>& inequalities() const { return set_.inequalities(); }
  /// ρ of each inequality at the anchor, below 1.
  const Eigen::VectorXd& anchor_ratios() const { return anchor_ratios_; }

 private:
  void check();

  SafeSet set_;  // for its inequalities
  Eigen::MatrixXd rows_;
  Eigen::VectorXd limits_;
  Eigen::VectorXd anchor_;
  Eigen::VectorXd reduced_;
  Eigen::VectorXd row_lengths_;
  Eigen::VectorXd anchor_ratios_;
  double slack_limit_;
  double anchor_length_;
};

/// Lower bounds on how far inside α = ᾱ + L s is. They hold for the exact α and for every way to
/// compute it in double precision (any order of summation, fused or not): the bound on the rounding
/// errors is 2 (d + k + 8) u ‖a_i‖ (‖ᾱ‖ + ‖L‖_F ‖s‖) with u = 2⁻⁵³ (Higham 2002, §3.1, and
/// Cauchy–Schwarz).
struct TaskMargin {
  /// At most min_i b_i − a_i·α, and at most 1 − ρ of every inequality.
  double row_margin = kNaN;
  int worst_row = -1;          // the constraint where it is attained
  double slack_margin = kNaN;  // at most c_max − ‖b − A α‖
  bool safe() const { return row_margin > 0 && slack_margin > 0; }
};

/// The verifier's rounding error of a row of length 1, for `length` = ‖ᾱ‖ + ‖L‖_F ‖s‖.
double rounding_bound(long d, long k, double length);

/// ‖L‖_F, rounded up.
double rounded_up_length(const Eigen::MatrixXd& basis);

/// Checks tasks one after the other without allocating. One for each thread.
class TaskVerifier {
 public:
  /// `basis_length` is rounded_up_length(basis), computed once for all tasks.
  TaskMargin margin(const ProjectionTask& task, const Eigen::MatrixXd& basis, double basis_length,
                    const Eigen::Ref<const Eigen::VectorXd>& coefficients);

  /// All tasks; column t of `coefficients` belongs to task t. True when every one is safe; margins
  /// are written to `margins` if it is not null.
  bool all_safe(const std::vector<ProjectionTask>& tasks, const Eigen::MatrixXd& basis,
                const Eigen::MatrixXd& coefficients, std::vector<TaskMargin>* margins = nullptr);

 private:
  Eigen::VectorXd parameters_;
  Eigen::VectorXd image_;
};

/// Proves p I ⪯ LᵀL ⪯ q I by Cholesky factorisations of LᵀL − (p + e) I and (q − e) I − LᵀL, with
/// an e that covers all rounding errors (Rump, "Verification of positive definiteness", 2006).
/// Remembers the last basis it accepted, since most rounds keep it.
class SpectrumVerifier {
 public:
  bool inside(const Eigen::MatrixXd& basis, double p, double q);

  /// How far inside the solvers have to stay for inside() to succeed: they work with
  /// [p + reserve, q − reserve].
  static double reserve(long d, long k, double q);

 private:
  bool prove(const Eigen::MatrixXd& basis, double p, double q);

  Eigen::MatrixXd proven_;
  double proven_p_ = kNaN;
  double proven_q_ = kNaN;
  Eigen::MatrixXd gram_;
  Eigen::MatrixXd shifted_;
  // Of something, since a copy reads the status that only a decomposition sets.
  Eigen::LLT<Eigen::MatrixXd> cholesky_{Eigen::MatrixXd::Identity(1, 1)};
};

}  // namespace lifeguard
