#include "lifeguard/lifelong/alternation.hpp"

#include <Eigen/Cholesky>

#include <algorithm>

#include "lifeguard/core/check.hpp"
#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

namespace {

using InPlaceCholesky = Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>>;

/// The rate of a step from the present point along -direction: gᵀp / pᵀHp reaches the minimum.
double step_rate(const AlternationSettings& settings, double slope, double curvature, long round) {
  if (settings.rate == StepRate::decaying) {
    return settings.rate_scale / static_cast<double>(round);
  }
  return curvature > 0 ? slope / curvature : 0.0;
}

}  // namespace

Alternation::Alternation(int features, int actions, int basis_size)
    : features_(features), actions_(actions), basis_size_(basis_size) {
  const int block = features * basis_size;
  basis_system_.resize(block, block);
  basis_factor_.resize(block, block);
  basis_gradient_.resize(block, actions);
  basis_direction_.resize(block, actions);
  basis_product_.resize(block, actions);
  curved_basis_.resize(features * actions, basis_size);
  task_system_.resize(basis_size, basis_size);
  mean_system_.resize(basis_size, basis_size);
  task_inverse_.resize(basis_size, basis_size);
  mean_.resize(basis_size);
  mean_product_.resize(basis_size);
  alpha_.resize(features * actions);
}

AlternationStatus Alternation::update(const AlternationSettings& settings,
                                      const RegularisationSettings& regularisation,
                                      const std::vector<SummedLoss>& losses, int task, long round,
                                      Knowledge& knowledge) {
  prepare(losses, knowledge);
  for (int i = 0; i < settings.alternations; ++i) {
    // With S = 0, as Algorithm 1 starts, no loss depends on L and the minimum in L is 0, from which
    // neither block can leave: the paper's order would stay there forever. S goes first then.
    const bool basis_matters = !knowledge.coefficients.isZero(0);
    if (basis_matters &&
        update_basis(settings, regularisation, losses, round, knowledge) != AlternationStatus::ok) {
      return AlternationStatus::singular;
    }
    const bool jointly = settings.step == BlockStep::closed_form && settings.all_coefficients;
    const AlternationStatus status =
        jointly ? minimise_coefficients(regularisation, losses, knowledge)
                : step_coefficients(settings, regularisation, losses, task, round, knowledge);
    if (status != AlternationStatus::ok) return status;
  }
  return AlternationStatus::ok;
}

void Alternation::prepare(const std::vector<SummedLoss>& losses, const Knowledge& knowledge) {
  const int tasks = knowledge.tasks();
  if (offsets_.cols() != tasks) {
    offsets_.resize(knowledge.parameters(), tasks);
    step_.resize(basis_size_, tasks);
    gradient_.resize(basis_size_, tasks);
  }
  for (int t = 0; t < tasks; ++t) {
    apply_curvature(losses[t].curvature, knowledge.anchors.col(t), offsets_.col(t));
    offsets_.col(t) = losses[t].linear - offsets_.col(t);
  }
}

void Alternation::basis_system(const RegularisationSettings& regularisation,
                               const std::vector<SummedLoss>& losses, const Knowledge& knowledge,
                               int action) {
  basis_system_.setZero();
  for (int t = 0; t < knowledge.tasks(); ++t) {
    const auto s = knowledge.coefficients.col(t);
    for (int j = 0; j < basis_size_; ++j) {
      for (int i = j; i < basis_size_; ++i) {
        basis_system_.block(i * features_, j * features_, features_, features_) +=
            (regularisation.eta * s(i) * s(j)) * action_block(losses[t].curvature, action);
      }
    }
  }
  basis_system_.diagonal().array() += 2 * regularisation.mu2;
}

AlternationStatus Alternation::update_basis(const AlternationSettings& settings,
                                            const RegularisationSettings& regularisation,
                                            const std::vector<SummedLoss>& losses, long round,
                                            Knowledge& knowledge) {
  // v_L, and the lower triangle of Z_L of one action after the other, or of all at once where they
  // share it. vec(L_a) stacks the k columns of the block of action a.
  basis_product_.setZero();  // v_L
  for (int t = 0; t < knowledge.tasks(); ++t) {
    const auto s = knowledge.coefficients.col(t);
    for (int j = 0; j < basis_size_; ++j) {
      for (int a = 0; a < actions_; ++a) {
        basis_product_.col(a).segment(j * features_, features_) +=
            (regularisation.eta * s(j)) * offsets_.col(t).segment(a * features_, features_);
      }
    }
  }
  for (int a = 0; a < actions_; ++a) {
    for (int j = 0; j < basis_size_; ++j) {
      basis_direction_.col(a).segment(j * features_, features_) =
          knowledge.basis.col(j).segment(a * features_, features_);
    }
  }
  const bool common = std::all_of(losses.begin(), losses.end(), [](const SummedLoss& loss) {
    return has_common_block(loss.curvature);
  });
  const int alike = common ? actions_ : 1;  // actions that share a matrix
  double slope = 0;
  double curvature = 0;
  for (int a = 0; a < actions_; a += alike) {
    basis_system(regularisation, losses, knowledge, a);
    auto gradient = basis_gradient_.middleCols(a, alike);
    auto direction = basis_direction_.middleCols(a, alike);
    auto product = basis_product_.middleCols(a, alike);
    gradient.noalias() = basis_system_.selfadjointView<Eigen::Lower>() * direction;
    gradient -= product;
    direction = gradient;
    if (settings.step != BlockStep::gradient) {
      basis_factor_ = basis_system_;
      const InPlaceCholesky cholesky(basis_factor_);
      if (cholesky.info() != Eigen::Success) return AlternationStatus::singular;
      cholesky.solveInPlace(direction);
    }
    if (settings.step != BlockStep::closed_form) {
      slope += gradient.cwiseProduct(direction).sum();
      product.noalias() = basis_system_.selfadjointView<Eigen::Lower>() * direction;
      curvature += direction.cwiseProduct(product).sum();
    }
  }
  const double rate =
      settings.step == BlockStep::closed_form ? 1.0 : step_rate(settings, slope, curvature, round);
  for (int a = 0; a < actions_; ++a) {
    for (int j = 0; j < basis_size_; ++j) {
      knowledge.basis.col(j).segment(a * features_, features_) -=
          rate * basis_direction_.col(a).segment(j * features_, features_);
    }
  }
  return AlternationStatus::ok;
}

void Alternation::coefficient_system(const RegularisationSettings& regularisation,
                                     const SummedLoss& loss, const Knowledge& knowledge) {
  for (int a = 0; a < actions_; ++a) {
    curved_basis_.middleRows(a * features_, features_).noalias() =
        action_block(loss.curvature, a) * knowledge.basis.middleRows(a * features_, features_);
  }
  task_system_.noalias() = knowledge.basis.transpose() * curved_basis_;
  task_system_ *= regularisation.eta;
  task_system_.diagonal().array() += 2 * regularisation.mu1;
}

AlternationStatus Alternation::minimise_coefficients(const RegularisationSettings& regularisation,
                                                     const std::vector<SummedLoss>& losses,
                                                     Knowledge& knowledge) {
  // With Z_t = η LᵀΓ_t L + 2μ₁ I and v_t = η Lᵀ(γ_t - Γ_t ᾱ_t), stationarity is
  //   s_t = Z_t⁻¹ (v_t + 2μ₁(1 - κ) s̄),   s̄ = (1/T) Σ_t s_t,
  // so that s̄ solves (T I - 2μ₁(1 - κ) Σ_t Z_t⁻¹) s̄ = Σ_t Z_t⁻¹ v_t, whose matrix is at least
  // κ T I because Z_t is at least 2μ₁ I. `step_` keeps Z_t⁻¹ v_t; Z_t⁻¹ is computed twice rather
  // than kept for all tasks.
  const int tasks = knowledge.tasks();
  const double pull = 2 * regularisation.mu1 * (1 - regularisation.mean_weight);
  mean_system_.setIdentity();
  mean_system_ *= tasks;
  mean_.setZero();
  for (int t = 0; t < tasks; ++t) {
    coefficient_system(regularisation, losses[t], knowledge);
    const InPlaceCholesky cholesky(task_system_);
    if (cholesky.info() != Eigen::Success) return AlternationStatus::singular;
    task_inverse_.setIdentity();
    cholesky.solveInPlace(task_inverse_);
    mean_system_ -= pull * task_inverse_;
    mean_product_.noalias() = knowledge.basis.transpose() * offsets_.col(t);
    step_.col(t).noalias() = regularisation.eta * (task_inverse_ * mean_product_);
    mean_ += step_.col(t);
  }
  {
    const InPlaceCholesky cholesky(mean_system_);
    if (cholesky.info() != Eigen::Success) return AlternationStatus::singular;
    cholesky.solveInPlace(mean_);
  }
  for (int t = 0; t < tasks; ++t) {
    coefficient_system(regularisation, losses[t], knowledge);
    const InPlaceCholesky cholesky(task_system_);
    mean_product_ = pull * mean_;
    cholesky.solveInPlace(mean_product_);
    knowledge.coefficients.col(t) = step_.col(t) + mean_product_;
  }
  return AlternationStatus::ok;
}

AlternationStatus Alternation::step_coefficients(const AlternationSettings& settings,
                                                 const RegularisationSettings& regularisation,
                                                 const std::vector<SummedLoss>& losses, int task,
                                                 long round, Knowledge& knowledge) {
  const int tasks = knowledge.tasks();
  const double pull = 2 * regularisation.mu1 * (1 - regularisation.mean_weight);
  const int first = settings.all_coefficients ? 0 : task;
  const int last = settings.all_coefficients ? tasks : task + 1;
  mean_ = knowledge.coefficients.rowwise().mean();
  double slope = 0;
  double curvature = 0;
  mean_product_.setZero();  // Σ of the directions: the mean moves by a T-th of it
  for (int t = first; t < last; ++t) {
    coefficient_system(regularisation, losses[t], knowledge);
    const auto s = knowledge.coefficients.col(t);
    alpha_ = offsets_.col(t);
    gradient_.col(t).noalias() = task_system_ * s;
    gradient_.col(t).noalias() -= regularisation.eta * (knowledge.basis.transpose() * alpha_);
    gradient_.col(t) -= pull * mean_;
    step_.col(t) = gradient_.col(t);
    // The minimum in s_t alone moves the mean with it by a T-th.
    if (!settings.all_coefficients) task_system_.diagonal().array() -= pull / tasks;
    task_inverse_ = task_system_;
    if (settings.step != BlockStep::gradient) {
      const InPlaceCholesky cholesky(task_inverse_);
      if (cholesky.info() != Eigen::Success) return AlternationStatus::singular;
      auto column = step_.col(t);
      cholesky.solveInPlace(column);
    }
    slope += gradient_.col(t).dot(step_.col(t));
    alpha_.head(basis_size_).noalias() = task_system_ * step_.col(t);
    curvature += step_.col(t).dot(alpha_.head(basis_size_));
    mean_product_ += step_.col(t);
  }
  if (settings.all_coefficients) curvature -= pull / tasks * mean_product_.squaredNorm();
  const double rate =
      settings.step == BlockStep::closed_form ? 1.0 : step_rate(settings, slope, curvature, round);
  for (int t = first; t < last; ++t) knowledge.coefficients.col(t) -= rate * step_.col(t);
  return AlternationStatus::ok;
}

}  // namespace lifeguard
