#include "lifeguard/lifelong/gradient_memory.hpp"

#include <gtest/gtest.h>

#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::gradient_memory_test {

RoundLoss loss_with_gradient(Draws& draws, const Eigen::VectorXd& gradient, double noise) {
  RoundLoss loss = synthetic_loss(draws, 3, Eigen::VectorXd::Zero(6));
  loss.curvature.setIdentity();
  loss.shrinkage_floor = 0.0;
  loss.cost_gradient = gradient;
  loss.natural_norm_squared = gradient.squaredNorm();
  loss.noise_share = noise / loss.natural_norm_squared;
  return loss;
}

TEST(GradientMemory, OneRoundGivesTheBaseLearnersStep) {
  Draws draws(1);
  const Eigen::VectorXd gradient = draws.normals(6, 1);
  GradientMemory memory(3, 6);
  RoundLoss loss = loss_with_gradient(draws, gradient, 0.25 * gradient.squaredNorm());
  loss.radius = 2.0;
  ASSERT_TRUE(memory.add(0.8, loss));
  Eigen::MatrixXd factor(3, 3);
  Eigen::VectorXd curved(6), step(6);
  ASSERT_TRUE(memory.step(loss, factor, curved, step));
  // √(2δ/q) (1 - N/q) F⁻¹g with F = I, q = |g|², N/q = 1/4.
  const Eigen::VectorXd expected = -2.0 * 0.75 * gradient / gradient.norm();
  EXPECT_LT((step - expected).norm(), 1e-12);
  loss.shrinkage_floor = 1;  // not shortened
  ASSERT_TRUE(memory.step(loss, factor, curved, step));
  EXPECT_LT((step - expected / 0.75).norm(), 1e-12);
  loss.curvature *= 9;  // the round's own metric is steeper than the pool's
  ASSERT_TRUE(memory.step(loss, factor, curved, step));
  EXPECT_LT((step - expected / 0.75 / 3).norm(), 1e-12);
}

TEST(GradientMemory, PoolingFindsTheSignalThatNoSingleRoundShows) {
  Draws draws(2);
  const Eigen::VectorXd truth = Eigen::VectorXd::Unit(6, 2);
  GradientMemory memory(3, 6);
  Eigen::MatrixXd factor(3, 3);
  Eigen::VectorXd curved(6), step(6);
  RoundLoss loss;
  for (int j = 0; j < 400; ++j) {
    // Noise of variance 1 in each entry against a signal of length 1.
    loss = loss_with_gradient(draws, truth + draws.normals(6, 1), 6.0);
    ASSERT_TRUE(memory.add(0.95, loss));
  }
  loss.radius = 0.5;
  ASSERT_TRUE(memory.step(loss, factor, curved, step));
  EXPECT_GT(-step.dot(truth) / step.norm(), 0.85);
  EXPECT_GT(step.norm(), 0.5);  // of at most 1
}

TEST(GradientMemory, ALossThatTellsNoNoiseIsNotPooled) {
  Draws draws(3);
  GradientMemory memory(3, 6);
  EXPECT_FALSE(memory.add(0.5, synthetic_loss(draws, 3, Eigen::VectorXd::Zero(6))));
  EXPECT_EQ(memory.weight, 0.0);
}

}  // namespace lifeguard::gradient_memory_test
