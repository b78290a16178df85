#pragma once

#include <Eigen/Core>

#include "lifeguard/core/stop.hpp"

namespace lifeguard {

enum class PaperBasisStatus {
  solved,         // the basis is U X^½ with X from the semi-definite program
  solver_failed,  // the basis is unchanged
};

/// The paper's update of L for fixed S (its semi-definite program in X = LᵀL), with signs, p and q
/// corrected, in the feasible form: the slack is the one that S and the last L give, so that
///   min tr X − 2‖L̃‖_F √(tr X)  with  s_tᵀ X s_t = ‖L_last s_t‖² for all t,  p I ⪯ X ⪯ q I
/// has X = L_lastᵀ L_last as a solution of its constraints. A hypograph variable w ≤ √(tr X), i.e.
/// [tr X, w; w, 1] ⪰ 0, makes it linear; CSDP solves it. L = U X^½ with U the polar factor of L̃ X^½
/// is the L nearest to L̃ among those with LᵀL = X. Only ‖L s_t‖ is fixed by this, not its
/// direction: safety has to come from the S-step after it.
PaperBasisStatus paper_basis(const Eigen::MatrixXd& coefficients,
                             const Eigen::MatrixXd& target_basis, const Eigen::MatrixXd& last_basis,
                             double p, double q, Eigen::MatrixXd& basis,
                             const Deadline& deadline = {});

}  // namespace lifeguard
