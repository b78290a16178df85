#include "lifeguard/lifelong/lpg_ftw.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <utility>

#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/core/settings.hpp"
#include "lifeguard/lifelong/objective.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

std::unique_ptr<PolicyLearner> LpgFtwSettings::make(int features, int actions) const {
  return std::make_unique<LpgFtw>(features, actions, *this);
}

void LpgFtwSettings::visit(SettingVisitor& v) {
  v.section("lpg_ftw", "LPG-FTW (Mendez et al., NeurIPS 2020).");
  round.visit_steps(v);
  v.integer("k", k, Range::at_least(1), "columns", "that its L grows to, at most d");
  v.integer("first_tasks", first_tasks, Range::at_least(1), "tasks",
            "that train a column of L each before anything is shared");
  v.number("lambda", lambda, Range::above(0), "", "weight of ‖L‖²");
  v.number("smallest_eigenvalue", smallest_eigenvalue, Range::between(0, 1), "",
           "of a task's curvature, as a share of the mean one; smaller ones are shifted to it");
}

void LpgFtwSettings::validate(int /*parameters*/) const {
  round.validate();
  check_settings(*this);
}

LpgFtw::LpgFtw(int features, int actions, const LpgFtwSettings& settings)
    : PolicyLearner(features, actions, settings.round),
      settings_(settings),
      most_columns_(std::min(settings.k, features * actions)) {
  settings.validate(parameters());
  anchors_.resize(parameters(), 0);
  basis_.resize(parameters(), 0);
  coefficients_.resize(0, 0);
}

void LpgFtw::append_task(const Eigen::VectorXd& anchor) {
  anchors_.conservativeResize(Eigen::NoChange, tasks() + 1);
  anchors_.col(tasks()) = anchor;
  coefficients_.conservativeResize(Eigen::NoChange, tasks() + 1);
  coefficients_.col(tasks()).setZero();
  expansions_.emplace_back();
}

int LpgFtw::observed_tasks() const {
  return static_cast<int>(std::count_if(expansions_.begin(), expansions_.end(),
                                        [](const Expansion& e) { return e.known(); }));
}

Eigen::VectorXd LpgFtw::first_coefficients() const {
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(basis_.cols());
  const int count = observed_tasks();
  // The first tasks start at their anchors.
  if (count < settings_.first_tasks) return mean;
  for (int t = 0; t < tasks(); ++t) {
    if (observed(t)) mean += coefficients_.col(t);
  }
  return mean / count;
}

void LpgFtw::policy_parameters(int task, Eigen::Ref<Eigen::VectorXd> alpha) const {
  alpha = anchors_.col(task);
  if (task == stay_.task) {
    alpha += stay_.direction;
    if (stay_.basis.cols() > 0) alpha += stay_.basis * stay_.coefficients;
  } else if (basis_.cols() > 0) {
    alpha +=
        basis_ * (observed(task) ? Eigen::VectorXd(coefficients_.col(task)) : first_coefficients());
  }
}

LpgFtw::Stay LpgFtw::begin(int task) const {
  Stay stay;
  stay.task = task;
  stay.basis = basis_;
  stay.coefficients =
      observed(task) ? Eigen::VectorXd(coefficients_.col(task)) : first_coefficients();
  stay.direction = Eigen::VectorXd::Zero(parameters());
  stay.training = observed(task) || basis_.cols() >= most_columns_ ? Training::coefficients
                  : observed_tasks() < settings_.first_tasks       ? Training::column
                                                             : Training::coefficients_and_direction;
  return stay;
}

void LpgFtw::train(const RoundLoss& loss, Stay& stay) const {
  const Eigen::MatrixXd& basis = stay.basis;
  const Eigen::Index k = basis.cols();
  Eigen::VectorXd step = loss.target - anchors_.col(stay.task) - stay.direction;
  if (k > 0) step -= basis * stay.coefficients;
  if (stay.training != Training::coefficients) {
    // The natural gradient in (s, ε) moves α as that in α does, since ε reaches everything. Of all
    // (ds, dε) that do, conjugate gradients find the shortest: (Lᵀv, v) with (LLᵀ + I) v = step.
    if (stay.training == Training::column || k == 0) {
      stay.direction += step;
      return;
    }
    Eigen::MatrixXd gram = basis.transpose() * basis;
    gram.diagonal().array() += 1.0;
    const Eigen::VectorXd ds = gram.llt().solve(basis.transpose() * step);
    stay.coefficients += ds;
    stay.direction += step - basis * ds;
    return;
  }
  // In s alone: F_s = LᵀFL and g_s = Lᵀg give the projection of the step onto the span of L.
  if (k == 0) return;
  Eigen::MatrixXd curved(parameters(), k);
  for (Eigen::Index j = 0; j < k; ++j) {
    apply_curvature(loss.curvature, basis.col(j), curved.col(j));
  }
  Eigen::MatrixXd fisher = basis.transpose() * curved;
  if (!(fisher.trace() > 0)) return;
  Eigen::LLT<Eigen::MatrixXd> factor;
  factorise_damped(fisher, settings_.round.base_learner.relative_damping, factor);
  Eigen::VectorXd ds = factor.solve(curved.transpose() * step);
  const double projected = std::sqrt(std::max(0.0, ds.dot(fisher * ds)));
  if (!std::isnan(loss.trust_region) && projected > 0) {
    // A trust region is as wide in s as it is in α; a Newton step is projected.
    Eigen::VectorXd metric(parameters());
    apply_curvature(loss.curvature, step, metric);
    const double whole = std::sqrt(std::max(0.0, step.dot(metric)));
    double length = std::sqrt(2 * loss.radius);
    if (!std::isnan(loss.newton_radius)) {
      length = std::min(length, projected / whole * std::sqrt(2 * loss.newton_radius));
    }
    ds *= loss.shrinkage * length / projected;
  }
  stay.coefficients += ds;
}

Expansion lpg_ftw_quadratic(const RoundLoss& loss, const Eigen::VectorXd& played,
                            double smallest_eigenvalue) {
  // r = α⁺ - played without the shrinkage for noise, and Fr = -step · g for the cost's gradient g
  // in units of advantages. step² gᵀF⁻¹g = δ, so √(2 gᵀF⁻¹g / δ) F = √2 F / step.
  const Eigen::VectorXd step = (loss.target - played) / (loss.shrinkage > 0 ? loss.shrinkage : 1.0);
  Eigen::VectorXd pull(step.size());
  apply_curvature(loss.curvature, step, pull);
  const bool tells_gradient = loss.cost_gradient.size() == step.size();
  const double slope = tells_gradient ? loss.cost_gradient.norm() / loss.cost_unit : kNaN;
  const double published = std::sqrt(2.0) * slope / pull.norm();
  const bool known = std::isfinite(published) && published > 0;

  Expansion quadratic{loss.curvature, step};
  const Eigen::Index width = loss.curvature.cols();
  const Eigen::Index different = different_blocks(loss.curvature);
  const Eigen::Index alike = step.size() / width / different;  // actions that share a block
  for (Eigen::Index b = 0; b < different; ++b) {
    auto block = quadratic.curvature.middleRows(b * width, width);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(block, Eigen::EigenvaluesOnly);
    const double least = smallest_eigenvalue * block.trace() / static_cast<double>(width);
    const double shift = least - solver.eigenvalues()(0);
    if (!(shift > 0)) continue;
    block.diagonal().array() += shift;
    // -(2H)⁻¹g, but for the factor below.
    const Eigen::LLT<Eigen::MatrixXd> factor(block);
    for (Eigen::Index a = b * alike; a < (b + 1) * alike; ++a) {
      quadratic.target.segment(a * width, width) = factor.solve(pull.segment(a * width, width));
    }
  }
  if (known) {
    quadratic.curvature *= published;
    quadratic.target /= std::sqrt(2.0);
  }
  quadratic.target += played;
  return quadratic;
}

Expansion LpgFtw::expansion(int task, const RoundLoss& loss, const Eigen::VectorXd& played) const {
  Expansion quadratic =
      lpg_ftw_quadratic(loss, loss.played.size() == loss.target.size() ? loss.played : played,
                        settings_.smallest_eigenvalue);
  quadratic.target -= anchors_.col(task);
  return quadratic;
}

LpgFtw::Factors LpgFtw::end(const Stay& stay) const {
  const Eigen::Index k = stay.basis.cols();
  const double length = stay.direction.norm();
  const bool grows = length > 0;
  Factors ended;
  ended.basis.resize(parameters(), k + (grows ? 1 : 0));
  ended.coefficients.setZero(ended.basis.cols(), tasks());
  if (k > 0) {
    ended.basis.leftCols(k) = stay.basis;
    ended.coefficients.topRows(k) = coefficients_.topRows(k);
    ended.coefficients.col(stay.task).head(k) = stay.coefficients;
  }
  if (grows) {
    // ε becomes as long as the columns are on average, and α_t stays what it is.
    double column_length = length;
    if (stay.training == Training::coefficients_and_direction && k > 0) {
      const double mean = stay.basis.colwise().norm().mean();
      if (mean > 0) column_length = mean;
    }
    ended.basis.col(k) = stay.direction * (column_length / length);
    ended.coefficients(k, stay.task) = length / column_length;
  }
  return ended;
}

RoundStatus LpgFtw::update(int task, const RoundLoss& loss) {
  Eigen::VectorXd played(parameters());
  policy_parameters(task, played);
  Stay stay = task == stay_.task ? stay_ : begin(task);
  train(loss, stay);
  Factors ended = end(stay);
  Expansion next = expansion(task, loss, played);
  std::swap(expansions_[task], next);
  const bool solved = stay.training == Training::column || ended.basis.cols() == 0 ||
                      fit_basis(expansions_, ended.coefficients, settings_.lambda, features(),
                                actions(), ended.basis);
  if (solved && stay.coefficients.allFinite() && stay.direction.allFinite() &&
      expansions_[task].curvature.allFinite() && expansions_[task].target.allFinite() &&
      ended.basis.allFinite() && ended.coefficients.allFinite()) {
    stay_ = std::move(stay);
    basis_ = std::move(ended.basis);
    coefficients_ = std::move(ended.coefficients);
    return RoundStatus::ok;
  }
  std::swap(expansions_[task], next);
  return RoundStatus::singular;
}

void LpgFtw::write_state(std::ostream& out) const {
  StateWriter writer(out);
  write_visits(writer, LpgFtwSettings::kMethod);
  writer.field("basis", basis_);
  writer.field("coefficients", coefficients_);
  write_expansions(writer, expansions_);
  writer.field("stay", stay_.task);
  if (stay_.task < 0) return;
  writer.field("training", static_cast<int>(stay_.training));
  writer.field("stay basis", stay_.basis);
  writer.field("stay coefficients", stay_.coefficients);
  writer.field("direction", stay_.direction);
}

void LpgFtw::read_state(std::istream& in) {
  StateReader reader(in);
  SavedVisits visits = read_visits(reader, LpgFtwSettings::kMethod);
  const auto require_columns = [&](std::string_view name, const Eigen::MatrixXd& basis) {
    require(basis.rows() == parameters() && basis.cols() <= most_columns_, name,
            fmt::format("{} x {}", basis.rows(), basis.cols()),
            fmt::format("must be {} x at most {}", parameters(), most_columns_));
  };
  Eigen::MatrixXd basis;
  reader.field("basis", basis);
  require_columns("basis", basis);
  Eigen::MatrixXd coefficients(basis.cols(), tasks());
  read_matrix(reader, "coefficients", coefficients);
  std::vector<Expansion> expansions = read_expansions(reader, tasks(), features(), actions());
  Stay stay;
  reader.field("stay", stay.task);
  require(stay.task >= -1 && stay.task < tasks(), "stay", stay.task, "must be a task's place");
  if (stay.task >= 0) {
    int training = 0;
    reader.field("training", training);
    require(training >= 0 && training <= 2, "training", training, "must be 0, 1 or 2");
    stay.training = static_cast<Training>(training);
    reader.field("stay basis", stay.basis);
    require_columns("stay basis", stay.basis);
    const bool may_grow = stay.training != Training::coefficients;
    require(
        stay.basis.cols() <= basis.cols() && basis.cols() - stay.basis.cols() <= (may_grow ? 1 : 0),
        "stay basis", static_cast<int>(stay.basis.cols()), "must fit the basis");
    reader.field("stay coefficients", stay.coefficients);
    require_size("stay coefficients", stay.coefficients.size(), stay.basis.cols());
    reader.field("direction", stay.direction);
    require_size("direction", stay.direction.size(), parameters());
    require(may_grow ? stay.basis.cols() < most_columns_ : stay.direction.isZero(0), "direction",
            "(another column)", "must be one that the stay trains");
    require(expansions[static_cast<std::size_t>(stay.task)].known(), "stay", stay.task,
            "must be a task that was observed");
  }
  restore_visits(std::move(visits));
  basis_ = std::move(basis);
  coefficients_ = std::move(coefficients);
  expansions_ = std::move(expansions);
  stay_ = std::move(stay);
}

}  // namespace lifeguard
