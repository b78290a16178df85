#include "lifeguard/safety/prove/certificate.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/prove/exact_number.hpp"

namespace lifeguard {
namespace {

/// ᾱ + L s.
ExactVector policy(const SafetyView& view, int task) {
  ExactVector alpha = exact(view.anchors[static_cast<std::size_t>(task)]);
  for (long i = 0; i < view.basis.rows(); ++i) {
    for (long j = 0; j < view.basis.cols(); ++j) {
      ExactNumber& entry = alpha[static_cast<std::size_t>(i)];
      entry = entry + ExactNumber(view.basis(i, j)) * ExactNumber(view.coefficients(j, task));
    }
  }
  return alpha;
}

/// b - A α.
ExactVector slack(const SafeSet& set, const ExactVector& alpha) {
  ExactVector result = exact(set.limits());
  for (int row = 0; row < set.rows(); ++row) {
    for (int i = 0; i < set.parameters(); ++i) {
      if (set.coefficients()(row, i) == 0) continue;
      ExactNumber& entry = result[static_cast<std::size_t>(row)];
      entry = entry - ExactNumber(set.coefficients()(row, i)) * alpha[static_cast<std::size_t>(i)];
    }
  }
  return result;
}

/// Whether ‖s‖ ≤ limit, by squares.
bool within(const ExactVector& s, const ExactNumber& limit) {
  ExactNumber squares;
  for (const ExactNumber& entry : s) squares = squares + entry * entry;
  return limit.digits >= 0 && !(limit * limit < squares);
}

void check_rows(const SafeSet& set, const ExactVector& s, int task, Findings& findings) {
  const std::string of = task < 0 ? "" : fmt::format("task {}: ", task);
  for (int row = 0; row < set.rows(); ++row) {
    const ExactNumber& entry = s[static_cast<std::size_t>(row)];
    if (entry.digits >= 0) continue;
    const double excess = -approximate(entry);
    findings.push_back({FindingKind::row_violated, task, row,
                        fmt::format("{}\"{}\" is violated by {:.6g}", of, set.name(row), excess)});
  }
  if (set.has_slack_limit() && !within(s, ExactNumber(set.slack_limit()))) {
    findings.push_back(
        {FindingKind::slack_limit_violated, task, -1,
         fmt::format("{}the slack is longer than its limit {:.6g}", of, set.slack_limit())});
  }
}

/// LᵀL.
ExactRows gram_matrix(const Eigen::MatrixXd& basis) {
  const auto k = static_cast<std::size_t>(basis.cols());
  ExactRows columns;
  for (long j = 0; j < basis.cols(); ++j) columns.push_back(exact(basis.col(j)));
  ExactRows gram(k, ExactVector(k));
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      ExactNumber& entry = gram[i][j];
      for (std::size_t row = 0; row < columns[i].size(); ++row) {
        entry = entry + columns[i][row] * columns[j][row];
      }
      gram[j][i] = entry;
    }
  }
  return gram;
}

/// Whether M = RᵀR + E, with R from doubles and the exact rest E diagonally dominant, proves that M
/// has no negative eigenvalue: both parts have none. Elimination takes minutes for large matrices,
/// this does not; false only says that it is not proven in this way.
bool factor_proves(const ExactRows& m) {
  const auto k = static_cast<Eigen::Index>(m.size());
  Eigen::MatrixXd rounded(k, k);
  for (Eigen::Index i = 0; i < k; ++i) {
    for (Eigen::Index j = 0; j < k; ++j) {
      rounded(i, j) = approximate(m[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
    }
  }
  for (const double roundings : {2.0, 8.0, 0.5}) {
    Eigen::MatrixXd shifted = rounded;
    shifted.diagonal().array() -=
        roundings * static_cast<double>(k + 2) * 0x1p-53 * rounded.diagonal().cwiseAbs().sum();
    const Eigen::LLT<Eigen::MatrixXd> cholesky(shifted);
    if (cholesky.info() != Eigen::Success) continue;
    const Eigen::MatrixXd factor = cholesky.matrixL();
    if (!factor.allFinite()) continue;
    ExactRows rows;
    for (Eigen::Index i = 0; i < k; ++i) rows.push_back(exact(factor.row(i).head(i + 1)));
    bool dominant = true;
    ExactVector off_diagonal(m.size());
    ExactVector diagonal(m.size());
    for (std::size_t i = 0; i < m.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        ExactNumber rest = m[i][j];
        for (std::size_t l = 0; l <= j; ++l) rest = rest - rows[i][l] * rows[j][l];
        if (i == j) {
          diagonal[i] = rest;
          continue;
        }
        off_diagonal[i] = off_diagonal[i] + magnitude(rest);
        off_diagonal[j] = off_diagonal[j] + magnitude(rest);
      }
    }
    for (std::size_t i = 0; i < m.size(); ++i) {
      dominant = dominant && !(diagonal[i] < off_diagonal[i]);
    }
    if (dominant) return true;
  }
  return false;
}

/// Whether a symmetric matrix has no negative eigenvalue.
bool positive_semidefinite(const ExactRows& m) {
  return factor_proves(m) || definiteness(m) != Definite::no;
}

/// Whether sign · (LᵀL - bound I) has no negative eigenvalue.
bool spectrum_holds(const ExactRows& gram, double bound, int sign) {
  ExactRows shifted = gram;
  for (std::size_t i = 0; i < gram.size(); ++i) {
    shifted[i][i] = shifted[i][i] - ExactNumber(bound);
    for (ExactNumber& entry : shifted[i]) entry.digits *= sign;
  }
  return positive_semidefinite(shifted);
}

/// Whether [I; K]ᵀ Θ [I; K] ⪯ part² Q, for the α that stacks the rows of K.
bool inequality_holds(const GainInequality& inequality, const ExactVector& alpha,
                      const ExactNumber& part) {
  const auto n = static_cast<std::size_t>(inequality.features());
  const auto m = static_cast<std::size_t>(inequality.actions());
  // Row i of [I; K].
  const auto stacked = [&](std::size_t i, std::size_t j) {
    return i < n ? ExactNumber(i == j ? 1.0 : 0.0) : alpha[(i - n) * n + j];
  };
  const auto theta = [&](std::size_t i, std::size_t j) {
    return ExactNumber(inequality.theta()(static_cast<long>(i), static_cast<long>(j)));
  };
  ExactRows image(n + m, ExactVector(n));  // Θ [I; K]
  for (std::size_t i = 0; i < n + m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      ExactNumber& entry = image[i][j];
      entry = theta(i, j);
      for (std::size_t a = n; a < n + m; ++a) entry = entry + theta(i, a) * stacked(a, j);
    }
  }
  ExactRows rest(n, ExactVector(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      ExactNumber& entry = rest[i][j];
      entry = part * part *
                  ExactNumber(inequality.limit()(static_cast<long>(i), static_cast<long>(j))) -
              image[i][j];
      for (std::size_t a = n; a < n + m; ++a) entry = entry - stacked(a, i) * image[a][j];
    }
  }
  return positive_semidefinite(rest);
}

bool all_finite(const SafetyView& view) {
  return view.basis.allFinite() && view.coefficients.allFinite() &&
         std::all_of(view.anchors.begin(), view.anchors.end(),
                     [](const Eigen::VectorXd& anchor) { return anchor.allFinite(); });
}

Finding not_finite() {
  return {FindingKind::not_finite, -1, -1, "a parameter is not a finite number"};
}

void check_constraints(const SafeSet& set, const ExactVector& alpha, int task, Findings& findings) {
  check_rows(set, slack(set, alpha), task, findings);
  for (int row = set.rows(); row < set.constraints(); ++row) {
    const GainInequality& inequality =
        set.inequalities()[static_cast<std::size_t>(row - set.rows())];
    if (inequality_holds(inequality, alpha, ExactNumber(1.0))) continue;
    findings.push_back(
        {FindingKind::inequality_violated, task, row,
         fmt::format("{}\"{}\" does not hold", task < 0 ? "" : fmt::format("task {}: ", task),
                     set.name(row))});
  }
}

/// Whether the margins claimed are at most the true ones. Minus infinity, or not a number, claims
/// nothing; infinity is right only where there is nothing to obey.
bool claim_holds(const TaskCertificate& claim, const SafeSet& set, const ExactVector& alpha) {
  const ExactVector s = slack(set, alpha);
  if (claim.row_margin == kInfinity && set.constrained()) return false;
  if (claim.slack_margin == kInfinity && set.has_slack_limit()) return false;
  if (std::isfinite(claim.row_margin)) {
    for (const ExactNumber& entry : s) {
      if (entry < ExactNumber(claim.row_margin)) return false;
    }
    for (const GainInequality& inequality : set.inequalities()) {
      const ExactNumber part = ExactNumber(1.0) - ExactNumber(claim.row_margin);
      if (part.digits < 0 || !inequality_holds(inequality, alpha, part)) return false;
    }
  }
  return !std::isfinite(claim.slack_margin) || !set.has_slack_limit() ||
         within(s, ExactNumber(set.slack_limit()) - ExactNumber(claim.slack_margin));
}

enum class Sure { yes, no, not_known };

/// Whether doubles prove [I; K]ᵀ Θ [I; K] ⪯ Q: Cholesky's method on the difference, less an error
/// that is far more than its roundings can make: with N terms of magnitude M in every entry, they
/// add up to less than 4 N n u M in norm.
bool holds_in_doubles(const GainInequality& inequality, const Eigen::VectorXd& alpha) {
  const Eigen::Index n = inequality.features();
  const Eigen::Index m = inequality.actions();
  Eigen::MatrixXd stacked(n + m, n);
  stacked.topRows(n).setIdentity();
  for (Eigen::Index a = 0; a < m; ++a) stacked.row(n + a) = alpha.segment(a * n, n).transpose();
  const Eigen::MatrixXd product = stacked.transpose() * inequality.theta() * stacked;
  const Eigen::MatrixXd magnitude =
      stacked.cwiseAbs().transpose() * inequality.theta().cwiseAbs() * stacked.cwiseAbs() +
      inequality.limit().cwiseAbs();
  Eigen::MatrixXd rest = inequality.limit() - product;
  const double terms = static_cast<double>((n + m + 4) * (n + 4));
  rest.diagonal().array() -= 16 * terms * std::numeric_limits<double>::epsilon() *
                             (magnitude.maxCoeff() + inequality.limit().trace());
  return rest.allFinite() && rest.llt().info() == Eigen::Success;
}

/// What doubles prove of A α ≤ b, ‖b - A α‖ ≤ c and the inequalities. A sum of n products is off by
/// at most n u / (1 - n u) times the sum of their magnitudes, u = 2⁻⁵³, whatever the order; n
/// denormals more if products underflow. Below, every bound is more than twice what it must be,
/// which covers the roundings of the bounds themselves.
Sure obeys_in_doubles(const SafeSet& set, const Eigen::VectorXd& alpha) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();  // 2 u
  const auto terms = static_cast<double>(set.parameters() + 4);
  const double underflow = 4 * terms * std::numeric_limits<double>::denorm_min();
  double squares = 0;
  for (int row = 0; row < set.rows(); ++row) {
    double sum = 0;
    double magnitude = 0;
    for (int i = 0; i < set.parameters(); ++i) {
      const double product = set.coefficients()(row, i) * alpha(i);
      sum += product;
      magnitude += std::abs(product);
    }
    const double slack = set.limits()(row) - sum;
    const double bound = 2 * kEpsilon * (terms * magnitude + std::abs(slack)) + underflow;
    if (!std::isfinite(bound)) return Sure::not_known;
    if (slack < -bound) return Sure::no;
    if (!(slack > bound)) return Sure::not_known;
    squares += (slack + bound) * (slack + bound);
  }
  for (const GainInequality& inequality : set.inequalities()) {
    if (!holds_in_doubles(inequality, alpha)) return Sure::not_known;
  }
  if (!set.has_slack_limit()) return Sure::yes;
  const double most = squares * (1 + 4 * kEpsilon * static_cast<double>(set.rows() + 8));
  const double allowed = set.slack_limit() * set.slack_limit();
  constexpr double kSmallest = 1e-290;  // below it squares lose digits
  return allowed > kSmallest && most < allowed * (1 - 8 * kEpsilon) ? Sure::yes : Sure::not_known;
}

}  // namespace

const char* to_string(FindingKind kind) {
  switch (kind) {
    case FindingKind::not_finite:
      return "not finite";
    case FindingKind::row_violated:
      return "row violated";
    case FindingKind::slack_limit_violated:
      return "slack limit violated";
    case FindingKind::inequality_violated:
      return "inequality violated";
    case FindingKind::spectrum_too_small:
      return "spectrum too small";
    case FindingKind::spectrum_too_large:
      return "spectrum too large";
    case FindingKind::certificate_mismatch:
      return "certificate mismatch";
    case FindingKind::certificate_overclaims:
      return "certificate overclaims";
  }
  return "unknown";
}

Findings check_safety(const SafetyView& view) {
  view.validate();
  if (!all_finite(view)) return {not_finite()};
  Findings findings;
  for (int t = 0; t < view.tasks(); ++t) {
    const SafeSet& set = view.safe_sets[static_cast<std::size_t>(t)];
    check_constraints(set, policy(view, t), t, findings);
  }
  const ExactRows gram = gram_matrix(view.basis);
  if (!spectrum_holds(gram, view.smallest_eigenvalue, 1)) {
    findings.push_back(
        {FindingKind::spectrum_too_small, -1, -1,
         fmt::format("LᵀL has an eigenvalue below {:.6g}", view.smallest_eigenvalue)});
  }
  if (view.largest_eigenvalue < kInfinity && !spectrum_holds(gram, view.largest_eigenvalue, -1)) {
    findings.push_back(
        {FindingKind::spectrum_too_large, -1, -1,
         fmt::format("LᵀL has an eigenvalue above {:.6g}", view.largest_eigenvalue)});
  }
  return findings;
}

Findings check_policy(const SafeSet& set, const Eigen::VectorXd& parameters) {
  require_size("parameters", parameters.size(), set.parameters());
  if (!parameters.allFinite()) return {not_finite()};
  // Matrix inequalities are always decided in integers here: what is checked is their proof.
  if (set.inequalities().empty() && obeys_in_doubles(set, parameters) == Sure::yes) return {};
  Findings findings;
  check_constraints(set, exact(parameters), -1, findings);
  return findings;
}

bool obeys_exactly(const SafeSet& set, const Eigen::VectorXd& parameters) {
  require_size("parameters", parameters.size(), set.parameters());
  if (!parameters.allFinite()) return false;
  const Sure sure = obeys_in_doubles(set, parameters);
  return sure == Sure::yes || (sure == Sure::not_known && check_policy(set, parameters).empty());
}

bool claim_holds(const SafeSet& set, const Eigen::VectorXd& parameters,
                 const TaskCertificate& claim) {
  require_size("parameters", parameters.size(), set.parameters());
  return parameters.allFinite() && claim_holds(claim, set, exact(parameters));
}

Findings check_certificate(const SafetyView& view, const Certificate& certificate) {
  Findings findings = check_safety(view);
  if (certificate.fingerprint != view.fingerprint() ||
      static_cast<int>(certificate.tasks.size()) != view.tasks() ||
      certificate.smallest_eigenvalue != view.smallest_eigenvalue ||
      certificate.largest_eigenvalue != view.largest_eigenvalue) {
    findings.push_back(
        {FindingKind::certificate_mismatch, -1, -1, "the certificate is about other parameters"});
    return findings;
  }
  if (!all_finite(view)) return findings;
  for (int t = 0; t < view.tasks(); ++t) {
    const SafeSet& set = view.safe_sets[static_cast<std::size_t>(t)];
    const TaskCertificate& claim = certificate.tasks[static_cast<std::size_t>(t)];
    if (claim_holds(claim, set, policy(view, t))) continue;
    findings.push_back(
        {FindingKind::certificate_overclaims, t, claim.worst_row,
         fmt::format("task {}: margins of {:.6g} in the rows and {:.6g} in the slack "
                     "are claimed, which is more than there is",
                     t, claim.row_margin, claim.slack_margin)});
  }
  return findings;
}

}  // namespace lifeguard
