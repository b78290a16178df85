#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/policy.hpp"

namespace lifeguard {

enum class AlternationStatus {
  ok,
  /// A system was not positive definite to working precision; the knowledge may be half updated and
  /// must be thrown away.
  singular,
};

/// Minimises e(L, S) of objective.hpp block by block: first L with S held, then S with L held.
///
/// Every curvature has one block for each action, so the dk × dk system of L,
///   Z_L = η Σ_t (s_t s_tᵀ) ⊗ Γ_t + 2 μ₂ I,
/// falls apart into one for each action, of size features · k. Where all actions of all tasks have
/// the same noise these share one matrix. The
/// workspace grows with the number of tasks and is otherwise kept from round to round.
class Alternation {
 public:
  Alternation(int features, int actions, int basis_size);

  /// `task` is the one observed in this round, `round` counts from 1.
  AlternationStatus update(const AlternationSettings& settings,
                           const RegularisationSettings& regularisation,
                           const std::vector<SummedLoss>& losses, int task, long round,
                           Knowledge& knowledge);

 private:
  void prepare(const std::vector<SummedLoss>& losses, const Knowledge& knowledge);
  AlternationStatus update_basis(const AlternationSettings& settings,
                                 const RegularisationSettings& regularisation,
                                 const std::vector<SummedLoss>& losses, long round,
                                 Knowledge& knowledge);
  /// Z_L of an action.
  void basis_system(const RegularisationSettings& regularisation,
                    const std::vector<SummedLoss>& losses, const Knowledge& knowledge, int action);
  AlternationStatus minimise_coefficients(const RegularisationSettings& regularisation,
                                          const std::vector<SummedLoss>& losses,
                                          Knowledge& knowledge);
  AlternationStatus step_coefficients(const AlternationSettings& settings,
                                      const RegularisationSettings& regularisation,
                                      const std::vector<SummedLoss>& losses, int task, long round,
                                      Knowledge& knowledge);
  void coefficient_system(const RegularisationSettings& regularisation, const SummedLoss& loss,
                          const Knowledge& knowledge);

  int features_;
  int actions_;
  int basis_size_;
  Eigen::MatrixXd offsets_;          // γ_t - Γ_t ᾱ_t, d × T: what L s_t must match
  Eigen::MatrixXd basis_system_;     // Z_L of one action, (features k)²
  Eigen::MatrixXd basis_factor_;     // its Cholesky factor
  Eigen::MatrixXd basis_gradient_;   // features k × actions
  Eigen::MatrixXd basis_direction_;  // features k × actions
  Eigen::MatrixXd basis_product_;    // features k × actions
  Eigen::MatrixXd curved_basis_;     // Γ_t L, d × k
  Eigen::MatrixXd task_system_;      // η Lᵀ Γ_t L + 2 μ₁ I, k × k
  Eigen::MatrixXd mean_system_;      // of the common mean, k × k
  Eigen::MatrixXd task_inverse_;     // k × k
  Eigen::MatrixXd step_;             // k × T
  Eigen::MatrixXd gradient_;         // k × T
  Eigen::VectorXd mean_;             // s̄
  Eigen::VectorXd mean_product_;     // k
  Eigen::VectorXd alpha_;            // d
};

}  // namespace lifeguard
