#include "lifeguard/safety/sets/safe_set.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "tests/support/exact.hpp"

namespace lifeguard::safe_set_test {

using test::exact;
using test::exact_margin;
using test::exact_squared_slack;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SafeSet unit_square() {
  Eigen::MatrixXd a(4, 2);
  a << 1, 0, -1, 0, 0, 1, 0, -1;
  return SafeSet(a, Eigen::VectorXd::Ones(4), {"right", "left", "top", "bottom"});
}

template <typename Make>
void expect_invalid(Make make, const std::string& part) {
  try {
    make();
    ADD_FAILURE() << "accepted, expected: " << part;
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(SafeSetTest, RefusesWhatIsNotASet) {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Identity(2, 2);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(2);
  const double nan = std::nan("");
  expect_invalid([&] { SafeSet(0); }, "parameters = 0");
  expect_invalid([&] { SafeSet(a, Eigen::VectorXd::Ones(3), {"p", "q"}); }, "limits");
  expect_invalid([&] { SafeSet(a, b, {"p"}); }, "names");
  expect_invalid([&] { SafeSet(a, b, {"p", "p"}); }, "names must differ");
  expect_invalid([&] { SafeSet(a, b, {"p", ""}); }, "names[1]");
  expect_invalid([&] { SafeSet(a, b, {"p", "q"}, 0.0); }, "slack_limit = 0");
  expect_invalid([&] { SafeSet(a, b, {"p", "q"}, nan); }, "slack_limit = nan");
  expect_invalid([&] { SafeSet(a * nan, b, {"p", "q"}); }, "coefficients(0, 0) of \"p\"");
  expect_invalid([&] { SafeSet(a, b * kInfinity, {"p", "q"}); }, "limit of \"p\"");
  expect_invalid([&] { SafeSet(a * 0, b, {"p", "q"}); }, "must have a coefficient that is not 0");
}

TEST(SafeSetTest, TheWholeSpaceHasNoWorstRow) {
  const SafeSet all(3);
  const Margins result = margins(all, Eigen::Vector3d(1e9, -1e9, 0));
  EXPECT_EQ(result.worst_row(), -1);
  EXPECT_EQ(result.worst(), kInfinity);
  EXPECT_TRUE(strictly_safe(all, Eigen::Vector3d(1e300, 0, 0)));
}

TEST(SafeSetTest, MarginsNameTheWorstRow) {
  const SafeSet square = unit_square();
  const Margins inside = margins(square, Eigen::Vector2d(0.25, -0.5));
  EXPECT_EQ(square.name(inside.worst_row()), "bottom");
  EXPECT_NEAR(inside.worst(), 0.5, 1e-15);
  EXPECT_LE(inside.worst(), 0.5);
  EXPECT_FALSE(strictly_safe(square, Eigen::Vector2d(1.0, 0)));
  EXPECT_TRUE(strictly_safe(square, Eigen::Vector2d(1.0 - 1e-14, 0)));
  // The slack of the origin is (1, 1, 1, 1), its norm 2.
  EXPECT_TRUE(strictly_safe(square.with_slack_limit(2.0 + 1e-14), Eigen::Vector2d::Zero()));
  EXPECT_FALSE(strictly_safe(square.with_slack_limit(2.0), Eigen::Vector2d::Zero()));
}

TEST(SafeSetTest, WhatIsNotFiniteIsNeverSafe) {
  const SafeSet square = unit_square();
  EXPECT_FALSE(strictly_safe(square, Eigen::Vector2d(std::nan(""), 0)));
  EXPECT_FALSE(strictly_safe(square, Eigen::Vector2d(-kInfinity, 0)));
  Eigen::MatrixXd a(1, 2);
  a << 1e300, -1e300;
  const SafeSet huge(a, Eigen::VectorXd::Ones(1), {"huge"});
  EXPECT_EQ(margins(huge, Eigen::Vector2d(1e300, 1e300)).worst(), -kInfinity);
  EXPECT_EQ(margins(square, Eigen::Vector2d::Zero(), Eigen::Vector2d(kInfinity, 0)).worst(),
            -kInfinity);
}

TEST(SafeSetTest, IntersectionKeepsRowsAndNames) {
  const SafeSet square = unit_square();
  Eigen::MatrixXd a(1, 2);
  a << 1, 1;
  const SafeSet diagonal(a, Eigen::VectorXd::Constant(1, 1.5), {"right"});
  const SafeSet both = intersect({square, diagonal, SafeSet(2)});
  EXPECT_THAT(both.names(), ElementsAre("right", "left", "top", "bottom", "right (2)"));
  const CounterRandom random(1, RandomStream::user, 0);
  for (std::uint32_t i = 0; i < 500; ++i) {
    const Eigen::Vector2d x(random.uniform(2 * i, -2, 2), random.uniform(2 * i + 1, -2, 2));
    EXPECT_EQ(strictly_safe(both, x), strictly_safe(square, x) && strictly_safe(diagonal, x));
  }
  expect_invalid(
      [&] {
        intersect({square.with_slack_limit(3), diagonal});
      },
      "parts[0].slack_limit = 3");
  expect_invalid([&] { intersect({square, SafeSet(3)}); }, "parts[1].parameters = 3");
  expect_invalid([] { intersect({}); }, "parts");
  EXPECT_EQ(intersect({square}), square);
  EXPECT_NE(square.with_slack_limit(2), square);
}

/// A random set and a point whose rows are hit to within a few units in the last place.
struct NearBoundary {
  SafeSet set{1};
  Eigen::VectorXd point;
};

NearBoundary near_boundary(std::uint64_t seed) {
  const CounterRandom random(seed, RandomStream::user, 1);
  std::uint32_t n = 0;
  const int d = 1 + static_cast<int>(random.uniform(n++) * 28);
  const int m = 1 + static_cast<int>(random.uniform(n++) * 8);
  Eigen::MatrixXd a(m, d);
  Eigen::VectorXd x(d);
  Eigen::VectorXd b(m);
  std::vector<std::string> names;
  // Exponents are spread, so that cancellation and tiny terms happen.
  for (int i = 0; i < d; ++i)
    x(i) = std::ldexp(random.normal(n), static_cast<int>(n % 41) - 20), ++n;
  for (int r = 0; r < m; ++r) {
    for (int i = 0; i < d; ++i) {
      a(r, i) = std::ldexp(random.normal(n), static_cast<int>(n % 31) - 15), ++n;
    }
    b(r) = a.row(r).dot(x);
    const int steps = static_cast<int>(random.uniform(n++) * 40) - 10;
    for (int s = 0; s < std::abs(steps); ++s) b(r) = std::nextafter(b(r), steps * kInfinity);
    names.push_back("row " + std::to_string(r));
  }
  return {SafeSet(a, b, names), x};
}

TEST(SafeSetTest, MarginsAreNeverAboveTheExactOnes) {
  int proven = 0;
  int exactly_inside = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const NearBoundary c = near_boundary(seed);
    const Margins result = margins(c.set, c.point);
    bool inside = true;
    for (int row = 0; row < c.set.rows(); ++row) {
      const test::Rational margin = exact_margin(c.set, row, c.point);
      ASSERT_LE(exact(result.rows(row)), margin) << "seed " << seed << " row " << row;
      // And not uselessly below: within a few roundings of the largest term.
      const double scale = c.set.magnitudes().row(row).dot(c.point.cwiseAbs());
      ASSERT_LE(margin - exact(result.rows(row)), exact(scale * 1e-14)) << "seed " << seed;
      inside = inside && margin > 0;
    }
    proven += strictly_safe(c.set, c.point);
    exactly_inside += inside;
  }
  EXPECT_GT(exactly_inside, proven);  // the cases are close enough that the bound matters
}

TEST(SafeSetTest, TheSlackMarginIsNeverAboveTheExactOne) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const NearBoundary c = near_boundary(seed);
    const Eigen::VectorXd away = c.point * (1 + 1e-3);
    const Eigen::VectorXd slack = c.set.limits() - c.set.coefficients() * away;
    double limit = slack.norm();
    for (std::uint64_t s = 0; s < seed % 60; ++s) limit = std::nextafter(limit, kInfinity);
    const Margins result = margins(c.set.with_slack_limit(limit), away);
    // c - margin ≥ ‖slack‖ in exact numbers, compared in squares.
    const test::Rational bound = exact(limit) - exact(result.slack);
    ASSERT_GE(bound * bound, exact_squared_slack(c.set, away)) << "seed " << seed;
    refused += result.slack <= 0;
  }
  EXPECT_GT(refused, 0);
}

TEST(SafeSetTest, MarginsHoldForEveryPointWithinTheError) {
  const SafeSet square = unit_square();
  const Eigen::Vector2d error(0.125, 0.25);
  const Margins result = margins(square, Eigen::Vector2d(0.5, 0.25), error);
  EXPECT_NEAR(result.rows(0), 1 - 0.625, 1e-14);
  EXPECT_NEAR(result.rows(2), 1 - 0.5, 1e-14);
  EXPECT_LE(result.rows(0), 1 - 0.625);
  EXPECT_LE(result.rows(2), 1 - 0.5);
}

TEST(SafeSetTest, LimitsFromAnAnchorNeverAllowMore) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const NearBoundary c = near_boundary(seed);
    const Eigen::VectorXd reduced = limits_from_anchor(c.set, c.point);
    for (int row = 0; row < c.set.rows(); ++row) {
      ASSERT_LE(exact(reduced(row)), exact_margin(c.set, row, c.point));
    }
  }
}

}  // namespace lifeguard::safe_set_test
