#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/safety/prove/fingerprint.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/support/exact.hpp"

namespace lifeguard::certificate_test {

using test::exact;
using test::Rational;
using ::testing::HasSubstr;

/// A learner's knowledge, as the view sees it.
struct Knowledge {
  Eigen::MatrixXd basis;
  Eigen::MatrixXd coefficients;
  std::vector<Eigen::VectorXd> anchors;
  std::vector<SafeSet> safe_sets;
  double p = 0;
  double q = kInfinity;

  SafetyView view() const { return {basis, coefficients, anchors, safe_sets, p, q}; }
};

/// Rows that pass within some units in the last place of each task's policy, on either side.
Knowledge near_boundary(std::uint64_t seed) {
  const CounterRandom random(seed, RandomStream::user, 5);
  std::uint32_t n = 0;
  const auto normals = [&](int rows, int columns) {
    Eigen::MatrixXd m(std::max(rows, 1), std::max(columns, 1));
    for (long i = 0; i < m.size(); ++i) {
      m.data()[i] = std::ldexp(random.normal(n), static_cast<int>(n % 13) - 6);
      ++n;
    }
    return m;
  };
  const int d = 1 + static_cast<int>(seed % 12);
  const int k = 1 + static_cast<int>(random.uniform(n++) * d);
  const int tasks = 1 + static_cast<int>(seed % 3);
  Knowledge result;
  result.basis = normals(d, k);
  result.coefficients = normals(k, tasks);
  for (int t = 0; t < tasks; ++t) {
    const int m = 1 + static_cast<int>(random.uniform(n++) * 6);
    result.anchors.push_back(normals(d, 1));
    const Eigen::VectorXd alpha = result.anchors.back() + result.basis * result.coefficients.col(t);
    const Eigen::MatrixXd a = normals(m, d);
    Eigen::VectorXd b = a * alpha;
    std::vector<std::string> names;
    for (int i = 0; i < m; ++i) {
      const int steps = static_cast<int>(random.uniform(n++) * 120) - 30;
      for (int s = 0; s < std::abs(steps); ++s) b(i) = std::nextafter(b(i), steps * kInfinity);
      names.push_back("row " + std::to_string(i));
    }
    SafeSet set(a, b, names);
    // Half of the tasks have a slack limit that is just about met.
    if (random.uniform(n++) < 0.5) {
      const double norm = (b - a * alpha).norm();
      set = set.with_slack_limit(norm * (1 + 1e-2 * random.normal(n++)) + 1e-300);
    }
    result.safe_sets.push_back(set);
  }
  return result;
}

/// b - A (ᾱ + L s) in rational numbers, by other code than the checker's.
std::vector<Rational> exact_slack(const Knowledge& knowledge, int task) {
  const SafeSet& set = knowledge.safe_sets[static_cast<std::size_t>(task)];
  std::vector<Rational> alpha;
  for (int i = 0; i < set.parameters(); ++i) {
    Rational sum = exact(knowledge.anchors[static_cast<std::size_t>(task)](i));
    for (long j = 0; j < knowledge.basis.cols(); ++j) {
      sum += exact(knowledge.basis(i, j)) * exact(knowledge.coefficients(j, task));
    }
    alpha.push_back(sum);
  }
  std::vector<Rational> result;
  for (int row = 0; row < set.rows(); ++row) {
    Rational slack = exact(set.limits()(row));
    for (int i = 0; i < set.parameters(); ++i) {
      slack -= exact(set.coefficients()(row, i)) * alpha[static_cast<std::size_t>(i)];
    }
    result.push_back(slack);
  }
  return result;
}

TEST(CertificateTest, NeverClaimsMoreThanHolds) {
  int safe = 0;
  int unsafe = 0;
  int cautious = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Knowledge knowledge = near_boundary(seed);
    const Certificate certificate = certify(knowledge.view());
    const Findings findings = check_safety(knowledge.view());
    for (int t = 0; t < static_cast<int>(certificate.tasks.size()); ++t) {
      const TaskCertificate& task = certificate.tasks[static_cast<std::size_t>(t)];
      const SafeSet& set = knowledge.safe_sets[static_cast<std::size_t>(t)];
      const std::vector<Rational> slack = exact_slack(knowledge, t);
      bool holds = true;
      Rational squares = 0;
      for (int row = 0; row < set.rows(); ++row) {
        const Rational& s = slack[static_cast<std::size_t>(row)];
        ASSERT_LE(exact(task.row_margin), s) << "seed " << seed;
        holds = holds && s >= 0;
        squares += s * s;
        // The checker agrees with these numbers, row by row.
        const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
          return f.kind == FindingKind::row_violated && f.task == t && f.row == row;
        });
        ASSERT_EQ(found, s < 0) << "seed " << seed;
      }
      if (set.has_slack_limit()) {
        const Rational c = exact(set.slack_limit());
        const Rational rest = c - exact(task.slack_margin);
        ASSERT_GE(rest * rest, squares) << "seed " << seed;
        const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
          return f.kind == FindingKind::slack_limit_violated && f.task == t;
        });
        ASSERT_EQ(found, squares > c * c) << "seed " << seed;
        holds = holds && squares <= c * c;
      }
      // Nor does the policy as it is executed, in doubles, leave the set.
      if (task.safe()) {
        const PolicyParameters policy =
            policy_parameters(knowledge.basis, knowledge.anchors[static_cast<std::size_t>(t)],
                              knowledge.coefficients.col(t));
        ASSERT_TRUE(check_policy(set, policy.value).empty());
      }
      ASSERT_TRUE(!task.safe() || holds);
      safe += task.safe();
      unsafe += !holds;
      cautious += holds && !task.safe();
    }
    const Findings claims = check_certificate(knowledge.view(), certificate);
    ASSERT_EQ(claims.size(), findings.size()) << "seed " << seed << ": " << claims.back().message;
  }
  // The cases lie on both sides, and in between.
  EXPECT_GT(safe, 20);
  EXPECT_GT(unsafe, 20);
  EXPECT_GT(cautious, 20);
}

TEST(CertificateTest, BoundsTheRoundingOfThePolicy) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Knowledge knowledge = near_boundary(seed);
    const Eigen::VectorXd s = knowledge.coefficients.col(0);
    const PolicyParameters policy = policy_parameters(knowledge.basis, knowledge.anchors[0], s);
    for (long i = 0; i < policy.value.size(); ++i) {
      Rational sum = exact(knowledge.anchors[0](i));
      double backwards = 0;
      for (long j = s.size() - 1; j >= 0; --j) {
        sum += exact(knowledge.basis(i, j)) * exact(s(j));
        backwards += knowledge.basis(i, j) * s(j);
      }
      backwards += knowledge.anchors[0](i);
      ASSERT_LE(abs(Rational(exact(policy.value(i)) - sum)), exact(policy.error(i)));
      ASSERT_LE(std::abs(policy.value(i) - backwards), policy.error(i));
    }
  }
}

Knowledge simple() {
  Knowledge result;
  result.basis = Eigen::MatrixXd::Identity(2, 2);
  result.coefficients = Eigen::MatrixXd::Zero(2, 2);
  result.coefficients.col(1) << 0.5, -0.25;
  result.anchors = {Eigen::Vector2d(0, 0), Eigen::Vector2d(0.25, 0.25)};
  const SafeSet box =
      gain_box(Eigen::Vector2d(-1, -1), Eigen::Vector2d(1, 1), {"roll gain", "pitch gain"});
  result.safe_sets = {box, box.with_slack_limit(4)};
  result.p = 0.25;
  result.q = 4;
  return result;
}

TEST(CertificateTest, SaysWhatHolds) {
  const Knowledge knowledge = simple();
  const Certificate certificate = certify(knowledge.view());
  EXPECT_TRUE(certificate.valid());
  ASSERT_EQ(certificate.tasks.size(), 2U);
  EXPECT_EQ(certificate.tasks[1].worst_row_name, "roll gain upper limit");
  EXPECT_NEAR(certificate.tasks[1].row_margin, 0.25, 1e-14);
  EXPECT_LE(certificate.tasks[1].row_margin, 0.25);
  // Slacks (0.25, 1.75, 1, 1).
  EXPECT_NEAR(certificate.tasks[1].slack_margin, 4 - std::sqrt(0.0625 + 3.0625 + 2), 1e-14);
  EXPECT_EQ(certificate.tasks[0].slack_margin, kInfinity);
  EXPECT_EQ(certificate.worst_task(), 1);
  EXPECT_EQ(certificate.spectrum, Eigen::Vector2d(1, 1));
  EXPECT_EQ(certificate.fingerprint.size(), 32U);
  EXPECT_TRUE(check_certificate(knowledge.view(), certificate).empty());
}

TEST(CertificateTest, FindsWhatDoesNotHold) {
  Knowledge knowledge = simple();
  knowledge.coefficients(0, 1) = 1;
  EXPECT_FALSE(certify(knowledge.view()).tasks[1].safe());
  EXPECT_FALSE(certify(knowledge.view()).valid());
  knowledge = simple();
  knowledge.p = 1 + 1e-9;
  EXPECT_FALSE(certify(knowledge.view()).spectrum_holds);
  knowledge = simple();
  knowledge.q = 1 - 1e-9;
  knowledge.p = 0;
  EXPECT_FALSE(certify(knowledge.view()).spectrum_holds);
  knowledge.q = kInfinity;
  knowledge.basis(0, 0) = 0;
  EXPECT_TRUE(certify(knowledge.view()).spectrum_holds);
  knowledge.coefficients(0, 1) = std::nan("");
  const Certificate broken = certify(knowledge.view());
  EXPECT_FALSE(broken.valid());
  EXPECT_EQ(broken.tasks[1].row_margin, -kInfinity);
  // What is not a number in L reaches every task, even one whose coefficients are 0.
  knowledge.basis(0, 0) = kInfinity;
  EXPECT_FALSE(certify(knowledge.view()).tasks[0].safe());
}

TEST(CertificateTest, TheFingerprintSeesEveryNumberAndName) {
  const std::string before = simple().view().fingerprint();
  EXPECT_EQ(before, simple().view().fingerprint());
  const auto changed = [&](auto change) {
    Knowledge knowledge = simple();
    change(knowledge);
    return knowledge.view().fingerprint() != before;
  };
  EXPECT_TRUE(changed([](Knowledge& k) { k.basis(1, 0) = 1e-300; }));
  EXPECT_TRUE(changed([](Knowledge& k) { k.coefficients(0, 0) = -0.0; }));
  EXPECT_TRUE(changed([](Knowledge& k) { k.anchors[1](1) = std::nextafter(0.25, 1); }));
  EXPECT_TRUE(changed([](Knowledge& k) { k.p = 0.125; }));
  EXPECT_TRUE(changed([](Knowledge& k) { k.q = 5; }));
  EXPECT_TRUE(changed([](Knowledge& k) { std::swap(k.safe_sets[0], k.safe_sets[1]); }));
  EXPECT_TRUE(changed([](Knowledge& k) { k.safe_sets[1] = k.safe_sets[1].with_slack_limit(5); }));
  EXPECT_TRUE(changed([](Knowledge& k) {
    k.safe_sets[0] =
        gain_box(Eigen::Vector2d(-1, -1), Eigen::Vector2d(1, 1), {"roll gain", "pitch"});
  }));
}

TEST(FingerprintTest, IsTheSameEverywhere) {
  // Saved certificates are compared with it for years: these must never change.
  Fingerprint empty;
  EXPECT_EQ(empty.hex(), "99aa06d3014798d86001c324468d497f");
  Fingerprint some;
  some.add(1.5);
  some.add(std::string_view("roll gain"));
  Eigen::MatrixXd m(2, 2);
  m << 1, 2, 3, 4;
  some.add(m);
  some.add(Eigen::VectorXd(m.col(0)));
  EXPECT_EQ(some.hex(), "5dd549391390d160aae9bd83f078fb60");
}

}  // namespace lifeguard::certificate_test
