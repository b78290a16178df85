#pragma once

namespace lifeguard {

class SettingVisitor;

/// How much worse than expected each step of a trajectory turned out: the factor in front of
/// ∇log π(u_m | x_m). Positive means costlier than expected. Every part can be switched off, and
/// bench/gradient_variance.cpp prints what each is worth.
struct AdvantageSettings {
  /// Judge a step by what follows it, Σ_{k ≥ m} γ^{k-m} c_k; off: by Σ_k γ^k c_k of the whole
  /// trajectory, with the trace ignored.
  bool cost_to_go = true;
  /// γ in (0, 1]. Below 1 the far future counts less: less variance, some bias.
  double discount = 0.99;
  /// λ in [0, 1]: A_m = Σ_k (γλ)^k δ_{m+k} with δ_m = c_m + γ V_{m+1} - V_m (Schulman et al. 2016).
  /// 1 is the plain cost-to-go minus the baseline V; smaller trusts the baseline more.
  double trace = 0.9;
  /// Subtract the mean over the live trajectories of each step.
  bool step_mean = true;
  /// Subtract a quadratic function of the features, fitted to the batch (StateBaseline).
  bool state_baseline = true;
  /// Fits of that function. The first is to the discounted cost-to-go; each further one to the
  /// λ-returns A + V of the one before, whose fixed point is LSTD(λ).
  int baseline_sweeps = 1;
  /// The fits use every baseline_stride-th step, as if these were all, with γ^stride and λ^stride;
  /// neighbouring steps say nearly the same.
  int baseline_stride = 5;
  /// Shift and scale to mean 0 and variance 1 over all live steps.
  bool normalise = true;

  void visit(SettingVisitor& visitor);
  void validate() const;
  bool operator==(const AdvantageSettings&) const = default;
};

}  // namespace lifeguard
