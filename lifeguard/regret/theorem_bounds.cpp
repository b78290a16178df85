#include "lifeguard/regret/theorem_bounds.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

// A base learner may have damped the curvature by this part of its mean diagonal.
constexpr double kDamping = 1 + 1e-5;

struct Largest {
  double feature = 0;  // max ‖Φ‖
  double action = 0;   // max ‖u‖
};

/// The largest length over all steps of what has `columns` rows at each step.
template <class Row>
double largest_length(const Trajectories& t, int columns, const Row& row) {
  Eigen::ArrayXd squares(t.count());
  double largest = 0;
  for (int m = 0; m < t.steps(); ++m) {
    squares.setZero();
    for (int c = 0; c < columns; ++c) {
      squares += Eigen::Map<const Eigen::ArrayXd>(row(m, c), t.count()).square();
    }
    largest = std::max(largest, squares.maxCoeff());
  }
  return std::sqrt(largest);
}

Largest largest(const Trajectories& t) {
  return {largest_length(t, t.features(), [&](int m, int f) { return t.feature_row(m, f); }),
          largest_length(t, t.actions(), [&](int m, int a) { return t.action_row(m, a); })};
}

/// ‖A⁺‖ = 1/σ_min(A), infinite without full column rank.
double pseudo_inverse_norm(const SafeSet& set) {
  if (set.rows() < set.parameters()) return kInfinity;
  const Eigen::VectorXd values =
      Eigen::JacobiSVD<Eigen::MatrixXd>(set.coefficients()).singularValues();
  const double least = values(values.size() - 1);
  return least > 1e-12 * values(0) ? 1 / least : kInfinity;
}

}  // namespace

void TheoremSettings::validate() const {
  require_positive("p", p);
  require(q >= p && std::isfinite(q), "q", q, "must be finite and at least p");
  require_positive("mu1", mu1);
  require_positive("mu2", mu2);
  require_positive("zeta", zeta);
}

double policy_norm_bound(const SafeSet& set) {
  if (!set.has_slack_limit()) return kInfinity;
  return pseudo_inverse_norm(set) * (set.limits().norm() + set.slack_limit());
}

bool LemmaValues::hold() const {
  return std::all_of(kLemmas.begin(), kLemmas.end(),
                     [&](auto lemma) { return (this->*lemma).measured <= (this->*lemma).bound; });
}

TheoremBounds::TheoremBounds(const TheoremSettings& settings) : settings_(settings) {
  settings.validate();
}

void TheoremBounds::add_task(const SafeSet& set, const Eigen::VectorXd& anchor) {
  require_size("anchor", anchor.size(), set.parameters());
  ++tasks_;
  parameters_ = set.parameters();
  policy_norm_ = std::max(policy_norm_, policy_norm_bound(set));
  anchor_norm_ = std::max(anchor_norm_, anchor.norm());
  const double inverse = pseudo_inverse_norm(set);
  const double square =
      inverse * inverse * (set.limits().squaredNorm() + set.slack_limit() * set.slack_limit());
  printed_square_norm_ = std::max(printed_square_norm_, square);
}

LemmaValues TheoremBounds::evaluate(int task, const RoundLoss& loss,
                                    const Trajectories& trajectories, const PerAction& sigma,
                                    const Knowledge& played) const {
  require(task >= 0 && task < tasks_, "task", task, "must be one that was added");
  require_size("played.tasks", played.tasks(), tasks_);
  require_size("loss.target", loss.target.size(), played.parameters());
  require_positive("sigma", sigma);
  const double d = played.parameters();
  const double k = played.basis_size();
  const double p = settings_.p;
  const double q = settings_.q;
  const Largest data = largest(trajectories);
  const double steps = trajectories.steps();
  // No block of the curvature is larger than that of the action with the least noise.
  const double precision = 1 / (sigma.least() * sigma.least());
  const Eigen::VectorXd alpha = played.policy_parameters(task);
  const Eigen::VectorXd gradient = loss.gradient(alpha);
  const double reach = policy_norm_ + anchor_norm_;  // bounds ‖L s_t‖ = ‖α_t - ᾱ_t‖

  LemmaValues v;
  // Lemma 1.
  const double curvature = kDamping * steps * precision * data.feature * data.feature;
  v.policy_gradient.measured = gradient.norm();
  v.policy_gradient.bound = curvature * (loss.target.norm() + policy_norm_);
  const double printed_core =
      precision * (data.action + policy_norm_ * data.feature) * data.feature;
  v.policy_gradient.printed = steps * printed_core;
  // Lemma 2. ∂l/∂L = g s_tᵀ and ∂l/∂s_t = Lᵀg.
  const Eigen::VectorXd s = played.coefficients.col(task);
  const Eigen::VectorXd coefficient_gradient = played.basis.transpose() * gradient;
  const double g = gradient.norm();
  v.knowledge_gradient.measured =
      std::sqrt(g * g * s.squaredNorm() + coefficient_gradient.squaredNorm());
  const double chain = std::sqrt(reach * reach / p + q);
  v.knowledge_gradient.bound = g * chain;
  v.knowledge_gradient.printed =
      g * std::sqrt(q * d * (2 * d / (p * p) * printed_square_norm_ + 1));
  // Lemma 3.
  const double squares = played.basis.squaredNorm() + played.coefficients.squaredNorm();
  v.knowledge.measured = std::sqrt(squares);
  v.gamma2 = std::sqrt(q * k + tasks_ * reach * reach / p);
  v.knowledge.bound = v.gamma2;
  const double share = policy_norm_ * policy_norm_ / (p * p);
  v.knowledge.printed = std::sqrt(q * d * (1 + tasks_ * share));
  // Lemma 4. f̂ = (∇_θ l, l - ∇_θ l · θ).
  const double value = loss.value(alpha);
  const double inner = gradient.dot(played.basis * s) + coefficient_gradient.dot(s);
  v.linearised.measured = std::hypot(v.knowledge_gradient.measured, value - inner);
  v.gamma1 = v.policy_gradient.bound * chain;
  const double span = loss.target.norm() + policy_norm_;
  v.delta = std::abs(loss.constant) + 0.5 * curvature * span * span;
  v.linearised.bound = v.gamma1 * (1 + v.gamma2) + v.delta;
  v.printed_gamma1 = printed_core / trajectories.count() *
                     (d / p * std::sqrt(2 * q * printed_square_norm_) + std::sqrt(q * d));
  v.printed_gamma2 = std::sqrt(q * d) + std::sqrt(tasks_) * std::sqrt(1 + share);
  v.linearised.printed = v.printed_gamma1 * (1 + v.printed_gamma2) + v.delta;

  v.excess = loss.status == RoundLossStatus::no_signal ? 0.0 : value - loss.constant;
  return v;
}

void TheoremBounds::add(const LemmaValues& v, int basis_size) {
  basis_size_ = basis_size;
  ++report_.rounds;
  for (std::size_t i = 0; i < kLemmas.size(); ++i) {
    const BoundedQuantity& lemma = v.*kLemmas[i];
    if (lemma.measured == 0) continue;  // 0 / 0 is no violation
    report_.worst_ratios[i] = std::max(report_.worst_ratios[i], lemma.measured / lemma.bound);
    report_.printed_ratios[i] = std::max(report_.printed_ratios[i], lemma.measured / lemma.printed);
  }
  report_.gamma1 = std::max(report_.gamma1, v.gamma1);
  report_.gamma2 = std::max(report_.gamma2, v.gamma2);
  printed_gamma1_ = std::max(printed_gamma1_, v.printed_gamma1);
  delta_ = std::max(delta_, v.delta);
  gamma1_squares_ += v.gamma1 * v.gamma1;
  report_.excess += v.excess;
}

TheoremReport TheoremBounds::report(double eta) const {
  require_positive("eta", eta);
  TheoremReport result = report_;
  const double d = parameters_;
  const double p = settings_.p;
  const double q = settings_.q;
  const double rounds = static_cast<double>(report_.rounds);
  const double k = basis_size_;
  // (γ₁(1 + γ₂) + δ)² ≤ γ₃ + 4 γ₁² γ₂² ≤ γ₅ T, nothing left out.
  result.gamma3 = 4 * result.gamma1 * result.gamma1 + 2 * delta_ * delta_;
  const double product = result.gamma1 * result.gamma2;
  result.gamma5 = (result.gamma3 + 4 * product * product) / std::max(1, tasks_);
  result.printed_gamma5 =
      8 * d / (p * p) * q * printed_gamma1_ * printed_gamma1_ * policy_norm_ * policy_norm_;
  const double reach = policy_norm_ + anchor_norm_;
  const double farthest = settings_.mu2 * q * k + settings_.mu1 * tasks_ * reach * reach / p;
  const double start = settings_.mu2 * k * settings_.zeta * settings_.zeta;
  const double least_weight = std::min(settings_.mu1, settings_.mu2);
  result.regret_bound = (farthest - start) / eta + eta / (4 * least_weight) * gamma1_squares_;
  const double printed = result.printed_gamma5 * tasks_;
  result.printed_regret_bound =
      eta * rounds * printed + (q * d + printed - settings_.mu2 * k * settings_.zeta) / eta;
  return result;
}

}  // namespace lifeguard
