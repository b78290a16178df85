// The checker's quick look at one policy must decide as rational numbers do, also where doubles
// cannot.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lifeguard/core/numbers.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "tests/support/exact.hpp"

namespace lifeguard::exact_policy_test {

bool obeys_by_rationals(const SafeSet& set, const Eigen::VectorXd& alpha) {
  for (int row = 0; row < set.rows(); ++row) {
    if (test::exact_margin(set, row, alpha) < 0) return false;
  }
  const test::Rational limit = set.has_slack_limit() ? test::exact(set.slack_limit()) : 0;
  return !set.has_slack_limit() || test::exact_squared_slack(set, alpha) <= limit * limit;
}

TEST(ExactPolicy, IsDecidedAsByRationalNumbers) {
  const CounterRandom random(5, RandomStream::user, 0);
  std::uint32_t n = 0;
  int obeyed = 0;
  int broken = 0;
  for (int attempt = 0; attempt < 3000; ++attempt) {
    const int d = 1 + attempt % 4;
    const int rows = 1 + attempt % 3;
    const double scale =
        std::pow(10.0, random.uniform(n++, -160, 160) * (attempt % 5 == 0 ? 1 : 0));
    Eigen::MatrixXd a(rows, d);
    Eigen::VectorXd alpha(d);
    for (int i = 0; i < a.size(); ++i) a.data()[i] = random.uniform(n++, -1, 1);
    for (int i = 0; i < d; ++i) alpha(i) = scale * random.uniform(n++, -1, 1);
    // On the boundary but for some last bits; every third far from it.
    Eigen::VectorXd b = a * alpha;
    for (int row = 0; row < rows; ++row) {
      b(row) += attempt % 3 == 0 ? random.uniform(n++, -0.2, 1) * scale
                                 : random.uniform(n++, -0.5, 4) * 1e-16 * std::abs(b(row));
    }
    std::vector<std::string> names;
    for (int row = 0; row < rows; ++row) names.push_back(std::to_string(row));
    double slack_limit = kInfinity;
    if (attempt % 2 == 0) {
      slack_limit = (b - a * alpha).norm() * (1 + random.uniform(n++, -1, 3) * 1e-15);
      if (!(slack_limit > 0)) slack_limit = std::numeric_limits<double>::denorm_min();
    }
    const SafeSet set(a, b, names, slack_limit);
    const bool expected = obeys_by_rationals(set, alpha);
    (expected ? obeyed : broken) += 1;
    ASSERT_EQ(obeys_exactly(set, alpha), expected) << "attempt " << attempt;
    ASSERT_EQ(check_policy(set, alpha).empty(), expected) << "attempt " << attempt;
  }
  EXPECT_GT(obeyed, 500);
  EXPECT_GT(broken, 500);
}

TEST(ExactPolicy, NothingBeyondTheFiniteObeys) {
  const SafeSet set(Eigen::MatrixXd::Ones(1, 1), Eigen::VectorXd::Ones(1), {"limit"});
  EXPECT_TRUE(obeys_exactly(set, Eigen::VectorXd::Zero(1)));
  EXPECT_TRUE(obeys_exactly(set, Eigen::VectorXd::Constant(1, -1e308)));
  EXPECT_FALSE(obeys_exactly(set, Eigen::VectorXd::Constant(1, 1e308)));
  EXPECT_FALSE(obeys_exactly(set, Eigen::VectorXd::Constant(1, kNaN)));
  EXPECT_FALSE(obeys_exactly(set, Eigen::VectorXd::Constant(1, -kInfinity)));
  const SafeSet everything(2);
  EXPECT_TRUE(obeys_exactly(everything, Eigen::VectorXd::Constant(2, 1e300)));
}

TEST(ExactPolicy, AClaimHoldsUpToTheExactMargin) {
  const SafeSet set(Eigen::MatrixXd::Constant(1, 1, 0.1), Eigen::VectorXd::Ones(1), {"limit"}, 2);
  const Eigen::VectorXd alpha = Eigen::VectorXd::Constant(1, 3);
  // 1 - 3 · 0.1 in doubles is above what it is for the double 0.1.
  const double least = std::nextafter(0.7, 0.0);
  const auto holds = [&](double rows, double slack) {
    TaskCertificate claim;
    claim.worst_row = 0;
    claim.row_margin = rows;
    claim.slack_margin = slack;
    return claim_holds(set, alpha, claim);
  };
  EXPECT_TRUE(holds(least - 1e-15, 1.2));
  EXPECT_FALSE(holds(0.7 + 1e-15, 1.2));
  EXPECT_FALSE(holds(0.6, 1.4));
  EXPECT_FALSE(holds(kInfinity, 1.2));
}

}  // namespace lifeguard::exact_policy_test
