#include "lifeguard/lifelong/objective.hpp"

#include "lifeguard/policy/action_blocks.hpp"

namespace lifeguard {

void apply_curvature(const Eigen::MatrixXd& curvature, Eigen::Ref<const Eigen::VectorXd> alpha,
                     Eigen::Ref<Eigen::VectorXd> out) {
  const Eigen::Index features = curvature.cols();
  for (Eigen::Index start = 0; start < alpha.size(); start += features) {
    out.segment(start, features).noalias() =
        action_block(curvature, start / features) * alpha.segment(start, features);
  }
}

namespace {

/// ∇q_t at α_t.
Eigen::VectorXd residual(const SummedLoss& loss, const Eigen::VectorXd& alpha) {
  Eigen::VectorXd gradient(alpha.size());
  apply_curvature(loss.curvature, alpha, gradient);
  return gradient - loss.linear;
}

}  // namespace

double objective(const RegularisationSettings& settings, const std::vector<SummedLoss>& losses,
                 const Knowledge& knowledge) {
  double sum = settings.mu2 * knowledge.basis.squaredNorm();
  if (knowledge.tasks() == 0) return sum;
  for (int t = 0; t < knowledge.tasks(); ++t) {
    const SummedLoss& loss = losses[t];
    const Eigen::VectorXd alpha = knowledge.policy_parameters(t);
    // ½ αᵀΓα - γᵀα = ½ αᵀ(Γα - γ) - ½ γᵀα.
    sum += 0.5 * settings.eta * alpha.dot(residual(loss, alpha) - loss.linear);
  }
  const Eigen::VectorXd mean = knowledge.coefficients.rowwise().mean();
  const double deviation = (knowledge.coefficients.colwise() - mean).squaredNorm();
  return sum +
         settings.mu1 * (deviation + settings.mean_weight * knowledge.tasks() * mean.squaredNorm());
}

Eigen::MatrixXd basis_gradient(const RegularisationSettings& settings,
                               const std::vector<SummedLoss>& losses, const Knowledge& knowledge) {
  Eigen::MatrixXd gradient = 2 * settings.mu2 * knowledge.basis;
  for (int t = 0; t < knowledge.tasks(); ++t) {
    const Eigen::VectorXd task_gradient = residual(losses[t], knowledge.policy_parameters(t));
    gradient += settings.eta * task_gradient * knowledge.coefficients.col(t).transpose();
  }
  return gradient;
}

Eigen::MatrixXd coefficient_gradient(const RegularisationSettings& settings,
                                     const std::vector<SummedLoss>& losses,
                                     const Knowledge& knowledge) {
  if (knowledge.tasks() == 0) return knowledge.coefficients;
  const Eigen::VectorXd mean = knowledge.coefficients.rowwise().mean();
  Eigen::MatrixXd gradient =
      2 * settings.mu1 * (knowledge.coefficients.colwise() - (1 - settings.mean_weight) * mean);
  for (int t = 0; t < knowledge.tasks(); ++t) {
    const Eigen::VectorXd task_gradient = residual(losses[t], knowledge.policy_parameters(t));
    gradient.col(t) += settings.eta * knowledge.basis.transpose() * task_gradient;
  }
  return gradient;
}

}  // namespace lifeguard
