// Standard normals of CounterRandom. The seeds are fixed, so each bound is a test of the generator
// and not of luck: it is passed always or never.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "lifeguard/core/random.hpp"
#include "tests/support/statistics.hpp"

namespace lifeguard::normals_test {

constexpr int kNormals = 1'000'000;

/// The normals of many trajectories, as rollouts draw them.
const std::vector<double>& sample() {
  static const std::vector<double> normals = [] {
    std::vector<double> result;
    for (std::uint32_t block = 0; block < kNormals / 4; ++block) {
      const CounterRandom random(17, RandomStream::exploration, block / 50);
      for (const double z : random.normals(block % 50)) result.push_back(z);
    }
    return result;
  }();
  return normals;
}

TEST(Normals, MomentsUpToTheFourth) {
  double moments[5] = {};
  for (const double z : sample()) {
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(z, k) / kNormals;
  }
  // Five standard deviations of the mean of z^k, whose variance is E z^2k - (E z^k)².
  const double five = 5 / std::sqrt(kNormals);
  EXPECT_NEAR(moments[1], 0, five * std::sqrt(1));
  EXPECT_NEAR(moments[2], 1, five * std::sqrt(3 - 1));
  EXPECT_NEAR(moments[3], 0, five * std::sqrt(15));
  EXPECT_NEAR(moments[4], 3, five * std::sqrt(105 - 9));
}

TEST(Normals, DistributionFunction) {
  EXPECT_LT(test_support::kolmogorov_smirnov(sample(), test_support::standard_normal_distribution),
            1.95);
}

TEST(Normals, EachPlaceOfABlockIsNormal) {
  for (std::size_t place = 0; place < 4; ++place) {
    std::vector<double> part;
    for (std::size_t i = place; i < sample().size(); i += 4) part.push_back(sample()[i]);
    EXPECT_LT(test_support::kolmogorov_smirnov(part, test_support::standard_normal_distribution),
              1.95);
  }
}

TEST(Normals, Tails) {
  for (const double k : {1.0, 2.0, 3.0, 4.0}) {
    int above = 0, below = 0;
    double largest = 0;
    for (const double z : sample()) {
      above += z > k ? 1 : 0;
      below += z < -k ? 1 : 0;
      largest = std::max(largest, std::fabs(z));
    }
    const double expected = kNormals * test_support::standard_normal_distribution(-k);
    EXPECT_NEAR(above, expected, 5 * std::sqrt(expected));
    EXPECT_NEAR(below, expected, 5 * std::sqrt(expected));
    EXPECT_LT(largest, 6.77);
  }
}

TEST(Normals, NumbersOfABlockAreIndependent) {
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i + 1; j < 4; ++j) {
      std::vector<double> first, second, first_square, second_square;
      for (std::size_t n = 0; n < sample().size(); n += 4) {
        first.push_back(sample()[n + i]);
        second.push_back(sample()[n + j]);
        first_square.push_back(first.back() * first.back());
        second_square.push_back(second.back() * second.back());
      }
      EXPECT_LT(std::fabs(test_support::scaled_correlation(first, second)), 4);
      // The two numbers of a pair have their length in common; only this notices a wrong one.
      EXPECT_LT(std::fabs(test_support::scaled_correlation(first_square, second_square)), 4);
      EXPECT_LT(std::fabs(test_support::scaled_correlation(first, second_square)), 4);
      EXPECT_LT(std::fabs(test_support::scaled_correlation(first_square, second)), 4);
    }
  }
}

TEST(Normals, APairHasAUniformAngleAndAnIndependentLength) {
  std::vector<double> turns, lengths;
  for (std::size_t n = 0; n < sample().size(); n += 2) {
    const double x = sample()[n], y = sample()[n + 1];
    turns.push_back(0.5 + std::atan2(y, x) / (2 * std::numbers::pi));
    lengths.push_back((x * x + y * y) / 2);
  }
  EXPECT_LT(test_support::kolmogorov_smirnov(turns, [](double t) { return t; }), 1.95);
  EXPECT_LT(test_support::kolmogorov_smirnov(lengths, [](double l) { return -std::expm1(-l); }),
            1.95);
  EXPECT_LT(std::fabs(test_support::scaled_correlation(turns, lengths)), 4);
}

}  // namespace lifeguard::normals_test
