#include "lifeguard/safety/solve/safe_coefficients.hpp"

#include "lifeguard/core/numbers.hpp"

namespace lifeguard {

namespace {

// Rows this near to their bound at the start are expected to bind again.
constexpr double kExpectedToBind = 1e-6;

}  // namespace

void corrupt(ProjectionFault fault, Eigen::Ref<Eigen::MatrixXd> values) {
  if (fault == ProjectionFault::not_finite) {
    values.setConstant(kNaN);
  } else if (fault == ProjectionFault::unsafe) {
    values.array() += 1e3;
  }
}

void SafeCoefficients::set_basis(const Eigen::MatrixXd& basis) {
  basis_ = &basis;
  basis_length_ = rounded_up_length(basis);
}

SafeCoefficients::Answer SafeCoefficients::solve(const ProjectionTask& task,
                                                 const TightenedTask& tightened,
                                                 const Eigen::Ref<const Eigen::VectorXd>& target,
                                                 ProjectionFault fault,
                                                 Eigen::Ref<Eigen::VectorXd> coefficients) {
  Answer answer;
  const Eigen::VectorXd& bounds = *tightened.bounds;
  policy_.noalias() = *basis_ * target;
  image_.noalias() = task.rows() * policy_;
  if ((image_.array() <= bounds.array()).all() &&
      (!task.has_ball() || (bounds - image_).norm() <= tightened.slack_limit)) {
    answer.path = CoefficientPath::inside;
    coefficients = target;
  } else if (fault == ProjectionFault::failure) {
    answer.path = CoefficientPath::scaled;
    coefficients = longest_scale(image_, bounds, tightened.slack_limit) * target;
  } else {
    memory_.active_rows.clear();
    policy_.noalias() = *basis_ * coefficients;
    image_.noalias() = task.rows() * policy_;
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      if (image_[i] >= bounds[i] * (1 - kExpectedToBind)) {
        memory_.active_rows.push_back(static_cast<int>(i));
      }
    }
    b_rows_.noalias() = task.rows() * *basis_;
    answer.path =
        step_.solve(b_rows_, bounds, tightened.slack_limit, target, memory_, coefficients);
    answer.iterations = step_.iterations();
    // In thin sets and for long s the rounding errors exceed the margin: solve once more with room
    // for them, since scaling back would cost far more.
    if (answer.path != CoefficientPath::scaled && coefficients.allFinite() &&
        !margin(task, coefficients).safe() &&
        make_room(task, tightened, basis_length_ * coefficients.norm())) {
      answer.path =
          step_.solve(b_rows_, roomy_bounds_, roomy_slack_limit_, target, memory_, coefficients);
      answer.iterations += step_.iterations();
    }
  }
  corrupt(fault, coefficients);
  answer.retraction = retract(task, coefficients);
  return answer;
}

// Bounds with room for twice the rounding errors of an s with ‖L‖_F ‖s‖ = reach. False when that is
// most of the bounds.
bool SafeCoefficients::make_room(const ProjectionTask& task, const TightenedTask& tightened,
                                 double reach) {
  const Eigen::VectorXd& bounds = *tightened.bounds;
  const double error = rounding_bound(task.anchor().size(), basis_->cols(), reach);
  roomy_bounds_ = bounds - 2 * error * task.row_lengths();
  if (!(roomy_bounds_.array() > 0.5 * bounds.array()).all()) return false;
  roomy_slack_limit_ = tightened.slack_limit;
  if (!task.has_ball()) return true;
  roomy_slack_limit_ -= 4 * error * task.row_lengths().norm();
  return roomy_slack_limit_ > roomy_bounds_.norm();
}

// Scales coefficients towards 0, where the anchor is, until the verifier accepts them.
double SafeCoefficients::retract(const ProjectionTask& task,
                                 Eigen::Ref<Eigen::VectorXd> coefficients) {
  if (!coefficients.allFinite()) {
    coefficients.setZero();
    return 0;
  }
  if (margin(task, coefficients).safe()) return 1;
  policy_.noalias() = *basis_ * coefficients;
  image_.noalias() = task.rows() * policy_;
  const double longest = longest_scale(image_, task.reduced(), task.slack_limit());
  wanted_ = coefficients;
  for (double back = 1e-12; back < 1; back *= 4) {
    const double factor = longest * (1 - back);
    coefficients = factor * wanted_;
    if (margin(task, coefficients).safe()) return factor;
  }
  coefficients.setZero();
  return 0;
}

}  // namespace lifeguard
