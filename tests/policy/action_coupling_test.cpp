#include "lifeguard/policy/action_coupling.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "lifeguard/policy/action_blocks.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::action_coupling_test {

constexpr int kFeatures = 3;
constexpr int kActions = 4;
constexpr int kParameters = kFeatures * kActions;

Eigen::MatrixXd positive(Draws& draws, int size) {
  const Eigen::MatrixXd root = draws.normals(size, size);
  return root * root.transpose();
}

/// (S H S) ⊗ G, entry by entry.
Eigen::MatrixXd dense(const Eigen::MatrixXd& coupling, const Eigen::VectorXd& scale,
                      const Eigen::MatrixXd& block) {
  Eigen::MatrixXd all(kParameters, kParameters);
  for (int i = 0; i < kParameters; ++i) {
    for (int j = 0; j < kParameters; ++j) {
      const int a = i / kFeatures;
      const int b = j / kFeatures;
      all(i, j) = scale(a) * coupling(a, b) * scale(b) * block(i % kFeatures, j % kFeatures);
    }
  }
  return all;
}

TEST(ActionCoupling, IsTheKroneckerProductInUnitsOfNoise) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed);
    const Eigen::MatrixXd coupling = positive(draws, kActions);
    const Eigen::MatrixXd block = positive(draws, kFeatures);
    const bool alike = seed % 2 == 0;
    Eigen::VectorXd scale = Eigen::VectorXd::Ones(kActions);
    Eigen::MatrixXd blocks = block;
    if (!alike) {
      blocks.resize(kParameters, kFeatures);
      for (int a = 0; a < kActions; ++a) {
        scale(a) = std::exp(2 * draws.normal());
        blocks.middleRows(a * kFeatures, kFeatures) = scale(a) * scale(a) * block;
      }
    }
    const Eigen::MatrixXd expected = dense(coupling, scale, block);
    Eigen::MatrixXd system = Eigen::MatrixXd::Zero(kParameters, kParameters);
    add_coupled_blocks(coupling, blocks, system);
    EXPECT_LT((system - expected).norm(), 1e-12 * expected.norm());
    // Kx from Gx.
    const Eigen::MatrixXd x = draws.normals(kParameters, 2);
    Eigen::MatrixXd weighed(kParameters, 2);
    for (int a = 0; a < kActions; ++a) {
      weighed.middleRows(a * kFeatures, kFeatures) =
          action_block(blocks, a) * x.middleRows(a * kFeatures, kFeatures);
    }
    Eigen::MatrixXd coupled(kParameters, 2);
    couple(coupling, blocks, weighed, coupled);
    EXPECT_LT((coupled - expected * x).norm(), 1e-12 * (expected * x).norm());
    // And back.
    Eigen::MatrixXd back(kParameters, 2);
    couple(coupling.inverse(), blocks, coupled, back);
    EXPECT_LT((back - weighed).norm(), 1e-8 * weighed.norm());
  }
}

TEST(ActionCoupling, WithoutOneEachActionIsByItself) {
  Draws draws(1);
  const Eigen::MatrixXd block = positive(draws, kFeatures);
  Eigen::MatrixXd system = Eigen::MatrixXd::Identity(kParameters, kParameters);
  add_coupled_blocks({}, block, system);
  const Eigen::MatrixXd alone =
      dense(Eigen::MatrixXd::Identity(kActions, kActions), Eigen::VectorXd::Ones(kActions), block);
  EXPECT_EQ(system, Eigen::MatrixXd(alone + Eigen::MatrixXd::Identity(kParameters, kParameters)));
  const Eigen::MatrixXd x = draws.normals(kParameters, 1);
  Eigen::MatrixXd coupled(kParameters, 1);
  couple({}, block, x, coupled);
  EXPECT_EQ(coupled, x);
}

}  // namespace lifeguard::action_coupling_test
