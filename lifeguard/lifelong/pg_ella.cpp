#include "lifeguard/lifelong/pg_ella.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/core/settings.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

std::unique_ptr<PolicyLearner> PgEllaSettings::make(int features, int actions) const {
  return std::make_unique<PgElla>(features, actions, *this);
}

void PgEllaSettings::visit(SettingVisitor& v) {
  v.section("pg_ella", "PG-ELLA (Bou Ammar et al., ICML 2014).");
  round.visit_steps(v);
  v.integer("k", k, Range::at_least(0), "columns", "of its L; 0 means d");
  v.number("sparsity", sparsity, Range::at_least(0), "", "weight of ‖s‖₁");
  v.number("lambda", lambda, Range::above(0), "", "weight of ‖L‖²");
  v.flag("warm_start", warm_start, "a task not yet observed plays the mean of the others");
}

void PgEllaSettings::validate(int parameters) const {
  round.validate();
  check_settings(*this);
  require(k <= parameters, "pg_ella.k", k,
          fmt::format("must be at most {}, the number of policy parameters", parameters));
}

PgElla::PgElla(int features, int actions, const PgEllaSettings& settings)
    : PolicyLearner(features, actions, settings.round), settings_(settings) {
  settings.validate(parameters());
  const int k = settings.k == 0 ? parameters() : settings.k;
  basis_ = Eigen::MatrixXd::Zero(parameters(), k);
  anchors_.resize(parameters(), 0);
  coefficients_.resize(k, 0);
}

void PgElla::append_task(const Eigen::VectorXd& anchor) {
  anchors_.conservativeResize(Eigen::NoChange, tasks() + 1);
  anchors_.col(tasks()) = anchor;
  coefficients_.conservativeResize(Eigen::NoChange, tasks() + 1);
  coefficients_.col(tasks()).setZero();
  expansions_.emplace_back();
}

void PgElla::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  alpha = anchors_.col(task);
  if (observed(task)) {
    alpha += basis_ * coefficients_.col(task);
  } else if (settings_.warm_start) {
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(basis_.cols());
    int count = 0;
    for (int t = 0; t < tasks(); ++t) {
      if (!observed(t)) continue;
      mean += coefficients_.col(t);
      ++count;
    }
    if (count > 0) alpha += basis_ * (mean / count);
  }
}

RoundStatus PgElla::update(int task, const RoundLoss& loss) {
  const Eigen::MatrixXd basis_before = basis_;
  const Eigen::VectorXd coefficients_before = coefficients_.col(task);
  Expansion expansion{loss.curvature, loss.target - anchors_.col(task)};
  std::swap(expansions_[task], expansion);

  reinitialise_zero_columns();
  Eigen::MatrixXd curved(parameters(), basis_.cols());
  for (int j = 0; j < basis_.cols(); ++j) {
    apply_curvature(loss.curvature, basis_.col(j), curved.col(j));
  }
  // ‖α - Ls‖²_Γ + μ‖s‖₁ is twice ½ sᵀHs - hᵀs + (μ/2)‖s‖₁ with H = LᵀΓL and h = LᵀΓα.
  const Eigen::MatrixXd h_matrix = basis_.transpose() * curved;
  const Eigen::VectorXd h_vector = curved.transpose() * expansions_[task].target;
  Eigen::VectorXd s = coefficients_before;
  minimise_lasso(h_matrix, h_vector, 0.5 * settings_.sparsity, s);
  coefficients_.col(task) = s;
  if (update_basis() && coefficients_.allFinite() && basis_.allFinite()) return RoundStatus::ok;

  basis_ = basis_before;
  coefficients_.col(task) = coefficients_before;
  std::swap(expansions_[task], expansion);
  return RoundStatus::singular;
}

void PgElla::reinitialise_zero_columns() {
  // Its authors draw random columns; the unit vectors in turn do as well and need no generator.
  for (int j = 0; j < basis_.cols(); ++j) {
    if (basis_.col(j).isZero(0)) basis_(j, j) = 1.0;
  }
}

Eigen::MatrixXd PgElla::basis_matrix(int action) const {
  const int f = features();
  const int k = static_cast<int>(basis_.cols());
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(f * k, f * k);
  for (int t = 0; t < tasks(); ++t) {
    if (!observed(t)) continue;
    const auto s = coefficients_.col(t);
    for (int j = 0; j < k; ++j) {
      for (int i = j; i < k; ++i) {
        matrix.block(i * f, j * f, f, f) +=
            s(i) * s(j) * action_block(expansions_[t].curvature, action);
      }
    }
  }
  return matrix;
}

bool PgElla::update_basis() {
  // L = mat((A/T + λI)⁻¹ b/T) with A = Σ_t (s_t s_tᵀ) ⊗ Γ_t and b = Σ_t vec(Γ_t α_t s_tᵀ). The
  // system splits into one for each action, with the same matrix where all noises are equal.
  const int f = features();
  const int k = static_cast<int>(basis_.cols());
  Eigen::MatrixXd b_matrix = Eigen::MatrixXd::Zero(f * k, actions());
  Eigen::VectorXd curved(parameters());
  int count = 0;
  for (int t = 0; t < tasks(); ++t) {
    if (!observed(t)) continue;
    ++count;
    const auto s = coefficients_.col(t);
    apply_curvature(expansions_[t].curvature, expansions_[t].target, curved);
    for (int j = 0; j < k; ++j) {
      for (int a = 0; a < actions(); ++a) {
        b_matrix.col(a).segment(j * f, f) += s(j) * curved.segment(a * f, f);
      }
    }
  }
  b_matrix /= count;
  const bool common = std::all_of(expansions_.begin(), expansions_.end(),
                                  [](const Expansion& e) { return has_common_block(e.curvature); });
  const int alike = common ? actions() : 1;  // actions that share a matrix
  for (int a = 0; a < actions(); a += alike) {
    Eigen::MatrixXd a_matrix = basis_matrix(a);
    a_matrix /= count;
    a_matrix.diagonal().array() += settings_.lambda;
    const Eigen::LLT<Eigen::MatrixXd, Eigen::Lower> cholesky(a_matrix);
    if (cholesky.info() != Eigen::Success) return false;
    auto columns = b_matrix.middleCols(a, alike);
    cholesky.solveInPlace(columns);
  }
  for (int a = 0; a < actions(); ++a) {
    basis_.middleRows(a * f, f) = b_matrix.col(a).reshaped(f, k);
  }
  return true;
}

void minimise_lasso(const Eigen::MatrixXd& h_matrix, const Eigen::VectorXd& h_vector,
                    double penalty, Eigen::VectorXd& s) {
  constexpr int kMaximumSweeps = 1000;
  constexpr double kTolerance = 1e-12;
  for (int sweep = 0; sweep < kMaximumSweeps; ++sweep) {
    double largest_change = 0;
    for (Eigen::Index i = 0; i < s.size(); ++i) {
      const double slope = h_vector(i) - h_matrix.col(i).dot(s) + h_matrix(i, i) * s(i);
      const double shrunk = std::max(0.0, std::abs(slope) - penalty);
      const double next = h_matrix(i, i) > 0 ? std::copysign(shrunk, slope) / h_matrix(i, i) : 0.0;
      largest_change = std::max(largest_change, std::abs(next - s(i)));
      s(i) = next;
    }
    if (largest_change <= kTolerance * (1 + s.cwiseAbs().maxCoeff())) return;
  }
}

void PgElla::write_state(std::ostream& out) const {
  StateWriter writer(out);
  write_visits(writer, PgEllaSettings::kMethod);
  writer.field("basis", basis_);
  writer.field("coefficients", coefficients_);
  for (int t = 0; t < tasks(); ++t) {
    writer.field("observed", observed(t));
    if (!observed(t)) continue;
    writer.field("curvature", expansions_[t].curvature);
    writer.field("target", expansions_[t].target);
  }
}

void PgElla::read_state(std::istream& in) {
  StateReader reader(in);
  SavedVisits visits = read_visits(reader, PgEllaSettings::kMethod);
  Eigen::MatrixXd basis = basis_;
  Eigen::MatrixXd coefficients = coefficients_;
  read_matrix(reader, "basis", basis);
  read_matrix(reader, "coefficients", coefficients);
  std::vector<Expansion> expansions(expansions_.size());
  for (Expansion& expansion : expansions) {
    bool was_observed = false;
    reader.field("observed", was_observed);
    if (!was_observed) continue;
    Eigen::MatrixXd target(parameters(), 1);
    reader.field("curvature", expansion.curvature);
    require(are_blocks(expansion.curvature, features(), actions()), "curvature",
            fmt::format("{} x {}", expansion.curvature.rows(), expansion.curvature.cols()),
            fmt::format("must be {0} x {0}, or so for each action", features()));
    read_matrix(reader, "target", target);
    expansion.target = target.col(0);
  }
  restore_visits(std::move(visits));
  basis_ = std::move(basis);
  coefficients_ = std::move(coefficients);
  expansions_ = std::move(expansions);
}

}  // namespace lifeguard
