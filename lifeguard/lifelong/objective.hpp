#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard {

/// The losses of one task summed over its rounds,
///   q_t(α) = ½ αᵀ G_t α - γ_tᵀ α
/// with a block of G_t for each action (action_blocks.hpp). Adding a round costs the same however
/// many went before.
struct SummedLoss {
  Eigen::MatrixXd curvature;  // G_t, blocks of features × features
  Eigen::VectorXd linear;     // γ_t, one entry for each policy parameter

  SummedLoss() = default;
  SummedLoss(int features, int parameters)
      : curvature(Eigen::MatrixXd::Zero(features, features)),
        linear(Eigen::VectorXd::Zero(parameters)) {}
};

/// out = G α for α that stacks one block of features for each action.
void apply_curvature(const Eigen::MatrixXd& curvature, Eigen::Ref<const Eigen::VectorXd> alpha,
                     Eigen::Ref<Eigen::VectorXd> out);

/// e(L, S) = Σ_t η q_t(ᾱ_t + L s_t) + μ₁ (‖S - s̄1ᵀ‖² + κ T ‖s̄‖²) + μ₂ ‖L‖², the paper's e_r with
/// anchors and with a common mean. `losses` has one entry for each task of the knowledge.
double objective(const RegularisationSettings& settings, const std::vector<SummedLoss>& losses,
                 const Knowledge& knowledge);

/// ∇_L e = η Σ_t (Γ_t α_t - γ_t) s_tᵀ + 2 μ₂ L.
Eigen::MatrixXd basis_gradient(const RegularisationSettings& settings,
                               const std::vector<SummedLoss>& losses, const Knowledge& knowledge);

/// Column t is ∇_{s_t} e = η Lᵀ (Γ_t α_t - γ_t) + 2 μ₁ (s_t - (1 - κ) s̄). The paper prints μ₂ in
/// its regularising term; docs/mathematics.md, §1.
Eigen::MatrixXd coefficient_gradient(const RegularisationSettings& settings,
                                     const std::vector<SummedLoss>& losses,
                                     const Knowledge& knowledge);

}  // namespace lifeguard
