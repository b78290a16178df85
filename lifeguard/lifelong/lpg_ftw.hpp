#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/lifelong/expansion.hpp"
#include "lifeguard/lifelong/method.hpp"
#include "lifeguard/lifelong/policy_learner.hpp"

namespace lifeguard {

/// LPG-FTW (Mendez, Wang, Eaton, "Lifelong policy gradient learning of factored policies for faster
/// training without forgetting", NeurIPS 2020): α_t = ᾱ_t + L s_t.
///
/// Rounds of one task that follow each other are a stay. While it lasts L does not change, and the
/// task's own parameters take the natural gradient steps:
///   the first tasks      a column of L that is theirs alone (s_t is a unit vector);
///   until L has k        s_t and a direction ε, α_t = ᾱ_t + L s_t + ε, from which a column comes;
///   later, or again      s_t only.
/// A new s_t starts at the mean of the known ones. A stay ends when another task is observed. Then
/// ε becomes a column, and L minimises the quadratics that are left of every task's last stay
/// (Expansion), which is what keeps earlier tasks from being forgotten. A task that comes back has
/// its quadratic replaced.
///
/// Until then policies of other tasks are already those after the end of the stay, so that what is
/// handed out for a task is what its own stay begins with.
class LpgFtw : public PolicyLearner {
 public:
  /// No tasks yet.
  LpgFtw(int features, int actions, const LpgFtwSettings& settings = {});

  void policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const override;
  void write_state(std::ostream& out) const override;
  void read_state(std::istream& in) override;

  /// L and S as they are after the end of the present stay; column t of S is s_t, and zero for
  /// tasks that were not observed.
  const Eigen::MatrixXd& basis() const { return basis_; }
  const Eigen::MatrixXd& coefficients() const { return coefficients_; }

 private:
  /// What a stay trains.
  enum class Training { column, coefficients_and_direction, coefficients };
  /// The present one.
  struct Stay {
    int task = -1;  // none yet
    Training training = Training::coefficients;
    Eigen::MatrixXd basis;         // L, fixed
    Eigen::VectorXd coefficients;  // s_t
    Eigen::VectorXd direction;     // ε, or the new column
  };
  /// L and S.
  struct Factors {
    Eigen::MatrixXd basis;
    Eigen::MatrixXd coefficients;
  };

  void append_task(const Eigen::VectorXd& anchor) override;
  RoundStatus update(int task, const RoundLoss& loss) override;
  double visits_before(int task) const override {
    return static_cast<double>(task_states()[task].visits);
  }
  Stay begin(int task) const;
  void train(const RoundLoss& loss, Stay& stay) const;
  Factors end(const Stay& stay) const;
  /// The task's quadratic, from its anchor.
  Expansion expansion(int task, const RoundLoss& loss, const Eigen::VectorXd& played) const;
  Eigen::VectorXd first_coefficients() const;
  bool observed(int task) const { return expansions_[task].known(); }
  int observed_tasks() const;

  LpgFtwSettings settings_;
  Eigen::Index most_columns_;
  Eigen::MatrixXd anchors_;       // ᾱ_t, d × T
  Eigen::MatrixXd basis_;         // L, d × k
  Eigen::MatrixXd coefficients_;  // S, k × T
  std::vector<Expansion> expansions_;
  Stay stay_;
};

/// The quadratic that LPG-FTW keeps of a task, with the lowest policy itself as its target (not yet
/// from an anchor). Where rewards are maximised it is g'Δ + Δ'HΔ with Δ = θ - θ_played and
///   H = -½ F √(2 gᵀF⁻¹g / δ),  so that A gets 2 (s sᵀ) ⊗ H and b gets s ⊗ (2Hθ_played - g).
/// As a cost to be minimised its curvature is -2H, and it is lowest at θ_played - (2H)⁻¹g, which
/// without the shift below is θ_played + √(δ / 2q) F⁻¹g with q = gᵀF⁻¹g: shorter by √2 than the
/// step √(δ / q) F⁻¹g that the policy takes. `played` is where the loss was observed.
///
/// δ is twice the KL divergence of the step as the base learner took it, but for noise: where a
/// step was cut to a Newton step, or widened since it was sure, δ is that of the step as it was cut
/// or widened; where it was shortened for noise, δ is that of the step before.
///
/// In H (not in q) F is shifted so that the smallest eigenvalue of each action's block is at least
/// `smallest_eigenvalue` of the block's mean one; g stays what it is, so that the quadratic is
/// lowest nearer to θ_played in directions that the batch hardly saw.
///
/// A loss that does not say what its gradient is in units of advantages is itself the quadratic,
/// with its curvature shifted likewise.
Expansion lpg_ftw_quadratic(const RoundLoss& loss, const Eigen::VectorXd& played,
                            double smallest_eigenvalue);

}  // namespace lifeguard
