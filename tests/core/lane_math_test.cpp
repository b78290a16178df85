// Accuracy of the library's own elementary functions against the C library in long double.

#include "lifeguard/core/lane_math.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lifeguard/core/random.hpp"

namespace lifeguard::lane_math_test {

using namespace HWY_NAMESPACE;  // NOLINT: the functions under test live there

// Three units in the last place; most is lost where e ln 2 and ln m cancel, next to 1/√2 and √2.
constexpr double kLogTolerance = 7e-16;
constexpr std::uint32_t kSamples = 50'000;
constexpr long double kQuarterTurn = std::numbers::pi_v<long double> / 2;

const CounterRandom& random_numbers() {
  static const CounterRandom random(1, RandomStream::user, 0);
  return random;
}

/// To compute with more digits than a double has.
long double exactly(double x) { return static_cast<long double>(x); }

double relative_log_error(double x) {
  const long double exact = std::log(exactly(x));
  return static_cast<double>(std::fabs((exactly(natural_log(x)) - exact) / exact));
}

TEST(LaneMath, LogarithmOfUniforms) {
  double worst = 0;
  for (std::uint32_t n = 0; n < kSamples; ++n) {
    worst = std::max(worst, relative_log_error(random_numbers().uniform(n)));
  }
  for (const double u : {0x1p-33, 3 * 0x1p-33, 1 - 0x1p-33, 1 - 3 * 0x1p-33}) {
    worst = std::max(worst, relative_log_error(u));
  }
  EXPECT_LT(worst, kLogTolerance);
}

TEST(LaneMath, LogarithmOfAllMagnitudes) {
  double worst = 0;
  for (std::uint32_t n = 0; n < kSamples; ++n) {
    worst =
        std::max(worst, relative_log_error(std::exp2(random_numbers().uniform(n, -1022, 1024))));
    worst = std::max(worst, relative_log_error(random_numbers().uniform(n, 0.5, 2)));
    // Near 1, where the logarithm vanishes and cancellation would show.
    const double small = std::exp2(random_numbers().uniform(n, -52, -1));
    worst = std::max(worst, relative_log_error(1 + small));
    worst = std::max(worst, relative_log_error(1 - small));
  }
  EXPECT_LT(worst, kLogTolerance);
  EXPECT_EQ(natural_log(1.0), 0);
}

TEST(LaneMath, LogarithmWhereTheExponentChanges) {
  for (const double split : {std::numbers::sqrt2 / 2, std::numbers::sqrt2, 2.0, 0.5}) {
    double below = split, above = split;
    for (int n = 0; n < 10; ++n) {
      EXPECT_LT(relative_log_error(below), kLogTolerance);
      EXPECT_LT(relative_log_error(above), kLogTolerance);
      below = std::nextafter(below, 0);
      above = std::nextafter(above, 2);
    }
  }
}

TEST(LaneMath, SplitBinaryIsExact) {
  for (std::uint32_t n = 0; n < kSamples; ++n) {
    const double x = std::exp2(random_numbers().uniform(n, -1022, 1024));
    double mantissa = 0, exponent = 0;
    split_binary(x, mantissa, exponent);
    ASSERT_EQ(std::ldexp(mantissa, static_cast<int>(exponent)), x);
    ASSERT_GE(mantissa, std::nextafter(std::numbers::sqrt2 / 2, 0));
    ASSERT_LT(mantissa, std::numbers::sqrt2);
  }
}

TEST(LaneMath, SineAndCosineWithinAQuarterTurn) {
  double worst_sine = 0, worst_cosine = 0;
  for (std::uint32_t n = 0; n < kSamples; ++n) {
    const double r = n == 0 ? 0.5 : n == 1 ? -0.5 : random_numbers().uniform(n) - 0.5;
    double sine = 0, cosine = 0;
    quarter_sine_cosine(r, sine, cosine);
    const long double exact = std::sin(kQuarterTurn * exactly(r));
    worst_sine =
        std::max(worst_sine, static_cast<double>(std::fabs((exactly(sine) - exact) / exact)));
    worst_cosine = std::max(
        worst_cosine,
        static_cast<double>(std::fabs(exactly(cosine) - std::cos(kQuarterTurn * exactly(r)))));
  }
  // The polynomials' 4e-17 and 1e-16, and the rounding of their evaluation.
  EXPECT_LT(worst_sine, 4e-17 + 2 * 0x1p-53);
  EXPECT_LT(worst_cosine, 1e-16 + 0x1p-53);
}

TEST(LaneMath, SineAndCosineOfAnyAngle) {
  for (const double range : {0.5, 4.0, 100.0, 1e6}) {
    for (std::uint32_t n = 0; n < kSamples; ++n) {
      const double x = random_numbers().uniform(n, -range, range);
      double sine = 0, cosine = 0;
      sine_cosine(x, sine, cosine);
      // 2/π and its product with x are rounded, each by up to |x| 2⁻⁵³, and the result by 2⁻⁵³.
      const long double bound = exactly(2 * std::fabs(x) + 2) * 0x1p-53L;
      ASSERT_LE(std::fabs(exactly(sine) - std::sin(exactly(x))), bound) << x;
      ASSERT_LE(std::fabs(exactly(cosine) - std::cos(exactly(x))), bound) << x;
    }
  }
}

TEST(LaneMath, SineAndCosineAtQuarterTurns) {
  for (int quarter = -9; quarter <= 9; ++quarter) {
    const double x = quarter * std::numbers::pi / 2;
    double sine = 0, cosine = 0;
    sine_cosine(x, sine, cosine);
    EXPECT_NEAR(sine, std::sin(x), 1e-14);
    EXPECT_NEAR(cosine, std::cos(x), 1e-14);
  }
  double sine = 1, cosine = 0;
  sine_cosine(0.0, sine, cosine);
  EXPECT_EQ(sine, 0);
  EXPECT_EQ(cosine, 1);
}

TEST(LaneMath, BoxMuller) {
  for (std::uint32_t n = 0; n < kSamples; ++n) {
    const double u = n == 0 ? 0x1p-33 : random_numbers().uniform(2 * n);
    const double r = random_numbers().uniform(2 * n + 1) - 0.5;
    double along = 0, across = 0;
    box_muller(u, r, along, across);
    const long double length = std::sqrt(-2 * std::log(exactly(u)));
    ASSERT_NEAR(along, static_cast<double>(length * std::cos(kQuarterTurn * exactly(r))), 4e-15);
    ASSERT_NEAR(across, static_cast<double>(length * std::sin(kQuarterTurn * exactly(r))), 4e-15);
  }
}

TEST(LaneMath, LimitedKeepsInsideAndCutsOutside) {
  EXPECT_EQ(limited(0.5, -1.0, 1.0), 0.5);
  EXPECT_EQ(limited(-3.0, -1.0, 1.0), -1);
  EXPECT_EQ(limited(3.0, -1.0, 1.0), 1);
  EXPECT_EQ(limited(3.0, -kInfinity, kInfinity), 3);
  EXPECT_EQ(limited(3.0, 2.0, 2.0), 2);
}

TEST(LaneMath, NearestTakesTiesToEven) {
  for (const double x : {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}) {
    EXPECT_EQ(std::fmod(nearest(x), 2), 0) << x;
    EXPECT_LE(std::fabs(nearest(x) - x), 0.5);
  }
  EXPECT_EQ(nearest(1.49), 1);
  EXPECT_EQ(nearest(-1.51), -2);
}

}  // namespace lifeguard::lane_math_test
