#pragma once

#include <Eigen/Core>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"

namespace lifeguard {

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

}  // namespace lifeguard
