#pragma once

namespace lifeguard {

class SettingVisitor;

/// How the nearest safe knowledge is found.
enum class ProjectionMode {
  exact,  // alternating exact L- and S-steps
  paper,  // the paper's semi-definite program for LᵀL, then the S-step
  none,   // the target as it is; no safety
};

/// The safety projection: spectrum, weights, and when it ends.
struct ProjectionSettings {
  ProjectionMode mode = ProjectionMode::exact;
  /// p I ⪯ LᵀL ⪯ q I, 0 < p < q, q − p beyond rounding.
  double p = 0.01;
  double q = 100.0;
  /// Weights of the distance μ₁‖S − S̃‖² + μ₂‖L − L̃‖², both > 0.
  double mu1 = 1.0;
  double mu2 = 1.0;
  /// Alternations end here, ≥ 1 …
  int max_alternations = 10;
  /// … or when one lowers the objective by less than this part of it, ≥ 0.
  double objective_tolerance = 1e-6;
  /// The solvers work with b' (1 − margin), 0 < margin < 0.1: room for their rounding errors, the
  /// same in both steps, since different margins let the objective increase.
  double margin = 1e-10;
  /// Whether mode exact uses what alternation leaves of max_alternations for steps in L and S
  /// together (JointStep). They end in a stationary point of the joint problem, where alternation
  /// may not: a row that L and s could both give way to holds each of them where it is.
  bool descend = false;

  /// Whether mode none keeps p and q all the same.
  bool none_limits_spectrum = false;

  /// Describes each setting: name, rule, unit, meaning.
  void visit(SettingVisitor& visitor);
  /// Also what no single setting can tell: p < q.
  void validate() const;
  bool operator==(const ProjectionSettings&) const = default;
};

}  // namespace lifeguard
