#include "lifeguard/policy/policy.hpp"

#include <gtest/gtest.h>

#include "tests/support/invalid_input.hpp"

#include "lifeguard/systems/built_in_systems.hpp"

namespace lifeguard::features_test {

const Eigen::Vector3d kState(1, 2, 3);
const Eigen::Vector3d kGoal(0.5, 4, 3);
// The error is (0.5, -2, 0).

TEST(Features, StateOnlyIsTheError) {
  const Features features;
  EXPECT_TRUE(features.is_state_only());
  EXPECT_EQ(features.count(3), 3);
  EXPECT_EQ(features.evaluate(kState, kGoal), Eigen::Vector3d(0.5, -2, 0));
}

TEST(Features, BiasComesAfterTheState) {
  const Features features{.bias = true};
  EXPECT_FALSE(features.is_state_only());
  EXPECT_EQ(features.count(3), 4);
  EXPECT_EQ(features.evaluate(kState, kGoal), Eigen::Vector4d(0.5, -2, 0, 1));
}

TEST(Features, SecondOrderTermsAreTheUpperTriangleRowByRow) {
  const Features features{.second_order = true};
  EXPECT_FALSE(features.is_state_only());
  EXPECT_EQ(features.count(3), 9);
  Eigen::VectorXd expected(9);
  expected << 0.5, -2, 0, 0.25, -1, 0, 4, 0, 0;
  EXPECT_EQ(features.evaluate(kState, kGoal), expected);
}

TEST(Features, BiasStandsBeforeSecondOrderTerms) {
  const Features features{.bias = true, .second_order = true};
  EXPECT_EQ(features.count(3), 10);
  Eigen::VectorXd expected(10);
  expected << 0.5, -2, 0, 1, 0.25, -1, 0, 4, 0, 0;
  EXPECT_EQ(features.evaluate(kState, kGoal), expected);
}

TEST(Features, CountsOfTheBuiltInSystems) {
  const Features all{.bias = true, .second_order = true};
  EXPECT_EQ(all.count(2), 2 + 1 + 3);
  EXPECT_EQ(all.count(4), 4 + 1 + 10);
  EXPECT_EQ(all.count(6), 6 + 1 + 21);
}

TEST(Features, GoalOfAnotherSizeIsRefused) {
  test_support::expect_invalid([] { Features{}.evaluate(kState, Eigen::Vector2d(0, 0)); }, "goal",
                               "2 entries", "must have 3 entries");
}

}  // namespace lifeguard::features_test
