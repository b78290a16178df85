#include "lifeguard/runs/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "lifeguard/core/numbers.hpp"

namespace lifeguard::verdict_test {

using testing::ElementsAre;

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  double uniform() { return (static_cast<double>(generator_() >> 11U) + 0.5) / 9007199254740992.0; }
  double cauchy() { return std::tan(3.14159265358979323846 * (uniform() - 0.5)); }

 private:
  std::mt19937_64 generator_;
};

TEST(SignTest, IsTheShareOfAllOutcomesCountedOneByOne) {
  for (int n = 1; n <= 16; ++n) {
    std::vector<int> outcomes(static_cast<std::size_t>(n) + 1, 0);
    for (unsigned signs = 0; signs < (1U << static_cast<unsigned>(n)); ++signs) {
      ++outcomes[static_cast<std::size_t>(__builtin_popcount(signs))];
    }
    int at_least = 0;
    for (int count = n; count >= 0; --count) {
      at_least += outcomes[static_cast<std::size_t>(count)];
      EXPECT_NEAR(probability_of_at_least(count, n), std::ldexp(at_least, -n), 1e-14);
    }
    EXPECT_EQ(probability_of_at_least(n + 1, n), 0);
  }
  // (1 + 20 + 190) / 2^20, and one value of a large sample by its normal approximation with
  // continuity correction: P(X >= 5100), 10000 throws, z = 1.99.
  EXPECT_NEAR(probability_of_at_least(18, 20), 211.0 / 1048576, 1e-15);
  EXPECT_NEAR(probability_of_at_least(5100, 10000), 0.02330, 1e-5);
}

TEST(SignTest, ATieIsNotBetterAndOneThatNeverArrivesIsWorse) {
  const SeedCount count = count_positive({1, 0, kInfinity, -kInfinity, -2, 1e-300});
  EXPECT_EQ(count.holds, 3);
  EXPECT_EQ(count.seeds, 6);
}

TEST(Verdicts, NeedEnoughSeeds) {
  const auto judged = [](int holds, int seeds) {
    return judge_together({weigh({{holds, seeds}})}).front();
  };
  EXPECT_EQ(judged(2, 2), Verdict::undecided);
  EXPECT_EQ(judged(5, 5), Verdict::undecided);
  EXPECT_EQ(judged(6, 6), Verdict::confirmed);  // 2 / 2^6 = 3.1 %
  EXPECT_EQ(judged(0, 6), Verdict::refuted);
  EXPECT_EQ(judged(14, 20), Verdict::undecided);  // 11.5 %
  EXPECT_EQ(judged(15, 20), Verdict::confirmed);  // 4.1 %
  EXPECT_EQ(judged(5, 20), Verdict::refuted);
  EXPECT_EQ(judged(0, 0), Verdict::undecided);
}

TEST(Verdicts, AClaimOfPartsIsConfirmedByAllAndRefutedByOne) {
  const auto judged = [](const std::vector<SeedCount>& parts) {
    return judge_together({weigh(parts)}).front();
  };
  EXPECT_EQ(judged({{20, 20}, {15, 20}}), Verdict::confirmed);
  EXPECT_EQ(judged({{20, 20}, {14, 20}}), Verdict::undecided);
  EXPECT_EQ(judged({{20, 20}, {1, 20}}), Verdict::refuted);
  // One of many parts must be lower to refute, since chance has as many tries.
  EXPECT_EQ(judged({{5, 20}}), Verdict::refuted);
  EXPECT_EQ(judged({{5, 20}, {15, 20}, {15, 20}}), Verdict::undecided);
  EXPECT_EQ(judged({}), Verdict::undecided);
}

TEST(Verdicts, HolmAsInItsDefinition) {
  // p-values of 0.01, 0.04, 0.03, 0.005: compared with 0.0125, 0.0167, 0.025 and 0.05 from the
  // smallest on, until one is too large: 0.005 and 0.01 pass, 0.03 does not.
  const auto evidence = [](double p) { return Evidence{p / 2, 1}; };
  EXPECT_THAT(
      judge_together({evidence(0.01), evidence(0.04), evidence(0.03), evidence(0.005)}),
      ElementsAre(Verdict::confirmed, Verdict::undecided, Verdict::undecided, Verdict::confirmed));
  EXPECT_THAT(judge_together({Evidence{1, 0.001}, Evidence{0.001, 1}}),
              ElementsAre(Verdict::refuted, Verdict::confirmed));
  EXPECT_TRUE(judge_together({}).empty());
}

/// How many of many studies of 20 seeds come to each verdict.
std::vector<double> shares(const std::function<double(Random&)>& advantage) {
  constexpr int kStudies = 4000;
  Random random(11);
  std::vector<double> result(3, 0);
  for (int study = 0; study < kStudies; ++study) {
    std::vector<double> advantages(20);
    for (double& value : advantages) value = advantage(random);
    const auto verdict = judge_together({weigh({count_positive(advantages)})}).front();
    result[static_cast<std::size_t>(verdict)] += 1.0 / kStudies;
  }
  return result;
}

TEST(Verdicts, TwoThatAreAlikeAreUndecidedHoweverHeavyTheTails) {
  const std::vector<std::function<double(Random&)>> alike = {
      [](Random& r) { return r.cauchy(); }, [](Random& r) { return std::pow(r.cauchy(), 5); },
      // Skewed: half of the seeds gain little, half lose much. A signed-rank test says "worse"
      // here more often than it may.
      [](Random& r) { return r.uniform() < 0.5 ? r.uniform() : -std::exp(20 * r.uniform()); },
      // Censored: a third of the seeds never arrive, with one method or the other.
      [](Random& r) {
        const double u = r.uniform();
        return u < 1.0 / 6 ? kInfinity : u < 1.0 / 3 ? -kInfinity : r.cauchy();
      }};
  for (const auto& advantage : alike) {
    const std::vector<double> share = shares(advantage);
    // The sign test on 20 seeds has an exact size of 4.14 %; three standard errors are 0.95 %.
    EXPECT_NEAR(share[0] + share[1], 0.0414, 0.0095);
  }
}

TEST(Verdicts, TiesNeverConfirm) {
  // Alike and equal on half of the seeds: neither is better on most seeds, and that is what is
  // said.
  const std::vector<double> share =
      shares([](Random& r) { return r.uniform() < 0.5 ? 0 : r.cauchy(); });
  EXPECT_LT(share[0], 0.001);
  EXPECT_GT(share[1], 0.5);
}

TEST(Verdicts, FindWhatHoldsOnMostSeeds) {
  // Exact powers with 20 seeds: P(Bin(20, 0.9) >= 15) = 98.9 %, P(Bin(20, 0.75) >= 15) = 61.7 %.
  EXPECT_NEAR(shares([](Random& r) { return 0.9 - r.uniform(); })[0], 0.989, 0.006);
  EXPECT_NEAR(shares([](Random& r) { return 0.75 - r.uniform(); })[0], 0.617, 0.025);
  EXPECT_NEAR(shares([](Random& r) { return 0.1 - r.uniform(); })[1], 0.989, 0.006);
}

TEST(Verdicts, OfAPageAreAllRightAsOftenAsPromised) {
  // A page of 30 claims, 20 of them about methods that are alike: no word may be said about those.
  constexpr int kPages = 2000;
  Random random(5);
  int wrong_pages = 0;
  int found = 0;
  for (int page = 0; page < kPages; ++page) {
    std::vector<Evidence> claims;
    for (int c = 0; c < 30; ++c) {
      std::vector<SeedCount> parts(c % 3 == 0 ? 1 : 2);
      for (SeedCount& part : parts) {
        std::vector<double> advantages(20);
        for (double& value : advantages) value = random.cauchy() + (c < 20 ? 0 : 30);
        part = count_positive(advantages);
      }
      claims.push_back(weigh(parts));
    }
    const std::vector<Verdict> verdicts = judge_together(claims);
    wrong_pages += std::any_of(verdicts.begin(), verdicts.begin() + 20,
                               [](Verdict v) { return v != Verdict::undecided; })
                       ? 1
                       : 0;
    found +=
        static_cast<int>(std::count(verdicts.begin() + 20, verdicts.end(), Verdict::confirmed));
  }
  EXPECT_LE(wrong_pages, 0.05 * kPages);
  EXPECT_GE(found, 0.9 * 10 * kPages);
}

}  // namespace lifeguard::verdict_test
