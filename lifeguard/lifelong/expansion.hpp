#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/saved_state.hpp"

namespace lifeguard {

/// A task's loss as a quadratic around the policy that its own steps reached,
///   ½ ‖ᾱ_t + target - α‖²_curvature,
/// with a block of the curvature for each action (action_blocks.hpp).
struct Expansion {
  Eigen::MatrixXd curvature;  // Γ_t
  Eigen::VectorXd target;     // where it is lowest, from the task's anchor; empty if not yet known

  /// Whether the task was observed.
  bool known() const { return target.size() > 0; }
};

/// The L that minimises (1/T) Σ_t ‖target_t - L s_t‖²_Γt + λ‖L‖² over the T tasks whose expansions
/// are known: vec(L) = (A/T + λI)⁻¹ b/T with A = Σ_t (s_t s_tᵀ) ⊗ Γ_t and b = Σ_t s_t ⊗ Γ_t
/// target_t. Column t of `coefficients` is s_t. The sums are made anew, so that a task's earlier
/// expansion leaves no trace. False if the system is singular to working precision; L is then as it
/// was.
bool fit_basis(const std::vector<Expansion>& expansions, const Eigen::MatrixXd& coefficients,
               double lambda, int features, int actions, Eigen::MatrixXd& basis);

/// One for each task. What does not fit throws InvalidInput.
void write_expansions(StateWriter& writer, const std::vector<Expansion>& expansions);
std::vector<Expansion> read_expansions(StateReader& reader, int tasks, int features, int actions);

}  // namespace lifeguard
