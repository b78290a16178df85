#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/lifelong/expansion.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

/// PG-ELLA (Bou Ammar, Eaton, Ruvolo, Taylor, "Online multi-task learning for policy gradient
/// methods", ICML 2014), Algorithm 1: the loss of a task is replaced by its second-order expansion
/// around the policy α_t that the task's own policy gradient step reached,
///   (1/T) Σ_t [ ‖α_t - ᾱ_t - L s_t‖²_{Γ_t} + μ‖s_t‖₁ ] + λ‖L‖²_F,
/// of which each round solves first for s_t of the observed task and then once for L.
class PgElla : public PolicyLearner {
 public:
  /// No tasks yet.
  PgElla(int features, int actions, const PgEllaSettings& settings = {});

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;
  void write_state(std::ostream& out) const override;
  void read_state(std::istream& in) override;

  /// L and S.
  const Eigen::MatrixXd& basis() const { return basis_; }
  const Eigen::MatrixXd& coefficients() const { return coefficients_; }

 private:
  void append_task(const Eigen::VectorXd& anchor) override;
  RoundStatus update(int task, const RoundLoss& loss) override;
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }
  void reinitialise_zero_columns();
  bool observed(int task) const { return expansions_[task].known(); }

  PgEllaSettings settings_;
  Eigen::MatrixXd anchors_;       // ᾱ_t, d × T
  Eigen::MatrixXd basis_;         // L, d × k
  Eigen::MatrixXd coefficients_;  // S, k × T
  std::vector<Expansion> expansions_;
};

/// Minimises (1/2) sᵀHs - hᵀs + penalty ‖s‖₁ by coordinate descent from the given s. H must be
/// positive semi-definite; coordinates with H_ii = 0 become 0.
void minimise_lasso(const Eigen::MatrixXd& h_matrix, const Eigen::VectorXd& h_vector,
                    double penalty, Eigen::VectorXd& s);

}  // namespace lifeguard
