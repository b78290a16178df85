#pragma once

#include <Eigen/Core>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

struct ClosedLoop;

/// All that safety speaks of, as it lies in a learner: task t has the policy α_t = ᾱ_t + L s_t and
/// must obey its safe set, and the eigenvalues of LᵀL must lie in [p, q]. Owns nothing.
struct SafetyView {
  const Eigen::MatrixXd& basis;              // L, d × k
  const Eigen::MatrixXd& coefficients;       // S, k × T: column t is s_t
  std::span<const Eigen::VectorXd> anchors;  // ᾱ_t, T of them
  std::span<const SafeSet> safe_sets;        // T of them
  double smallest_eigenvalue = 0;            // p; 0 asks for nothing
  double largest_eigenvalue = kInfinity;     // q; infinity likewise

  /// T.
  int tasks() const { return static_cast<int>(safe_sets.size()); }
  /// Throws InvalidInput unless the sizes agree and 0 ≤ p ≤ q. Numbers that are not finite pass:
  /// they are not a caller's mistake but something to be found.
  void validate() const;
  /// The hash of every number and name above (see Fingerprint).
  std::string fingerprint() const;
};

/// What is proven about one task's policy. The margins are lower bounds with all rounding errors
/// counted: for the exact ᾱ + L s, and for every way to compute it in doubles.
struct TaskCertificate {
  /// The row with the smallest margin: -1 and "" for a set without rows.
  int worst_row = -1;
  std::string worst_row_name;
  /// At most the smallest b_i - a_iᵀα; infinity without rows.
  double row_margin = kNaN;
  /// At most c_max - ‖b - A α‖; infinity without a slack limit.
  double slack_margin = kNaN;
  /// What its set says of the machine, with the numbers that prove it: plant, λ, P. Proven once for
  /// a set (check_closed_loop); the margins say that the policy lies in it.
  std::vector<std::shared_ptr<const ClosedLoop>> closed_loops = {};

  /// All margins are proven to be above 0.
  bool safe() const { return row_margin > 0 && slack_margin > 0; }
};

/// A record of one round: what holds, and of which numbers.
struct Certificate {
  std::vector<TaskCertificate> tasks;
  /// The eigenvalues of LᵀL in ascending order, rounded.
  Eigen::VectorXd spectrum;
  /// Asked for: all of them in [smallest_eigenvalue, largest_eigenvalue].
  double smallest_eigenvalue = kNaN;
  double largest_eigenvalue = kNaN;
  /// Proven with all rounding errors counted, not read off `spectrum`.
  bool spectrum_holds = false;
  /// SafetyView::fingerprint() of what was certified.
  std::string fingerprint;

  /// Everything is proven.
  bool valid() const;
  /// The task with the smallest margin, -1 without tasks.
  int worst_task() const;
};

/// Computes the certificate. It never throws for numbers that are not finite or not safe: it says
/// so. Throws InvalidInput as SafetyView::validate does.
Certificate certify(const SafetyView& view);

/// α = ᾱ + L s in doubles, and a bound on its distance from the exact value and from every other
/// way to compute it, entry by entry.
struct PolicyParameters {
  Eigen::VectorXd value;
  Eigen::VectorXd error;
};

/// Computes both.
PolicyParameters policy_parameters(const Eigen::MatrixXd& basis, const Eigen::VectorXd& anchor,
                                   const Eigen::VectorXd& coefficients);

/// An independent check of what a learner holds, in integers: a double is an integer times a power
/// of two, so nothing below is rounded and no tolerance exists. It shares no code with what
/// computes policies and certificates, only the types that hold the numbers.

enum class FindingKind {
  not_finite,             // a number that is not finite; nothing else was checked
  row_violated,           // a_iᵀ (ᾱ + L s) > b_i
  slack_limit_violated,   // ‖b - A (ᾱ + L s)‖ > c_max
  inequality_violated,    // [I; K]ᵀ Θ [I; K] ⪯ Q does not hold
  spectrum_too_small,     // LᵀL - p I has a negative eigenvalue
  spectrum_too_large,     // q I - LᵀL has a negative eigenvalue
  certificate_mismatch,   // the certificate speaks of other parameters
  certificate_overclaims  // a margin in the certificate is above the true one
};

/// In words.
const char* to_string(FindingKind kind);

/// Something that does not hold.
struct Finding {
  FindingKind kind;
  int task = -1;  // -1: about the basis or the certificate as a whole
  int row = -1;   // the constraint of the set
  /// For a person; names task and row.
  std::string message;
};

/// Empty means: all that was asked for holds, exactly.
using Findings = std::vector<Finding>;

/// A_t (ᾱ_t + L s_t) ≤ b_t, ‖b_t - A_t (ᾱ_t + L s_t)‖ ≤ c_t and the matrix inequalities for every
/// task, and p I ⪯ LᵀL ⪯ q I. Throws InvalidInput as SafetyView::validate does.
Findings check_safety(const SafetyView& view);

/// One policy as it is executed: A α ≤ b, ‖b - A α‖ ≤ c and the matrix inequalities.
Findings check_policy(const SafeSet& set, const Eigen::VectorXd& parameters);

/// Whether check_policy would find nothing, without saying what: cheap enough for every round.
/// Where doubles decide with room for all their roundings, integers are not asked.
bool obeys_exactly(const SafeSet& set, const Eigen::VectorXd& parameters);

/// Whether a policy as it is executed has at least these margins, exactly.
bool claim_holds(const SafeSet& set, const Eigen::VectorXd& parameters,
                 const TaskCertificate& claim);

/// check_safety, and that the certificate is about these parameters and claims no more than holds.
Findings check_certificate(const SafetyView& view, const Certificate& certificate);

/// Something that does not hold of a closed-loop set.
struct ClosedLoopFinding {
  /// For a person; names the corner, limit or state.
  std::string message;
};

/// Proves, in rational arithmetic without any rounding, all that a closed-loop set claims except
/// that particular gains obey its inequalities:
///   P ≻ 0; E = {xᵀPx ≤ 1} lies within the state limits and holds the start box;
///   for each corner of the plant the relation of P, W and the multipliers of channels and noise,
///   that noise leaves E invariant, λ² + Σ α ≤ 1, and Θ and Q of its inequality;
///   Θ and Q of the inequality of each action limit.
/// What follows for gains that obey the inequalities is said at ClosedLoop. Shares no code with
/// what makes such sets. Empty means: all of it holds, exactly.
std::vector<ClosedLoopFinding> check_closed_loop(const ClosedLoop& closed_loop);

}  // namespace lifeguard
