#include "lifeguard/safety/solve/safe_coefficients.hpp"

#include <algorithm>
#include <cmath>

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

SafeCoefficients::Answer SafeCoefficients::solve(const std::vector<ProjectionTask>& tasks,
                                                 TightenedTasks& tightened, std::size_t task,
                                                 const Eigen::Ref<const Eigen::VectorXd>& target,
                                                 ProjectionFault fault,
                                                 const Eigen::Ref<Eigen::VectorXd>& coefficients) {
  const ProjectionTask& of = tasks[task];
  Answer answer = solve_rows(of, tightened[task], target, fault, coefficients);
  if (!of.inequalities().empty() && fault != ProjectionFault::failure) {
    const CurvedConstraints curved = curved_constraints(of);
    for (int step = 0; step < kMostCuttingSteps && coefficients.allFinite(); ++step) {
      policy_ = of.anchor() + *basis_ * coefficients;
      if (curved.largest_ratio(policy_) <= 1 + kRatioTolerance) break;
      tightened.cut(task, policy_);
      const Answer next = solve_rows(of, tightened[task], target, fault, coefficients);
      answer = {next.path, 1, answer.iterations + next.iterations};
      if (next.path == CoefficientPath::scaled) break;
    }
  }
  corrupt(fault, coefficients);
  answer.retraction = retract(of, coefficients);
  return answer;
}

// The step among rows, not yet verified.
SafeCoefficients::Answer SafeCoefficients::solve_rows(
    const ProjectionTask& task, const TightenedTask& tightened,
    const Eigen::Ref<const Eigen::VectorXd>& target, ProjectionFault fault,
    Eigen::Ref<Eigen::VectorXd> coefficients) {
  Answer answer;
  const Eigen::MatrixXd& rows = *tightened.rows;
  const Eigen::VectorXd& bounds = *tightened.bounds;
  policy_.noalias() = *basis_ * target;
  image_.noalias() = rows * policy_;
  if ((image_.array() <= bounds.array()).all() &&
      (!std::isfinite(tightened.slack_limit) ||
       (bounds - image_).norm() <= tightened.slack_limit)) {
    answer.path = CoefficientPath::inside;
    coefficients = target;
  } else if (fault == ProjectionFault::failure) {
    answer.path = CoefficientPath::scaled;
    coefficients = longest_scale(image_, bounds, tightened.slack_limit) * target;
  } else {
    memory_.active_rows.clear();
    policy_.noalias() = *basis_ * coefficients;
    image_.noalias() = rows * policy_;
    for (Eigen::Index i = 0; i < image_.size(); ++i) {
      if (image_[i] >= bounds[i] * (1 - kExpectedToBind)) {
        memory_.active_rows.push_back(static_cast<int>(i));
      }
    }
    b_rows_.noalias() = rows * *basis_;
    answer.path =
        step_.solve(b_rows_, bounds, tightened.slack_limit, target, memory_, coefficients);
    answer.iterations = step_.iterations();
    // In thin sets and for long s the rounding errors exceed the margin: solve once more with room
    // for them, since scaling back would cost far more.
    if (task.inequalities().empty() && answer.path != CoefficientPath::scaled &&
        coefficients.allFinite() && !margin(task, coefficients).safe() &&
        make_room(task, tightened, basis_length_ * coefficients.norm())) {
      answer.path =
          step_.solve(b_rows_, roomy_bounds_, roomy_slack_limit_, target, memory_, coefficients);
      answer.iterations += step_.iterations();
    }
  }
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
  const double longest = longest_safe_scale(task, coefficients);
  wanted_ = coefficients;
  for (double back = 1e-12; back < 1; back *= 4) {
    const double factor = longest * (1 - back);
    coefficients = factor * wanted_;
    if (margin(task, coefficients).safe()) return factor;
  }
  coefficients.setZero();
  return 0;
}

double SafeCoefficients::longest_safe_scale(const ProjectionTask& task,
                                            const Eigen::Ref<const Eigen::VectorXd>& coefficients) {
  policy_.noalias() = *basis_ * coefficients;
  image_.noalias() = task.rows() * policy_;
  double longest = longest_scale(image_, task.reduced(), task.slack_limit());
  if (task.inequalities().empty()) return longest;
  // By convexity from the anchor. What is beyond is reached by a second step from there.
  constexpr double kMost = 1 - 1e-10;
  for (int step = 0; step < 2; ++step) {
    double shorter = 1;
    for (std::size_t i = 0; i < task.inequalities().size(); ++i) {
      const double ratio = task.inequalities()[i].ratio(task.anchor() + longest * policy_);
      const double at_anchor = task.anchor_ratios()(static_cast<Eigen::Index>(i));
      shorter = std::min(shorter, convex_scale(at_anchor, ratio, std::max(kMost, at_anchor)));
    }
    longest *= shorter;
    if (shorter == 1) break;
  }
  return longest;
}

}  // namespace lifeguard
