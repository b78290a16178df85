#include "lifeguard/safety/solve/paper_basis.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>

#include "tests/support/projection_problems.hpp"

namespace lifeguard::paper_basis_test {

using test_support::Draws;

// Without equations the program only asks for tr X = ‖L̃‖², as near as p and q allow.
TEST(PaperBasis, TraceFollowsTheTarget) {
  const Eigen::MatrixXd last = Eigen::MatrixXd::Identity(5, 3);
  const Eigen::MatrixXd no_coefficients = Eigen::MatrixXd::Zero(3, 2);
  Draws draws(1);
  const Eigen::MatrixXd direction = draws.normals(5, 3).normalized();
  Eigen::MatrixXd basis;
  for (const double length : {1.5, 2.0, 3.0}) {
    ASSERT_EQ(paper_basis(no_coefficients, length * direction, last, 0.25, 4, basis),
              PaperBasisStatus::solved);
    EXPECT_NEAR(basis.squaredNorm(), length * length, 1e-5);
  }
  ASSERT_EQ(paper_basis(no_coefficients, 100 * direction, last, 0.25, 4, basis),
            PaperBasisStatus::solved);
  EXPECT_NEAR(basis.squaredNorm(), 3 * 4.0, 1e-4);
}

TEST(PaperBasis, KeepsLengthsButNotDirections) {
  Draws draws(2);
  const Eigen::MatrixXd last = test_support::random_basis(draws, 6, 4, 0.25, 4);
  const Eigen::MatrixXd coefficients = draws.normals(4, 3);
  const Eigen::MatrixXd target = last + 0.5 * draws.normals(6, 4);
  Eigen::MatrixXd basis;
  ASSERT_EQ(paper_basis(coefficients, target, last, 0.25, 4, basis), PaperBasisStatus::solved);
  for (int t = 0; t < 3; ++t) {
    EXPECT_NEAR((basis * coefficients.col(t)).norm(), (last * coefficients.col(t)).norm(), 1e-6);
    EXPECT_GT((basis * coefficients.col(t) - last * coefficients.col(t)).norm(), 1e-2);
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(basis.transpose() * basis);
  EXPECT_GE(spectrum.eigenvalues()[0], 0.25 - 1e-9);
  EXPECT_LE(spectrum.eigenvalues()[3], 4 + 1e-9);
}

// With as many equations as X has entries, X and with it the shape of L is frozen.
TEST(PaperBasis, ManyTasksFreezeTheShape) {
  Draws draws(3);
  const Eigen::MatrixXd last = test_support::random_basis(draws, 5, 3, 0.25, 4);
  const Eigen::MatrixXd coefficients = draws.normals(3, 6);
  Eigen::MatrixXd basis;
  const PaperBasisStatus status =
      paper_basis(coefficients, last + draws.normals(5, 3), last, 0.25, 4, basis);
  ASSERT_EQ(status, PaperBasisStatus::solved);
  EXPECT_LE((basis.transpose() * basis - last.transpose() * last).norm(), 1e-5);
}

}  // namespace lifeguard::paper_basis_test
