#pragma once

#include <Eigen/Core>

namespace lifeguard {

/// What the tasks share and what sets them apart: α_t = ᾱ_t + L s_t.
///
/// The anchor ᾱ_t is a policy known before any rollout; ᾱ_t = 0 is the paper's form. The learner
/// thinks of s_t as s̄ + s'_t, a common mean and a deviation, and of θ = (L, s̄, S'). Only the sum is
/// stored: whoever maps (L, S) to a safe one needs to know nothing of the split, and the mean of
/// the columns of S is the best known s̄.
struct Knowledge {
  Eigen::MatrixXd basis;         // L, d × k
  Eigen::MatrixXd coefficients;  // S, k × T
  Eigen::MatrixXd anchors;       // ᾱ, d × T

  Knowledge() = default;
  /// L = diag_k(ζ): ζ on the diagonal, zero elsewhere (Algorithm 1, line 2). No tasks.
  Knowledge(int parameters, int basis_size, double zeta);

  /// d, k and T.
  int parameters() const { return static_cast<int>(basis.rows()); }
  int basis_size() const { return static_cast<int>(basis.cols()); }
  int tasks() const { return static_cast<int>(coefficients.cols()); }

  /// The coefficients of the new task are the mean of the known ones, zero for the first.
  void add_task(const Eigen::VectorXd& anchor);

  /// α_t = ᾱ_t + L s_t.
  Eigen::VectorXd policy_parameters(int task) const;
  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const;

  /// Throws InvalidInput unless the sizes fit together and every number is finite.
  void validate() const;

  bool operator==(const Knowledge& other) const;
};

}  // namespace lifeguard
