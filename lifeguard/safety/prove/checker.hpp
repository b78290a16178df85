#pragma once

#include <string>
#include <vector>

#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard {

/// An independent check of what a learner holds, in integers: a double is an integer times a power
/// of two, so nothing below is rounded and no tolerance exists. It shares no code with what
/// computes policies and certificates, only the types that hold the numbers.

enum class FindingKind {
  not_finite,             // a number that is not finite; nothing else was checked
  row_violated,           // a_iᵀ (ᾱ + L s) > b_i
  slack_limit_violated,   // ‖b - A (ᾱ + L s)‖ > c_max
  inequality_violated,    // [I; K]ᵀ Θ [I; K] ⪯ Q does not hold
  spectrum_too_small,     // LᵀL - p I has a negative eigenvalue
  spectrum_too_large,     // q I - LᵀL has a negative eigenvalue
  certificate_mismatch,   // the certificate speaks of other parameters
  certificate_overclaims  // a margin in the certificate is above the true one
};

/// In words.
const char* to_string(FindingKind kind);

/// Something that does not hold.
struct Finding {
  FindingKind kind;
  int task = -1;  // -1: about the basis or the certificate as a whole
  int row = -1;   // the constraint of the set
  /// For a person; names task and row.
  std::string message;
};

/// Empty means: all that was asked for holds, exactly.
using Findings = std::vector<Finding>;

/// A_t (ᾱ_t + L s_t) ≤ b_t, ‖b_t - A_t (ᾱ_t + L s_t)‖ ≤ c_t and the matrix inequalities for every
/// task, and p I ⪯ LᵀL ⪯ q I. Throws InvalidInput as SafetyView::validate does.
Findings check_safety(const SafetyView& view);

/// One policy as it is executed: A α ≤ b, ‖b - A α‖ ≤ c and the matrix inequalities.
Findings check_policy(const SafeSet& set, const Eigen::VectorXd& parameters);

/// Whether check_policy would find nothing, without saying what: cheap enough for every round.
/// Where doubles decide with room for all their roundings, integers are not asked.
bool obeys_exactly(const SafeSet& set, const Eigen::VectorXd& parameters);

/// Whether a policy as it is executed has at least these margins, exactly.
bool claim_holds(const SafeSet& set, const Eigen::VectorXd& parameters,
                 const TaskCertificate& claim);

/// check_safety, and that the certificate is about these parameters and claims no more than holds.
Findings check_certificate(const SafetyView& view, const Certificate& certificate);

}  // namespace lifeguard
