#include "lifeguard/core/numbers.hpp"
#include "lifeguard/policy/policy.hpp"

#include <gtest/gtest.h>

#include "tests/support/invalid_input.hpp"

namespace lifeguard::gaussian_policy_test {

using test_support::expect_invalid;

constexpr double kNan = kNaN;
Eigen::MatrixXd two_by_three() {
  Eigen::MatrixXd gains(2, 3);
  gains << 1, 2, 3,  //
      4, 5, 6;
  return gains;
}

TEST(GaussianPolicy, ParametersStackTheRowsOfTheGains) {
  Eigen::VectorXd expected(6);
  expected << 1, 2, 3, 4, 5, 6;
  EXPECT_EQ(GaussianPolicy(two_by_three(), 0.5).parameters(), expected);
  EXPECT_EQ(parameters_from_gains(two_by_three()), expected);
}

TEST(GaussianPolicy, ParametersAndBack) {
  const Eigen::VectorXd parameters = parameters_from_gains(two_by_three());
  EXPECT_EQ(gains_from_parameters(parameters, 2), two_by_three());
  const auto policy = GaussianPolicy::from_parameters(parameters, 2, 0.25);
  EXPECT_EQ(policy.gains(), two_by_three());
  EXPECT_EQ(policy.parameters(), parameters);
  EXPECT_EQ(policy.sigma(), 0.25);
  EXPECT_EQ(policy.actions(), 2);
  EXPECT_EQ(policy.features(), 3);
}

TEST(GaussianPolicy, MeanIsTheGainsTimesTheFeatures) {
  EXPECT_EQ(GaussianPolicy(two_by_three(), 1).mean(Eigen::Vector3d(1, 0, -1)),
            Eigen::Vector2d(-2, -2));
}

TEST(GaussianPolicy, WithoutNoiseKeepsTheGains) {
  const GaussianPolicy quiet = GaussianPolicy(two_by_three(), 1).without_noise();
  EXPECT_EQ(quiet.gains(), two_by_three());
  EXPECT_EQ(quiet.sigma(), 0);
}

TEST(GaussianPolicy, GainsMustBeFinite) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    Eigen::MatrixXd gains = two_by_three();
    gains(1, 2) = bad;
    expect_invalid([&] { GaussianPolicy(gains, 1); }, "gains(1, 2)",
                   std::isnan(bad) ? "nan"
                   : bad > 0       ? "inf"
                                   : "-inf",
                   "must be finite");
  }
}

TEST(GaussianPolicy, GainsMustNotBeEmpty) {
  expect_invalid([] { GaussianPolicy(Eigen::MatrixXd(2, 0), 1); }, "gains", "2 x 0",
                 "must not be empty");
}

TEST(GaussianPolicy, SigmaMustBeFiniteAndNotNegative) {
  EXPECT_NO_THROW(GaussianPolicy(two_by_three(), 0));
  expect_invalid([] { GaussianPolicy(two_by_three(), -0.1); }, "sigma", "-0.1", "at least 0");
  expect_invalid([] { GaussianPolicy(two_by_three(), kNan); }, "sigma", "nan", "finite");
  expect_invalid([] { GaussianPolicy(two_by_three(), kInfinity); }, "sigma", "inf", "finite");
}

TEST(GaussianPolicy, ParametersMustFillTheActions) {
  const Eigen::VectorXd five = Eigen::VectorXd::Ones(5);
  expect_invalid([&] { gains_from_parameters(five, 2); }, "parameters", "5 entries",
                 "multiple of the 2 actions");
  expect_invalid([] { gains_from_parameters(Eigen::VectorXd(), 2); }, "parameters", "0 entries",
                 "positive multiple");
  expect_invalid([&] { gains_from_parameters(five, 0); }, "actions", "0", "at least 1");
  expect_invalid([&] { GaussianPolicy::from_parameters(five, -1, 1); }, "actions", "-1",
                 "at least 1");
}

}  // namespace lifeguard::gaussian_policy_test
