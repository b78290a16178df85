#include "lifeguard/core/riccati.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::riccati_test {

TEST(RiccatiDoubling, IsTheRiccatiRecursionAtPowersOfTwo) {
  test_support::LinearSystem system = test_support::LinearSystem::example();
  system.a(0, 0) = 1.3;
  RiccatiDoubling doubling(system.a, system.b, system.q, system.r);
  Eigen::MatrixXd p = system.q;
  EXPECT_EQ(doubling.cost_to_go(), p);
  int steps = 1;
  for (int to_go = 2; to_go <= 64; to_go *= 2) {
    const Eigen::MatrixXd before = p;
    for (; steps < to_go; ++steps) {
      const Eigen::MatrixXd pb = p * system.b;
      p = (system.q + system.a.transpose() * p * system.a -
           system.a.transpose() * pb * (system.r + system.b.transpose() * pb).inverse() *
               pb.transpose() * system.a)
              .eval();
      p = (0.5 * (p + p.transpose())).eval();
    }
    const double change = doubling.twice();
    EXPECT_LT((doubling.cost_to_go() - p).norm(), 1e-12 * p.norm());
    EXPECT_NEAR(change, (p - before).cwiseAbs().maxCoeff(), 1e-10);
  }
}

}  // namespace lifeguard::riccati_test
