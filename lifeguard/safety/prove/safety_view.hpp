#pragma once

#include <Eigen/Core>
#include <span>
#include <string>

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

  int tasks() const { return static_cast<int>(safe_sets.size()); }
  /// Throws InvalidInput unless the sizes agree and 0 ≤ p ≤ q. Numbers that are not finite pass:
  /// they are not a caller's mistake but something to be found.
  void validate() const;
  /// The hash of every number and name above (see Fingerprint).
  std::string fingerprint() const;
};

}  // namespace lifeguard
