#include "lifeguard/safety/sets/gain_cloud.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"

namespace lifeguard::gain_cloud_test {

using ::testing::HasSubstr;

Eigen::MatrixXd normals(std::uint64_t seed, long rows, long columns) {
  const CounterRandom random(seed, RandomStream::user, 7);
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(rows, columns);
  std::uint32_t n = 0;
  for (double& x : m.reshaped()) x = random.normal(n++);
  return m;
}

/// x is a mixture of the points if and only if no direction separates it from them, that is, no v
/// has vᵀ(p - x) ≤ -1 for all p: decided by other code, in exact arithmetic but for p - x.
bool in_hull(const Eigen::MatrixXd& points, const Eigen::VectorXd& x) {
  const Eigen::MatrixXd rows = (points.colwise() - x).transpose();
  std::vector<std::string> names;
  for (long i = 0; i < rows.rows(); ++i) names.push_back(std::to_string(i));
  const SafeSet separating(rows, Eigen::VectorXd::Constant(rows.rows(), -1), names);
  return check_feasibility(separating).status == FeasibilityStatus::empty;
}

TEST(GainCloudTest, TheHullHoldsThePointsAndTheirMixturesOnly) {
  int inside = 0;
  int outside = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const long d = 1 + static_cast<long>(seed % 4);
    const Eigen::MatrixXd points = normals(seed, d, 6 + 4 * d);
    const SafeSet hull = gain_cloud_hull(points);
    for (long j = 0; j < points.cols(); ++j) {
      ASSERT_TRUE(check_policy(hull, points.col(j)).empty()) << "seed " << seed;  // exactly
    }
    const Eigen::MatrixXd samples = 0.9 * normals(seed + 100, d, 60);
    for (long j = 0; j < samples.cols(); ++j) {
      const Eigen::VectorXd x = samples.col(j);
      const bool expected = in_hull(points, x);
      ASSERT_EQ(check_policy(hull, x).empty(), expected) << "seed " << seed << " sample " << j;
      (expected ? inside : outside)++;
    }
  }
  EXPECT_GT(inside, 100);
  EXPECT_GT(outside, 100);
}

TEST(GainCloudTest, RegularCloudsHaveTheFacetsOneExpects) {
  // A grid with repeated points: many of them in each face of the cube.
  Eigen::MatrixXd grid(3, 28);
  for (int i = 0; i < 27; ++i) {
    const int layer = i / 9;
    grid.col(i) << i % 3, (i / 3) % 3, layer;
  }
  grid.col(27) = grid.col(13);
  const SafeSet cube = gain_cloud_hull(grid, "face");
  EXPECT_EQ(cube.rows(), 6);
  EXPECT_EQ(cube.name(5), "face 5");
  EXPECT_TRUE(strictly_safe(cube, Eigen::Vector3d(1.99, 0.01, 1)));
  EXPECT_FALSE(strictly_safe(cube, Eigen::Vector3d(2, 0.5, 1)));
  // The cross-polytope in 4 dimensions has 8 corners and 16 facets.
  Eigen::MatrixXd cross(4, 8);
  cross << Eigen::MatrixXd::Identity(4, 4), -Eigen::MatrixXd::Identity(4, 4);
  const SafeSet diamond = gain_cloud_hull(cross);
  EXPECT_EQ(diamond.rows(), 16);
  EXPECT_TRUE(((diamond.limits() - Eigen::VectorXd::Ones(16)).array() == 0).all());
}

TEST(GainCloudTest, RefusesCloudsItCannotUse) {
  Eigen::MatrixXd flat = normals(1, 3, 9);
  flat.row(2) = flat.row(0);
  const auto message = [](auto make) -> std::string {
    try {
      make();
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message([&] { gain_cloud_hull(flat); }), HasSubstr("must not lie in a plane"));
  EXPECT_THAT(message([&] { gain_cloud_hull(normals(2, 4, 60), "facet", 50); }),
              HasSubstr("max_rows = 50"));
  EXPECT_THAT(message([&] { gain_cloud_hull(Eigen::MatrixXd(2, 0)); }), HasSubstr("points"));
  flat(1, 1) = std::nan("");
  EXPECT_THAT(message([&] { gain_cloud_hull(flat); }), HasSubstr("points(1, 1) = nan"));
}

TEST(GainCloudTest, BoundsTouchTheCloud) {
  const Eigen::MatrixXd points = normals(3, 5, 40);
  const Eigen::MatrixXd directions = normals(4, 5, 7);
  std::vector<std::string> names;
  for (int i = 0; i < 7; ++i) names.push_back("direction " + std::to_string(i));
  const SafeSet set = gain_cloud_bounds(points, directions, names);
  const Eigen::MatrixXd values = directions.transpose() * points;
  for (int row = 0; row < 7; ++row) {
    EXPECT_NEAR(set.limits()(row), values.row(row).maxCoeff(), 1e-14);
  }
  for (long j = 0; j < points.cols(); ++j) EXPECT_TRUE(check_policy(set, points.col(j)).empty());
}

}  // namespace lifeguard::gain_cloud_test
