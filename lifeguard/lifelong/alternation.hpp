#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/policy/knowledge.hpp"
#include "lifeguard/lifelong/objective.hpp"

namespace lifeguard {

/// How one half of an alternation moves its block of (L, S).
enum class BlockStep {
  closed_form,       // to the block's minimum: L = Z_L⁻¹ v_L, S = the joint minimum in S
  gradient,          // x - rate ∇e
  natural_gradient,  // x - rate Z⁻¹ ∇e, with the Fisher information plus regularisation as Z
};

enum class StepRate {
  decaying,     // c/j in round j, as in the paper's experiments
  line_search,  // the minimum along the direction, exact since e is quadratic in each block
};

struct AlternationSettings {
  BlockStep step = BlockStep::closed_form;
  StepRate rate = StepRate::line_search;
  /// c in the rate c/j. > 0; the paper asks for c < 1. Not used by the closed form.
  double rate_scale = 0.5;
  /// How often L and S are updated in turn in each round. At least 1.
  int alternations = 10;
  /// Whether a round updates the coefficients of all known tasks, or only of the current one.
  bool all_coefficients = true;

  void validate() const;
  bool operator==(const AlternationSettings&) const = default;
};

enum class AlternationStatus {
  ok,
  /// A system was not positive definite to working precision; the knowledge may be half updated and
  /// must be thrown away.
  singular,
};

/// Minimises e(L, S) of objective.hpp block by block: first L with S held, then S with L held.
///
/// Every curvature is I ⊗ G_t, so the dk × dk system of L,
///   Z_L = η Σ_t (s_t s_tᵀ) ⊗ Γ_t + 2 μ₂ I,
/// falls apart into one for each action, of size features · k, and these share one matrix. The
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
