#include "lifeguard/core/random.hpp"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "tests/support/statistics.hpp"

namespace lifeguard::random_test {

using Words = std::array<std::uint32_t, 4>;

TEST(Random, KnownAnswersOfPhilox) {
  // Philox4x32-10 in the file kat_vectors of Random123: no bits, all bits, the digits of π.
  EXPECT_EQ(CounterRandom(0, RandomStream{0}, 0).words(0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(CounterRandom(~0ull, RandomStream{~0u}, ~0ull).words(~0u),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(CounterRandom(0x299f31d0'a4093822, RandomStream{0x85a308d3}, 0x03707344'13198a2e)
                .words(0x243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, WordsAreThoseOfRandom123) {
  for (std::uint32_t n = 0; n < 1000; ++n) {
    const Words w = CounterRandom(99, RandomStream::user, n).words(0);
    const std::uint64_t seed = std::uint64_t{w[0]} << 32 | w[1];
    const std::uint64_t index = std::uint64_t{w[2]} << 32 | w[3];
    const r123::Philox4x32::ctr_type counter = {{n, 1, w[3], w[2]}};
    const r123::Philox4x32::key_type key = {{w[1], w[0]}};
    const auto expected = r123::Philox4x32()(counter, key);
    const Words actual = CounterRandom(seed, RandomStream::exploration, index).words(n);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(actual[i], expected[i]);
  }
}

TEST(Random, UniformsAreTheWordsOnAnOpenInterval) {
  const CounterRandom random(3, RandomStream::user, 4);
  for (std::uint32_t block = 0; block < 20'000; ++block) {
    const Words words = random.words(block);
    const auto uniforms = random.uniforms(block);
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(uniforms[i], (words[i] + 0.5) / 4294967296.0);
      ASSERT_GT(uniforms[i], 0);
      ASSERT_LT(uniforms[i], 1);
    }
  }
}

TEST(Random, UniformsAreUniform) {
  std::vector<double> sample;
  for (std::uint32_t n = 0; n < 200'000; ++n) {
    sample.push_back(CounterRandom(5, RandomStream::start_state, n / 4).uniforms(0)[n % 4]);
  }
  EXPECT_LT(test_support::kolmogorov_smirnov(sample, [](double x) { return x; }), 1.95);
}

TEST(Random, SingleNumbersAreThoseOfTheBlocks) {
  const CounterRandom random(7, RandomStream::user, 8);
  for (std::uint32_t n = 0; n < 100; ++n) {
    EXPECT_EQ(random.uniform(n), random.uniforms(n / 4)[n % 4]);
    EXPECT_EQ(random.normal(n), random.normals(n / 4)[n % 4]);
    EXPECT_EQ(random.uniform(n, -3, 5), -3 + 8 * random.uniform(n));
  }
}

TEST(Random, NoTwoSeedsStreamsIndicesOrBlocksShareABlock) {
  // Both halves of 64-bit seeds and indices count.
  const std::vector<std::uint64_t> numbers = {0,          1,          2,          3,
                                              1ull << 31, 1ull << 32, 1ull << 63, ~0ull};
  std::set<Words> seen;
  std::size_t drawn = 0;
  for (const std::uint64_t seed : numbers) {
    for (std::uint32_t stream = 0; stream <= 5; ++stream) {
      for (const std::uint64_t index : numbers) {
        for (std::uint32_t block = 0; block < 8; ++block) {
          seen.insert(CounterRandom(seed, RandomStream{stream}, index).words(block));
          ++drawn;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(Random, NeighbouringSequencesAreUncorrelated) {
  constexpr int kBlocks = 10'000;
  const auto sequence = [](std::uint64_t seed, RandomStream stream, std::uint64_t index,
                           std::uint32_t first_block) {
    std::vector<double> sample;
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      for (const double u : CounterRandom(seed, stream, index).uniforms(first_block + block)) {
        sample.push_back(u);
      }
    }
    return sample;
  };
  const auto base = sequence(1, RandomStream::exploration, 1, 0);
  const std::vector<std::vector<double>> others = {
      sequence(2, RandomStream::exploration, 1, 0), sequence(1, RandomStream::parameters, 1, 0),
      sequence(1, RandomStream::exploration, 2, 0), sequence(1, RandomStream::exploration, 1, 1)};
  for (const auto& other : others) {
    EXPECT_LT(std::fabs(test_support::scaled_correlation(base, other)), 4);
  }
}

TEST(DeriveSeed, IsAPureFunctionOfBothNumbers) {
  const Words w = CounterRandom(42, RandomStream::derived_seed, 7).words(0);
  EXPECT_EQ(derive_seed(42, 7), std::uint64_t{w[1]} << 32 | w[0]);
  EXPECT_EQ(derive_seed(42, 7), derive_seed(42, 7));
}

TEST(DeriveSeed, ChildrenAndGrandchildrenDiffer) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    seeds.insert(seed);
    for (std::uint64_t child = 0; child < 20; ++child) {
      seeds.insert(derive_seed(seed, child));
      seeds.insert(derive_seed(derive_seed(seed, child), child));
    }
  }
  EXPECT_EQ(seeds.size(), 20u + 20u * 20u * 2u);
}

TEST(DeriveSeed, EveryInputBitMovesHalfOfTheOutputBits) {
  constexpr int kSamples = 200;
  for (int bit = 0; bit < 64; ++bit) {
    int seed_flips = 0, child_flips = 0;
    for (std::uint64_t n = 0; n < kSamples; ++n) {
      seed_flips += std::popcount(derive_seed(n, n) ^ derive_seed(n ^ (1ull << bit), n));
      child_flips += std::popcount(derive_seed(n, n) ^ derive_seed(n, n ^ (1ull << bit)));
    }
    // 12,800 coins: five standard deviations are 283.
    EXPECT_NEAR(seed_flips, 32 * kSamples, 283);
    EXPECT_NEAR(child_flips, 32 * kSamples, 283);
  }
}

}  // namespace lifeguard::random_test
