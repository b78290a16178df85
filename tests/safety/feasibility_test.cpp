#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/support/exact.hpp"

namespace lifeguard::feasibility_test {

using test::exact;
using test::Rational;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> numbered(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("row " + std::to_string(i));
  return names;
}

SafeSet random_set(std::uint64_t seed, int d, int m, double offset) {
  if (d < 1 || m < 1) return SafeSet(1);  // tells the compiler that sizes are positive
  const CounterRandom random(seed, RandomStream::user, 3);
  std::uint32_t n = 0;
  Eigen::MatrixXd a(m, d);
  Eigen::VectorXd b(m);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < d; ++j) a(i, j) = random.normal(n++);
    a.row(i) *= std::exp(random.normal(n++));
    b(i) = a.row(i).norm() * (random.normal(n++) + offset);
  }
  return SafeSet(a, b, numbered(m));
}

SafeSet only_rows(const SafeSet& set, const std::vector<int>& rows) {
  Eigen::MatrixXd a(static_cast<long>(rows.size()), set.parameters());
  Eigen::VectorXd b(static_cast<long>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    a.row(static_cast<long>(i)) = set.coefficients().row(rows[i]);
    b(static_cast<long>(i)) = set.limits()(rows[i]);
  }
  return SafeSet(a, b, numbered(static_cast<int>(rows.size())));
}

SafeSet without_row(const SafeSet& set, int row) {
  std::vector<int> rows;
  for (int i = 0; i < set.rows(); ++i) {
    if (i != row) rows.push_back(i);
  }
  return only_rows(set, rows);
}

/// Σ y_i b_i after checking y > 0 and Σ y_i a_i = 0, all in rational numbers.
Rational combined(const SafeSet& set, const Contradiction& contradiction) {
  Rational limit = 0;
  std::vector<Rational> sum(static_cast<std::size_t>(set.parameters()), 0);
  EXPECT_FALSE(contradiction.rows.empty());
  EXPECT_EQ(contradiction.exact_multipliers.size(), contradiction.rows.size());
  for (std::size_t i = 0; i < contradiction.rows.size(); ++i) {
    const int row = contradiction.rows[i];
    const Rational y(contradiction.exact_multipliers[i]);
    EXPECT_GT(y, 0);
    EXPECT_EQ(contradiction.names[i], set.name(row));
    limit += y * exact(set.limits()(row));
    for (int j = 0; j < set.parameters(); ++j) {
      sum[static_cast<std::size_t>(j)] += y * exact(set.coefficients()(row, j));
    }
  }
  for (const Rational& s : sum) EXPECT_EQ(s, 0);
  return limit;
}

/// The largest r with A α + n r ≤ b by trying all bases: an independent, slow computation.
double brute_force_radius(const SafeSet& set) {
  const int d = set.parameters();
  const int m = set.rows();
  Eigen::MatrixXd extended(m, d + 1);
  extended << set.coefficients(), set.coefficients().rowwise().norm();
  double best = -kInfinity;
  std::vector<bool> chosen(static_cast<std::size_t>(m), false);
  std::fill(chosen.begin(), chosen.begin() + d + 1, true);
  do {
    Eigen::MatrixXd square(d + 1, d + 1);
    Eigen::VectorXd right(d + 1);
    for (int i = 0, next = 0; i < m; ++i) {
      if (!chosen[static_cast<std::size_t>(i)]) continue;
      square.row(next) = extended.row(i);
      right(next++) = set.limits()(i);
    }
    const Eigen::FullPivLU<Eigen::MatrixXd> lu(square);
    if (!lu.isInvertible()) continue;
    const Eigen::VectorXd x = lu.solve(right);
    if ((set.limits() - extended * x).minCoeff() > -1e-9 * (1 + x.norm())) {
      best = std::max(best, x(d));
    }
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return best;
}

TEST(FeasibilityTest, FindsTheChebyshevCentreOrTheContradiction) {
  int empty = 0;
  int full = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const int d = 1 + static_cast<int>(seed % 4);
    SafeSet set = random_set(seed, d, 9, d == 1 ? 1.0 : 0.3);
    set = intersect({set, gain_box(Eigen::VectorXd::Constant(d, -3),
                                   Eigen::VectorXd::Constant(d, 3), default_gain_names(1, d))});
    const FeasibilityResult result = check_feasibility(set);
    const double radius = brute_force_radius(set);
    if (radius > 1e-9) {
      ++full;
      ASSERT_EQ(result.status, FeasibilityStatus::strictly_feasible) << "seed " << seed;
      ASSERT_NEAR(result.radius, radius, 1e-9) << "seed " << seed;
      ASSERT_TRUE(strictly_safe(set, result.point));
    } else if (radius < -1e-9) {
      ++empty;
      ASSERT_EQ(result.status, FeasibilityStatus::empty) << "seed " << seed;
      ASSERT_LT(combined(set, result.contradiction), 0) << "seed " << seed;
      ASSERT_NEAR(result.contradiction.multipliers.maxCoeff(), 1, 1e-15);
      ASSERT_LT(result.contradiction.combined_limit, 0);
      // Nothing superfluous: without any one of the named rows the others agree.
      const SafeSet core = only_rows(set, result.contradiction.rows);
      for (int row = 0; core.rows() > 1 && row < core.rows(); ++row) {
        ASSERT_EQ(check_feasibility(without_row(core, row)).status,
                  FeasibilityStatus::strictly_feasible);
      }
    }
  }
  EXPECT_GT(empty, 40);
  EXPECT_GT(full, 40);
}

TEST(FeasibilityTest, NamesTheRowsThatContradictEachOther) {
  const SafeSet set = intersect(
      {gain_box(Eigen::Vector2d(-1, -1), Eigen::Vector2d(1, 1), {"roll gain", "pitch gain"}),
       half_space(Eigen::Vector2d(-1, -2), -3.5, "enough authority")});
  const FeasibilityResult result = check_feasibility(set);
  EXPECT_EQ(result.status, FeasibilityStatus::empty);
  EXPECT_THAT(
      result.contradiction.names,
      UnorderedElementsAre("roll gain upper limit", "pitch gain upper limit", "enough authority"));
  EXPECT_THAT(result.contradiction.exact_multipliers, ElementsAre("1", "2", "1"));
  EXPECT_EQ(result.contradiction.combined_limit, -0.25);  // of multipliers (0.5, 1, 0.5)
  EXPECT_THAT(result.message(), HasSubstr("1 x \"pitch gain upper limit\""));
  EXPECT_EQ(result.point.size(), 0);
}

TEST(FeasibilityTest, DecidesToTheLastBit) {
  const double limit = 0.1;
  for (const double other : {std::nextafter(limit, 1.0), limit, std::nextafter(limit, 0.0)}) {
    // α ≤ limit and α ≥ other, written with factors that do not divide evenly.
    Eigen::MatrixXd a(2, 1);
    a << 1, -1;
    const SafeSet set(a, Eigen::Vector2d(limit, -other), {"upper", "lower"});
    const FeasibilityResult result = check_feasibility(set);
    if (other > limit) {
      EXPECT_EQ(result.status, FeasibilityStatus::empty);
      EXPECT_LT(combined(set, result.contradiction), 0);
    } else if (other == limit) {
      EXPECT_EQ(result.status, FeasibilityStatus::no_interior);
      EXPECT_EQ(combined(set, result.contradiction), 0);
      EXPECT_EQ(result.contradiction.combined_limit, 0);
    } else {
      // There is room, but no double strictly between the limits.
      EXPECT_EQ(result.status, FeasibilityStatus::too_thin);
    }
  }
}

TEST(FeasibilityTest, ThinSetsAndParallelRows) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const int d = 2 + static_cast<int>(seed % 5);
    const CounterRandom random(seed, RandomStream::user, 4);
    Eigen::VectorXd normal(d);
    Eigen::VectorXd tilt(d);
    for (int i = 0; i < d; ++i) {
      normal(i) = random.normal(static_cast<std::uint32_t>(i));
      tilt(i) = 1e-9 * random.normal(static_cast<std::uint32_t>(i + d));
    }
    normal.normalize();
    const double width = 1e-6;
    const SafeSet box = gain_box(Eigen::VectorXd::Constant(d, -1), Eigen::VectorXd::Constant(d, 1),
                                 default_gain_names(1, d));
    const auto slab = [&](double w) {
      return intersect(
          {box, half_space(normal, 0.3, "above"), half_space(-normal - tilt, w - 0.3, "below")});
    };
    const FeasibilityResult thin = check_feasibility(slab(width));
    ASSERT_EQ(thin.status, FeasibilityStatus::strictly_feasible);
    ASSERT_NEAR(thin.radius, width / 2, 3e-9 * std::sqrt(d));
    const FeasibilityResult none = check_feasibility(slab(-width));
    ASSERT_EQ(none.status, FeasibilityStatus::empty);
    ASSERT_LT(combined(slab(-width), none.contradiction), 0);
  }
}

TEST(FeasibilityTest, LargeSetsAreDecidedToo) {
  const int d = 24;
  SafeSet set = random_set(7, d, 48, 2.5);
  set = intersect({set, gain_box(Eigen::VectorXd::Constant(d, -9), Eigen::VectorXd::Constant(d, 9),
                                 default_gain_names(2, 12))});
  const FeasibilityResult full = check_feasibility(set);
  ASSERT_EQ(full.status, FeasibilityStatus::strictly_feasible);
  const SafeSet cut =
      intersect({set, half_space(Eigen::VectorXd::Ones(d), -9.0 * d - 1e-9, "beyond the corner")});
  const FeasibilityResult none = check_feasibility(cut);
  ASSERT_EQ(none.status, FeasibilityStatus::empty);
  EXPECT_LT(combined(cut, none.contradiction), 0);
}

TEST(FeasibilityTest, SetsWithoutEndOrRows) {
  const FeasibilityResult all = check_feasibility(SafeSet(3));
  EXPECT_EQ(all.status, FeasibilityStatus::strictly_feasible);
  EXPECT_EQ(all.radius, kInfinity);
  const SafeSet half = half_space(Eigen::Vector3d(0, 2, 0), -8, "far");
  const FeasibilityResult result = check_feasibility(half);
  ASSERT_EQ(result.status, FeasibilityStatus::strictly_feasible);
  EXPECT_NEAR(result.radius, 8, 1e-12);
  EXPECT_TRUE(strictly_safe(half, result.point));
}

TEST(FeasibilityTest, ExtremeNumbersAreDecidedToo) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max();
  Eigen::MatrixXd a(3, 2);
  a << tiny, 0, -huge, -huge, 1, 1;
  const SafeSet full(a, Eigen::Vector3d(1, huge, 1), numbered(3));
  EXPECT_EQ(check_feasibility(full).status, FeasibilityStatus::strictly_feasible);
  // α₁ + α₂ ≥ 1 and α₁ + α₂ ≤ 1 - tiny.
  a.row(0) << -1, -1;
  const SafeSet none(a, Eigen::Vector3d(-1, huge, std::nextafter(1.0, 0.0)), numbered(3));
  const FeasibilityResult result = check_feasibility(none);
  EXPECT_EQ(result.status, FeasibilityStatus::empty);
  EXPECT_LT(combined(none, result.contradiction), 0);
  EXPECT_EQ(result.contradiction.rows, (std::vector<int>{0, 2}));
}

/// The smallest ‖b - A α‖ with A α ≤ b on a fine grid of a two-dimensional set.
double grid_least_slack(const SafeSet& set, double extent) {
  double least = kInfinity;
  for (int i = 0; i <= 800; ++i) {
    for (int j = 0; j <= 800; ++j) {
      const Eigen::Vector2d x(-extent + extent * i / 400, -extent + extent * j / 400);
      const Eigen::VectorXd slack = set.limits() - set.coefficients() * x;
      if (slack.minCoeff() >= 0) least = std::min(least, slack.norm());
    }
  }
  return least;
}

TEST(FeasibilityTest, TheSlackLimitIsPartOfTheSet) {
  int excluded = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const SafeSet rows = intersect(
        {random_set(seed, 2, 4, 1.2),
         gain_box(Eigen::Vector2d(-2, -2), Eigen::Vector2d(2, 2), default_gain_names(1, 2))});
    if (check_feasibility(rows).status != FeasibilityStatus::strictly_feasible) continue;
    const double least = grid_least_slack(rows, 2);
    for (const double factor : {0.5, 0.97, 1.03, 1.5}) {
      const SafeSet set = rows.with_slack_limit(least * factor);
      const FeasibilityResult result = check_feasibility(set);
      if (factor > 1) {
        ASSERT_EQ(result.status, FeasibilityStatus::strictly_feasible) << seed << " " << factor;
        ASSERT_TRUE(strictly_safe(set, result.point));
        continue;
      }
      ++excluded;
      ASSERT_EQ(result.status, FeasibilityStatus::slack_limit_excludes_all)
          << seed << " " << factor;
      // What is proven lies between the limit and the least slack that the grid found.
      ASSERT_GT(result.contradiction.combined_limit, set.slack_limit());
      ASSERT_LE(result.contradiction.combined_limit, least * 1.001);
      ASSERT_THAT(result.message(), HasSubstr("The slack limit excludes every policy"));
      // Σ y_i a_i = 0 up to the rounding of what is reported.
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(2);
      for (std::size_t i = 0; i < result.contradiction.rows.size(); ++i) {
        sum += result.contradiction.multipliers(static_cast<long>(i)) *
               set.coefficients().row(result.contradiction.rows[i]).transpose();
      }
      ASSERT_LT(sum.norm(), 1e-7);
    }
  }
  EXPECT_GT(excluded, 10);
}

TEST(BoundednessTest, FindsTheDirectionWithoutEnd) {
  int unbounded = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const int d = 1 + static_cast<int>(seed % 4);
    const SafeSet set = random_set(seed, d, d + 1 + static_cast<int>(seed % 5), 1.0);
    const BoundednessResult result = check_boundedness(set);
    // Independent: bounded if and only if A v ≤ -t, |v| ≤ 1 has only v = 0; here by the deepest
    // ball in the cone cut by a box, which has a radius above 0 for random rows.
    const SafeSet cone(set.coefficients(), Eigen::VectorXd::Zero(set.rows()), set.names());
    const SafeSet cut =
        intersect({cone, gain_box(Eigen::VectorXd::Constant(d, -1), Eigen::VectorXd::Constant(d, 1),
                                  default_gain_names(1, d))});
    const bool endless = brute_force_radius(cut) > 1e-12;
    ASSERT_EQ(result.status == BoundednessStatus::unbounded, endless) << "seed " << seed;
    if (endless) {
      ++unbounded;
      ASSERT_NEAR(result.direction.cwiseAbs().maxCoeff(), 1, 1e-15);
      ASSERT_LE((set.coefficients() * result.direction).maxCoeff(), 1e-13);
    } else {
      ASSERT_EQ(result.direction.size(), 0);
    }
    // With a slack limit, random rows (at least as many as parameters) are bounded.
    ASSERT_EQ(check_boundedness(set.with_slack_limit(1e6)).status, BoundednessStatus::bounded);
  }
  EXPECT_GT(unbounded, 50);
}

TEST(BoundednessTest, DecidesToTheLastBit) {
  // α₁ ≥ 0, α₂ ≥ 0, and α₁ + α₂ ≤ 1 closes the triangle; tilting the last row by one unit in the
  // last place beyond an axis opens it.
  Eigen::MatrixXd a(3, 2);
  a << -1, 0, 0, -1, 1, std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(check_boundedness(SafeSet(a, Eigen::Vector3d(0, 0, 1), numbered(3))).status,
            BoundednessStatus::bounded);
  a(2, 1) = 0;
  const BoundednessResult open =
      check_boundedness(SafeSet(a, Eigen::Vector3d(0, 0, 1), numbered(3)));
  EXPECT_EQ(open.status, BoundednessStatus::unbounded);
  EXPECT_EQ(open.direction, Eigen::Vector2d(0, 1));
}

TEST(BoundednessTest, ABoxBoundsWhateverElseThereIs) {
  const SafeSet box = gain_box(Eigen::Vector3d(-1, -2, -3), Eigen::Vector3d(1, kInfinity, 1),
                               default_gain_names(1, 3));
  const SafeSet tilted = half_space(Eigen::Vector3d(1, 1, 1), 2, "tilted");
  EXPECT_EQ(check_boundedness(box).direction, Eigen::Vector3d(0, 1, 0));
  // Closed by a row in several gains, or by one in the last gain alone.
  EXPECT_EQ(check_boundedness(intersect({box, tilted})).status, BoundednessStatus::bounded);
  const SafeSet last = half_space(Eigen::Vector3d(0, 0.5, 0), 2, "last");
  EXPECT_EQ(check_boundedness(intersect({box, last})).status, BoundednessStatus::bounded);
}

TEST(BoundednessTest, AGainThatNoRowMentionsIsUnbounded) {
  const SafeSet set = gain_box(Eigen::Vector3d(-1, -kInfinity, -1),
                               Eigen::Vector3d(1, kInfinity, 1), default_gain_names(1, 3));
  EXPECT_EQ(check_boundedness(set).direction, Eigen::Vector3d(0, 1, 0));
  EXPECT_EQ(check_boundedness(set.with_slack_limit(9)).direction, Eigen::Vector3d(0, 1, 0));
  EXPECT_EQ(check_boundedness(SafeSet(2)).direction, Eigen::Vector2d(1, 0));
  // A slack limit bounds what the rows alone do not.
  const SafeSet corner = gain_box(Eigen::Vector2d(0, 0), Eigen::Vector2d(kInfinity, kInfinity),
                                  default_gain_names(1, 2));
  EXPECT_EQ(check_boundedness(corner).status, BoundednessStatus::unbounded);
  EXPECT_EQ(check_boundedness(corner.with_slack_limit(9)).status, BoundednessStatus::bounded);
}

TEST(AnchorTest, PrefersTheGivenPolicyThenTheOriginThenTheCentre) {
  const SafeSet around =
      gain_box(Eigen::Vector2d(-1, -1), Eigen::Vector2d(3, 3), default_gain_names(1, 2));
  const Anchor given = choose_anchor(around, Eigen::Vector2d(2, 2));
  EXPECT_EQ(given.source, AnchorSource::given);
  EXPECT_EQ(given.parameters, Eigen::Vector2d(2, 2));
  EXPECT_EQ(given.feasibility.status, FeasibilityStatus::not_run);
  EXPECT_EQ(choose_anchor(around).source, AnchorSource::origin);
  // On the boundary is not strictly inside.
  EXPECT_EQ(choose_anchor(around, Eigen::Vector2d(3, 2)).source, AnchorSource::origin);
  const SafeSet away =
      gain_box(Eigen::Vector2d(1, 1), Eigen::Vector2d(3, 3), default_gain_names(1, 2));
  const Anchor centre = choose_anchor(away, Eigen::Vector2d(0, 0));
  EXPECT_EQ(centre.source, AnchorSource::centre);
  EXPECT_EQ(centre.parameters, Eigen::Vector2d(2, 2));
  const Anchor none = choose_anchor(
      gain_box(Eigen::Vector2d(1, 1), Eigen::Vector2d(3, 0), default_gain_names(1, 2)));
  EXPECT_EQ(none.source, AnchorSource::none);
  EXPECT_EQ(none.feasibility.status, FeasibilityStatus::empty);
  EXPECT_THAT(none.feasibility.contradiction.names,
              ElementsAre("gain(0, 1) upper limit", "gain(0, 1) lower limit"));
}

}  // namespace lifeguard::feasibility_test
