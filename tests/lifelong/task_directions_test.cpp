// The directions in which tasks differ, against what they are by definition.
#include "lifeguard/lifelong/task_directions.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>

#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::task_directions_test {

constexpr int kFeatures = 4;
constexpr int kActions = 3;
constexpr int kParameters = kFeatures * kActions;

Eigen::MatrixXd random_square(Draws& draws, int size) {
  const Eigen::MatrixXd root = draws.normals(size, size);
  return root * root.transpose() / size + 0.2 * Eigen::MatrixXd::Identity(size, size);
}

/// With one block for all actions, or one for each.
TaskBeliefs random_beliefs(Draws& draws, bool common) {
  TaskBeliefs beliefs;
  beliefs.mean = draws.normals(kParameters, 1);
  beliefs.basis = draws.normals(kParameters, kParameters);
  beliefs.metric.resize((common ? 1 : kActions) * kFeatures, kFeatures);
  for (int a = 0; a < (common ? 1 : kActions); ++a) {
    beliefs.metric.middleRows(a * kFeatures, kFeatures) = random_square(draws, kFeatures);
  }
  return beliefs;
}

Eigen::MatrixXd whole_metric(const TaskBeliefs& beliefs) {
  Eigen::MatrixXd whole = Eigen::MatrixXd::Zero(kParameters, kParameters);
  const bool common = beliefs.metric.rows() == kFeatures;
  for (int a = 0; a < kActions; ++a) {
    whole.block(a * kFeatures, a * kFeatures, kFeatures, kFeatures) =
        beliefs.metric.middleRows(common ? 0 : a * kFeatures, kFeatures);
  }
  return whole;
}

TEST(TaskDirections, ArePrincipalAxesInTheMetricOfPolicies) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed);
    const TaskBeliefs beliefs = random_beliefs(draws, seed % 2 == 0);
    const Eigen::MatrixXd metric = whole_metric(beliefs);
    const Eigen::MatrixXd covariance = beliefs.basis * beliefs.basis.transpose();
    const TaskDirections found = task_directions(beliefs);
    const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(kParameters, kParameters);
    EXPECT_LT((found.axes.transpose() * metric * found.axes - one).norm(), 1e-9);
    EXPECT_LT((found.readings - metric * found.axes).norm(), 1e-9 * found.readings.norm());
    // All of P, in other words.
    EXPECT_LT(
        (found.axes * found.variances.asDiagonal() * found.axes.transpose() - covariance).norm(),
        1e-9 * covariance.norm());
    for (int i = 0; i < kParameters; ++i) {
      if (i > 0) {
        EXPECT_LE(found.variances(i), found.variances(i - 1));
      }
      EXPECT_NEAR(found.units(i), 1 / std::sqrt(metric(i, i)), 1e-12);
      EXPECT_NEAR(found.shares(i).sum(), 1, 1e-12);
      Eigen::Index largest = 0;
      found.shares(i).maxCoeff(&largest);
      EXPECT_GT(found.axes(largest, i), 0);
    }
  }
}

TEST(TaskDirections, DoNotDependOnUnits) {
  Draws draws(7);
  const TaskBeliefs beliefs = random_beliefs(draws, true);
  // Features in other units: a gain of α is one of α / scale.
  Eigen::VectorXd scale(kFeatures);
  for (double& one : scale) one = std::exp(draws.uniform(-7, 7));
  const Eigen::VectorXd all = scale.replicate(kActions, 1);
  TaskBeliefs other = beliefs;
  other.mean = beliefs.mean.cwiseQuotient(all);
  other.basis = all.cwiseInverse().asDiagonal() * beliefs.basis;
  other.metric = scale.asDiagonal() * beliefs.metric * scale.asDiagonal();
  const TaskDirections a = task_directions(beliefs);
  const TaskDirections b = task_directions(other);
  EXPECT_LT((a.variances - b.variances).norm(), 1e-6 * a.variances.norm());
  const Eigen::VectorXd policy = draws.normals(kParameters, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT((a.shares(i) - b.shares(i)).norm(), 1e-6);
    EXPECT_NEAR(a.readings.col(i).dot(policy - beliefs.mean),
                b.readings.col(i).dot(policy.cwiseQuotient(all) - other.mean), 1e-5);
  }
}

TEST(TaskDirections, TasksThatDifferInOneGainDifferInThatOne) {
  Draws draws(11);
  TaskBeliefs beliefs = random_beliefs(draws, false);
  const Eigen::MatrixXd metric = whole_metric(beliefs);
  constexpr int kGain = 6;
  constexpr double kVariance = 3;
  constexpr double kSpread = 0.5;
  // P = a² e eᵀ + ψ Ḡ⁻¹: one gain, and whatever else in all directions alike.
  Eigen::MatrixXd covariance = kSpread * metric.inverse();
  covariance(kGain, kGain) += kVariance;
  beliefs.basis = covariance.llt().matrixL();
  const TaskDirections found = task_directions(beliefs);
  EXPECT_NEAR(found.variances(0), kVariance * metric(kGain, kGain) + kSpread, 1e-9);
  EXPECT_NEAR(found.variances(1), kSpread, 1e-9);
  EXPECT_NEAR(found.shares(0)(kGain), 1, 1e-9);
}

TEST(TaskDirections, TheyTellWhereATaskIs) {
  Draws draws(13);
  const TaskBeliefs beliefs = random_beliefs(draws, true);
  const TaskDirections directions = task_directions(beliefs);
  const TaskPlace prior = place_of({beliefs.mean, beliefs.basis * beliefs.basis.transpose(), false},
                                   beliefs, directions);
  EXPECT_EQ(prior.mean, Eigen::Vector2d::Zero());
  EXPECT_NEAR(prior.covariance(0, 0), directions.variances(0), 1e-9);
  EXPECT_NEAR(prior.covariance(1, 1), directions.variances(1), 1e-9);
  EXPECT_NEAR(prior.covariance(1, 0), 0, 1e-9);
  const Eigen::VectorXd at = beliefs.mean + 2 * directions.axes.col(0) -
                             3 * directions.axes.col(1) + directions.axes.col(2);
  const TaskPlace place =
      place_of({at, Eigen::MatrixXd::Zero(kParameters, kParameters), true}, beliefs, directions);
  EXPECT_NEAR(place.mean(0), 2, 1e-9);
  EXPECT_NEAR(place.mean(1), -3, 1e-9);
}

TEST(TaskDirections, AMetricThatIsSingularCountsByItsDiagonal) {
  TaskBeliefs beliefs;
  beliefs.mean = Eigen::Vector2d::Zero();
  beliefs.basis = Eigen::Matrix2d::Identity();
  beliefs.metric = Eigen::Matrix2d::Constant(4);
  const TaskDirections found = task_directions(beliefs);
  EXPECT_NEAR(found.variances(0), 4, 1e-12);
  EXPECT_NEAR(found.variances(1), 4, 1e-12);
  EXPECT_TRUE(found.axes.allFinite());
}

TEST(TaskDirections, OneGainHasOneDirection) {
  TaskBeliefs beliefs;
  beliefs.mean = Eigen::VectorXd::Constant(1, 2.0);
  beliefs.basis = Eigen::MatrixXd::Constant(1, 1, 3.0);
  beliefs.metric = Eigen::MatrixXd::Constant(1, 1, 4.0);
  const TaskDirections found = task_directions(beliefs);
  EXPECT_NEAR(found.variances(0), 36, 1e-12);
  const TaskPlace place =
      place_of({Eigen::VectorXd::Constant(1, 3.0), Eigen::MatrixXd::Constant(1, 1, 0.25), true},
               beliefs, found);
  EXPECT_NEAR(place.mean(0), 2, 1e-12);
  EXPECT_EQ(place.mean(1), 0);
  EXPECT_NEAR(place.covariance(0, 0), 1, 1e-12);
  EXPECT_EQ(place.covariance(1, 1), 0);
}

}  // namespace lifeguard::task_directions_test
