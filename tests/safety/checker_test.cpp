#include "lifeguard/core/numbers.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"

namespace lifeguard::checker_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<FindingKind> kinds(const Findings& findings) {
  std::vector<FindingKind> result;
  for (const Finding& finding : findings) result.push_back(finding.kind);
  return result;
}

struct OneTask {
  Eigen::MatrixXd basis = Eigen::MatrixXd::Constant(1, 1, 0.1);
  Eigen::MatrixXd coefficients = Eigen::MatrixXd::Constant(1, 1, 0.1);
  std::vector<Eigen::VectorXd> anchors = {Eigen::VectorXd::Zero(1)};
  std::vector<SafeSet> safe_sets = {half_space(Eigen::VectorXd::Ones(1), 0.01, "limit")};
  double p = 0;
  double q = kInfinity;

  Findings check() const { return check_safety({basis, coefficients, anchors, safe_sets, p, q}); }
};

TEST(CheckerTest, DecidesRowsToTheLastBit) {
  OneTask task;
  // 0.1 as a double is a little above a tenth: its square is above the double 0.01.
  EXPECT_THAT(kinds(task.check()), ElementsAre(FindingKind::row_violated));
  EXPECT_EQ(task.check().front().message.substr(0, 27), "task 0: \"limit\" is violated");
  task.coefficients(0, 0) = std::nextafter(0.1, 0.0);
  EXPECT_THAT(task.check(), IsEmpty());
  // In doubles 0.1 · 0.1 rounds to a neighbour of 0.01, which hides such differences.
  task.coefficients(0, 0) = 0.1;
  task.safe_sets = {half_space(Eigen::VectorXd::Ones(1), 0.1 * 0.1, "limit")};
  const bool rounded_up = std::fma(0.1, 0.1, -(0.1 * 0.1)) < 0;
  EXPECT_EQ(task.check().empty(), rounded_up);
  // Exactly on the boundary is allowed.
  task.basis(0, 0) = 0.5;
  task.coefficients(0, 0) = 0.25;
  task.safe_sets = {half_space(Eigen::VectorXd::Ones(1), 0.125, "limit")};
  EXPECT_THAT(task.check(), IsEmpty());
  task.anchors[0](0) = std::numeric_limits<double>::denorm_min();
  EXPECT_THAT(kinds(task.check()), ElementsAre(FindingKind::row_violated));
  task.anchors[0](0) = -std::numeric_limits<double>::denorm_min();
  EXPECT_THAT(task.check(), IsEmpty());
}

TEST(CheckerTest, DecidesTheSlackLimitToTheLastBit) {
  OneTask task;
  task.basis(0, 0) = 1;
  task.coefficients(0, 0) = 0;
  Eigen::MatrixXd a(2, 1);
  a << 1, -1;
  const SafeSet set(a, Eigen::Vector2d(3, 4), {"upper", "lower"});
  task.safe_sets = {set.with_slack_limit(5)};  // ‖(3, 4)‖ = 5
  EXPECT_THAT(task.check(), IsEmpty());
  task.safe_sets = {set.with_slack_limit(std::nextafter(5.0, 0.0))};
  EXPECT_THAT(kinds(task.check()), ElementsAre(FindingKind::slack_limit_violated));
}

TEST(CheckerTest, DecidesTheSpectrumToTheLastBit) {
  OneTask task;
  task.safe_sets = {SafeSet(1)};
  task.basis(0, 0) = 3;
  task.p = task.q = 9;
  EXPECT_THAT(task.check(), IsEmpty());
  task.q = 10;
  task.p = std::nextafter(9.0, 10.0);
  EXPECT_THAT(kinds(task.check()), ElementsAre(FindingKind::spectrum_too_small));
  task.p = 0;
  task.q = std::nextafter(9.0, 0.0);
  EXPECT_THAT(kinds(task.check()), ElementsAre(FindingKind::spectrum_too_large));
}

TEST(CheckerTest, FindsASingularBasis) {
  Eigen::MatrixXd basis(3, 3);
  basis << 1, 2, 3, 2, 4, 6, 1, 1, 1;  // rank 2
  const Eigen::MatrixXd coefficients(3, 0);
  SafetyView view{basis, coefficients, {}, {}, 0, kInfinity};
  EXPECT_THAT(check_safety(view), IsEmpty());
  view.smallest_eigenvalue = std::numeric_limits<double>::denorm_min();
  EXPECT_THAT(kinds(check_safety(view)), ElementsAre(FindingKind::spectrum_too_small));
  // More columns than rows: the smallest eigenvalue is 0.
  const Eigen::MatrixXd wide = basis.topRows(2);
  const SafetyView wide_view{wide, coefficients, {}, {}, 1e-300, 1e3};
  EXPECT_THAT(kinds(check_safety(wide_view)), ElementsAre(FindingKind::spectrum_too_small));
}

TEST(CheckerTest, AgreesWithKnownSpectra) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const CounterRandom random(seed, RandomStream::user, 6);
    const int d = 2 + static_cast<int>(seed % 9);
    const int k = 1 + static_cast<int>(seed % static_cast<std::uint64_t>(d));
    std::uint32_t n = 0;
    Eigen::MatrixXd left(d, d);
    Eigen::MatrixXd right(k, k);
    for (double& x : left.reshaped()) x = random.normal(n++);
    for (double& x : right.reshaped()) x = random.normal(n++);
    const Eigen::MatrixXd u = left.householderQr().householderQ();
    const Eigen::MatrixXd v = right.householderQr().householderQ();
    Eigen::VectorXd sigma(k);
    for (double& x : sigma) x = 0.5 + random.uniform(n++);
    const Eigen::MatrixXd basis = u.leftCols(k) * sigma.asDiagonal() * v;
    const double low = sigma.minCoeff() * sigma.minCoeff();
    const double high = sigma.maxCoeff() * sigma.maxCoeff();
    const Eigen::MatrixXd coefficients(k, 0);
    const auto check = [&](double p, double q) {
      return kinds(check_safety({basis, coefficients, {}, {}, p, q}));
    };
    EXPECT_THAT(check(low * (1 - 1e-13), high * (1 + 1e-13)), IsEmpty());
    EXPECT_THAT(check(low * (1 + 1e-13), 9), ElementsAre(FindingKind::spectrum_too_small));
    EXPECT_THAT(check(0, high * (1 - 1e-13)), ElementsAre(FindingKind::spectrum_too_large));
  }
}

// Elimination in integers takes many minutes for a matrix of this size.
TEST(CheckerTest, LargeSpectraAreProvenSoon) {
  const CounterRandom random(7, RandomStream::user, 0);
  Eigen::MatrixXd normals(120, 120);
  for (std::uint32_t i = 0; i < 120 * 120; ++i) normals(i % 120, i / 120) = random.normal(i);
  const Eigen::MatrixXd basis = Eigen::HouseholderQR<Eigen::MatrixXd>(normals).householderQ();
  const Eigen::MatrixXd coefficients(120, 0);
  EXPECT_THAT(check_safety({basis, coefficients, {}, {}, 1 - 1e-9, 1 + 1e-9}), IsEmpty());
}

TEST(CheckerTest, ReportsWhatIsNotFinite) {
  OneTask task;
  task.coefficients(0, 0) = std::nan("");
  EXPECT_THAT(kinds(task.check()), ElementsAre(FindingKind::not_finite));
  EXPECT_THAT(kinds(check_policy(task.safe_sets[0], Eigen::VectorXd::Constant(1, -kInfinity))),
              ElementsAre(FindingKind::not_finite));
  EXPECT_THROW(check_policy(task.safe_sets[0], Eigen::VectorXd::Zero(2)), InvalidInput);
  task.anchors.clear();
  EXPECT_THROW(task.check(), InvalidInput);
}

TEST(CheckerTest, ChecksPoliciesAsExecuted) {
  const SafeSet box =
      gain_box(Eigen::Vector2d(-1, -1), Eigen::Vector2d(1, 1), {"roll gain", "pitch gain"});
  EXPECT_THAT(check_policy(box, Eigen::Vector2d(1, -1)), IsEmpty());
  const Findings findings = check_policy(box, Eigen::Vector2d(std::nextafter(1.0, 2.0), -3));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].row, 0);
  EXPECT_EQ(findings[1].message, "\"pitch gain lower limit\" is violated by 2");
}

TEST(CheckerTest, FindsCertificatesThatClaimTooMuch) {
  OneTask task;
  task.coefficients(0, 0) = 0.05;
  task.safe_sets[0] = task.safe_sets[0].with_slack_limit(1);
  task.p = 0.001;
  task.q = 1;
  const SafetyView view{task.basis, task.coefficients, task.anchors, task.safe_sets, task.p,
                        task.q};
  const Certificate good = certify(view);
  EXPECT_TRUE(good.valid());
  EXPECT_THAT(check_certificate(view, good), IsEmpty());
  Certificate bad = good;
  bad.tasks[0].row_margin += 1e-15;
  EXPECT_THAT(kinds(check_certificate(view, bad)),
              ElementsAre(FindingKind::certificate_overclaims));
  bad = good;
  bad.tasks[0].slack_margin += 1e-14;
  EXPECT_THAT(kinds(check_certificate(view, bad)),
              ElementsAre(FindingKind::certificate_overclaims));
  for (const double infinite : {kInfinity, -kInfinity}) {
    bad = good;
    bad.tasks[0].row_margin = bad.tasks[0].slack_margin = infinite;
    EXPECT_EQ(check_certificate(view, bad).empty(), infinite < 0);
  }
  bad = good;
  bad.fingerprint[0] = bad.fingerprint[0] == '0' ? '1' : '0';
  EXPECT_THAT(kinds(check_certificate(view, bad)), ElementsAre(FindingKind::certificate_mismatch));
  bad = good;
  bad.largest_eigenvalue = 0.5;
  EXPECT_THAT(kinds(check_certificate(view, bad)), ElementsAre(FindingKind::certificate_mismatch));
}

}  // namespace lifeguard::checker_test
