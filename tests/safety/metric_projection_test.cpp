#include "lifeguard/safety/solve/metric_projection.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/regret/comparator.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/support/projection_problems.hpp"

namespace lifeguard::metric_projection_test {

using test_support::Draws;

SafeSet random_set(Draws& draws, int d, bool ball, Eigen::VectorXd& anchor) {
  const ProjectionTask task = test_support::random_task(draws, draws.integer(1, 3 * d), d,
                                                        {draws.chance(0.2), false, ball});
  anchor = task.anchor();
  std::vector<std::string> names;
  for (Eigen::Index i = 0; i < task.rows().rows(); ++i) names.push_back(fmt::format("row {}", i));
  return {task.rows(), task.limits(), names, task.slack_limit()};
}

Eigen::MatrixXd random_metric(Draws& draws, int width) {
  const Eigen::MatrixXd root = draws.normals(width, width);
  Eigen::MatrixXd metric = draws.power(1e-3, 1e3) * root * root.transpose() / width;
  metric.diagonal().array() += 1e-3 * metric.trace() / width;
  return metric;
}

// The dual bound of best_in_hindsight holds for any multipliers, so it does not trust the solver
// that both share.
TEST(MetricProjection, ReachesTheDualBound) {
  int constrained = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Draws draws(seed);
    const int width = draws.integer(1, 6);
    const int d = width * draws.integer(1, 4);
    Eigen::VectorXd anchor;
    const SafeSet set = random_set(draws, d, draws.chance(0.4), anchor);
    LossSum sum(width, d);
    sum.curvature = random_metric(draws, width);
    sum.reference = anchor + draws.power(0.01, 100) * draws.normals(d, 1);

    Eigen::VectorXd policy = sum.reference;
    MetricProjection projection;
    const CoefficientPath path = projection.project(set, anchor, sum.curvature, 1e-10, policy);
    ASSERT_NE(path, CoefficientPath::scaled) << "seed " << seed;
    constrained += path != CoefficientPath::inside ? 1 : 0;
    EXPECT_GE(margins(set, policy).worst(), -1e-9 * (1 + policy.norm())) << "seed " << seed;
    const ComparatorResult best = best_in_hindsight(sum, set, anchor);
    EXPECT_LE(sum.value(policy), best.lower_bound + 1e-8 * (1 + best.value)) << "seed " << seed;
  }
  EXPECT_GT(constrained, 200);
}

TEST(MetricProjection, LeavesSafePoliciesAndBadMetricsAlone) {
  const SafeSet set = gain_box(Eigen::Vector2d(-1, -1), Eigen::Vector2d(1, 1), {"first", "second"});
  const Eigen::Vector2d anchor = Eigen::Vector2d::Zero();
  MetricProjection projection;
  Eigen::VectorXd inside = Eigen::Vector2d(0.5, -1);
  EXPECT_EQ(projection.project(set, anchor, Eigen::Matrix2d::Identity(), 0.0, inside),
            CoefficientPath::inside);
  EXPECT_EQ(inside, Eigen::Vector2d(0.5, -1));
  Eigen::VectorXd outside = Eigen::Vector2d(2, 2);
  EXPECT_EQ(projection.project(set, anchor, Eigen::Matrix2d::Zero(), 0.0, outside),
            CoefficientPath::not_run);
  EXPECT_EQ(outside, Eigen::Vector2d(2, 2));
}

// Cost ½(α - c)ᵀH(α - c) in a box that cuts c off, stepped along -G⁻¹∇ by ε. The best safe policy
// is found by minimising over the face; a projection in any other metric than G ends elsewhere.
TEST(MetricProjection, LetsTheLearnerFindTheBestSafePolicy) {
  const Eigen::Matrix2d hessian = (Eigen::Matrix2d() << 2.0, 0.6, 0.6, 1.0).finished();
  const Eigen::Matrix2d metric = (Eigen::Matrix2d() << 1.0, -0.8, -0.8, 1.0).finished();
  const Eigen::Vector2d centre(3, 0.2);
  // On the face α_0 = 1 the cost is least at α_1 = c_1 - H_10 (1 - c_0) / H_11.
  const Eigen::Vector2d best(1, centre(1) - hessian(1, 0) * (1 - centre(0)) / hessian(1, 1));

  LearnerSettings settings;
  settings.projection.mode = ProjectionMode::exact;
  Learner learner(2, 1, settings);
  learner.add_task("boxed",
                   gain_box(Eigen::Vector2d(-1, -2), Eigen::Vector2d(1, 2), {"first", "second"}),
                   0.1, Eigen::VectorXd(Eigen::Vector2d::Zero()));
  for (int round = 0; round < 300; ++round) {
    const Eigen::VectorXd alpha = learner.policy("boxed").parameters();
    RoundLoss loss;
    loss.status = RoundLossStatus::ok;
    loss.curvature = metric;
    loss.played = alpha;
    loss.target = alpha - 0.1 * metric.ldlt().solve(hessian * (alpha - centre));
    loss.constant = 0;
    loss.trajectories = 1;
    loss.mean_cost = 0.5 * (alpha - centre).dot(hessian * (alpha - centre));
    learner.observe("boxed", loss);
  }
  EXPECT_LT((learner.policy("boxed").parameters() - best).norm(), 1e-6);
}

}  // namespace lifeguard::metric_projection_test
