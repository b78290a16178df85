#include "lifeguard/lifelong/pg_ella.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/core/settings.hpp"
#include "lifeguard/lifelong/objective.hpp"

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
  if (fit_basis(expansions_, coefficients_, settings_.lambda, features(), actions(), basis_) &&
      coefficients_.allFinite() && basis_.allFinite()) {
    return RoundStatus::ok;
  }

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
  write_expansions(writer, expansions_);
}

void PgElla::read_state(std::istream& in) {
  StateReader reader(in);
  SavedVisits visits = read_visits(reader, PgEllaSettings::kMethod);
  Eigen::MatrixXd basis = basis_;
  Eigen::MatrixXd coefficients = coefficients_;
  read_matrix(reader, "basis", basis);
  read_matrix(reader, "coefficients", coefficients);
  std::vector<Expansion> expansions = read_expansions(reader, tasks(), features(), actions());
  restore_visits(std::move(visits));
  basis_ = std::move(basis);
  coefficients_ = std::move(coefficients);
  expansions_ = std::move(expansions);
}

}  // namespace lifeguard
