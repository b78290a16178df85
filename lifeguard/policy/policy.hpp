#pragma once

#include <Eigen/Core>

#include "lifeguard/core/per_action.hpp"

namespace lifeguard {

/// The feature map Φ(x) of a linear policy. With e = x - goal, the features are, in this order:
///   e_1 … e_n, then 1 if `bias`, then all products e_i e_j (i ≤ j) if `second_order`.
/// With neither, Φ is the state itself, as in the paper's experiments.
struct Features {
  bool bias = false;
  bool second_order = false;

  /// How many features a state of this size has.
  constexpr int count(int states) const {
    return states + (bias ? 1 : 0) + (second_order ? states * (states + 1) / 2 : 0);
  }
  /// Whether Φ(x) = x - goal.
  bool is_state_only() const { return !bias && !second_order; }
  /// Φ(x).
  Eigen::VectorXd evaluate(const Eigen::VectorXd& state, const Eigen::VectorXd& goal) const;

  bool operator==(const Features&) const = default;
};

/// u_a ~ N(k_a Φ(x), σ_a²), each action with its own row of K and its own noise. The parameter
/// vector α stacks the rows of K, one action after the other, so the Fisher information is
/// diag(1/σ_a²) ⊗ Σ ΦΦᵀ: one block for each action (action_blocks.hpp; docs/mathematics.md, §2).
class GaussianPolicy {
 public:
  /// From K (actions × features), or from its rows in one vector; σ ≥ 0, for all actions or for
  /// each.
  GaussianPolicy(Eigen::MatrixXd gains, PerAction sigma);
  static GaussianPolicy from_parameters(const Eigen::VectorXd& parameters, int actions,
                                        const PerAction& sigma);

  /// Other numbers in the same shape, without allocating.
  void assign(const Eigen::VectorXd& parameters, const PerAction& sigma);

  /// K, and its sizes; α; and the mean action K Φ for given features.
  const Eigen::MatrixXd& gains() const { return gains_; }
  int actions() const { return static_cast<int>(gains_.rows()); }
  int features() const { return static_cast<int>(gains_.cols()); }
  Eigen::VectorXd parameters() const;
  Eigen::VectorXd mean(const Eigen::VectorXd& features) const { return gains_ * features; }

  /// σ: of all actions, and of one of them. Without an action it must be the same for all of them;
  /// otherwise InvalidInput is thrown.
  const PerAction& noise() const { return sigma_; }
  double sigma(int action) const { return sigma_.of(action); }
  double sigma() const { return sigma_.common("sigma"); }

  /// The same policy without exploration noise, as it is evaluated.
  GaussianPolicy without_noise() const { return {gains_, 0.0}; }

 private:
  void check() const;

  Eigen::MatrixXd gains_;
  PerAction sigma_;
};

/// α as K (actions × features) and back.
Eigen::MatrixXd gains_from_parameters(const Eigen::VectorXd& parameters, int actions);
Eigen::VectorXd parameters_from_gains(const Eigen::MatrixXd& gains);

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
