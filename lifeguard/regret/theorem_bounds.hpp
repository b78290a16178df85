#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <vector>

#include "lifeguard/base_learners/round_loss.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"
#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/trajectories/trajectories.hpp"

namespace lifeguard {

/// The constants that the theorem speaks of.
struct TheoremSettings {
  double p = 0.01;  // p I ⪯ LᵀL ⪯ q I, 0 < p ≤ q
  double q = 100.0;
  double mu1 = 1e-3;  // Ω₀ = μ₁‖S‖² + μ₂‖L‖², both > 0
  double mu2 = 1e-3;
  double zeta = 1.0;  // the diagonal of the first L

  void validate() const;
};

/// A quantity of a lemma: as measured, the corrected bound, and the bound as the paper prints it.
struct BoundedQuantity {
  double measured = kNaN;
  double bound = kNaN;
  double printed = kNaN;
};

/// The lemmas at one round. docs/regret.md proves the bounds. a bounds ‖α_t‖ over the safe sets of
/// all known tasks, ā is the longest anchor, T the number of known tasks.
struct LemmaValues {
  /// Lemma 1: ‖∇_α l‖ ≤ (M/σ²) Φ² (‖α⁺‖ + a).
  BoundedQuantity policy_gradient;
  /// Lemma 2: ‖∇_θ l‖ ≤ ‖∇_α l‖ √((a + ā)²/p + q), with the measured ‖∇_α l‖. The printed column is
  /// the printed lemma with the same.
  BoundedQuantity knowledge_gradient;
  /// Lemma 3: ‖θ‖ ≤ √(q k + T (a + ā)²/p).
  BoundedQuantity knowledge;
  /// Lemma 4: ‖f̂‖ ≤ γ₁(1 + γ₂) + δ_l.
  BoundedQuantity linearised;
  double gamma1 = kNaN;
  double gamma2 = kNaN;
  double delta = kNaN;  // bound on |l|
  double printed_gamma1 = kNaN;
  double printed_gamma2 = kNaN;
  double excess = kNaN;  // l(α) - min l; 0 without signal

  /// Whether each measured quantity is at most its bound.
  bool hold() const;
};

/// The four lemmas in order.
inline constexpr std::array<BoundedQuantity LemmaValues::*, 4> kLemmas = {
    &LemmaValues::policy_gradient, &LemmaValues::knowledge_gradient, &LemmaValues::knowledge,
    &LemmaValues::linearised};

/// A run so far.
struct TheoremReport {
  long rounds = 0;
  /// The largest measured / bound of each lemma over all rounds; above 1 a lemma is violated.
  std::array<double, 4> worst_ratios = {0, 0, 0, 0};
  std::array<double, 4> printed_ratios = {0, 0, 0, 0};
  double gamma1 = 0, gamma2 = 0, gamma3 = 0, gamma5 = 0;  // largest over the rounds
  double printed_gamma5 = 0;
  /// Σ_j (l_j(α_j) - min l_j): no comparator can be ahead by more. In nats this is Σ_j step_kl, so
  /// that steps which decay bound the regret whatever the learner does.
  double excess = 0;
  /// (Ω₀(u) - Ω₀(θ₁))/η + η/(4 min μ) Σ_j γ₁², the corrected theorem. For losses linear in θ over
  /// a convex set; (L, S) is neither, see docs/regret.md.
  double regret_bound = kNaN;
  double printed_regret_bound = kNaN;
};

/// Evaluates the lemmas from a run's own data. For losses whose curvature is a mean of ΦΦᵀ/σ²,
/// with the least σ where actions differ in it,
/// summed over steps: eNAC in nats and the likelihoods.
class TheoremBounds {
 public:
  explicit TheoremBounds(const TheoremSettings& settings);

  /// A task known from now on. The theorem wants bounded sets: with a slack limit and A of full
  /// column rank, ‖α‖ ≤ ‖A⁺‖(‖b‖ + c_max). Of other sets nothing is known, and the bounds are
  /// infinite.
  void add_task(const SafeSet& set, const Eigen::VectorXd& anchor);

  /// Whether the sets of all tasks are bounded in this way, so that the bounds say anything.
  bool finite() const { return std::isfinite(policy_norm_); }

  /// A round of a task: its loss, the trajectories it came from, and the knowledge that was played.
  LemmaValues evaluate(int task, const RoundLoss& loss, const Trajectories& trajectories,
                       const PerAction& sigma, const Knowledge& played) const;
  /// Adds a round to the report.
  void add(const LemmaValues& round, int basis_size);

  /// η as in the theorem, usually 1/√R.
  TheoremReport report(double eta) const;

 private:
  TheoremSettings settings_;
  int tasks_ = 0;
  int parameters_ = 0;
  int basis_size_ = 0;
  double policy_norm_ = 0;          // a
  double anchor_norm_ = 0;          // ā
  double printed_square_norm_ = 0;  // max ‖A⁺‖²(‖b‖² + c²), of the printed Lemma 2
  double gamma1_squares_ = 0;
  double printed_gamma1_ = 0;
  double delta_ = 0;
  TheoremReport report_;
};

/// max ‖A⁺‖(‖b‖ + c_max); infinite without a slack limit or without full column rank.
double policy_norm_bound(const SafeSet& set);

}  // namespace lifeguard
