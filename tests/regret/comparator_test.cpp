#include "lifeguard/regret/comparator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlopt.hpp>

#include "lifeguard/safety/sets/feasibility.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::comparator_test {

std::vector<std::string> row_names(long count) {
  std::vector<std::string> names;
  for (long i = 0; i < count; ++i) names.push_back("row " + std::to_string(i));
  return names;
}

/// Random rows around a strictly safe centre, with a slack limit in half of the cases.
SafeSet random_set(Draws& draws, int rows, int parameters) {
  const Eigen::MatrixXd coefficients = draws.normals(rows, parameters);
  Eigen::VectorXd slack(rows);
  for (int i = 0; i < rows; ++i) slack(i) = std::exp(draws.uniform(-3, 1));
  const Eigen::VectorXd limits = coefficients * draws.normals(parameters, 1) + slack;
  const double slack_limit = draws.uniform(0, 1) < 0.5 ? std::numeric_limits<double>::infinity()
                                                       : slack.norm() * draws.uniform(1.01, 2.0);
  return {coefficients, limits, row_names(rows), slack_limit};
}

/// A curvature of the given rank; its eigenvalues spread over `spread`.
LossSum random_sum(Draws& draws, int features, int actions, int rank, double spread) {
  LossSum sum(features, features * actions);
  for (int i = 0; i < rank; ++i) {
    const Eigen::VectorXd v = draws.normals(features, 1);
    sum.curvature += std::pow(spread, -draws.uniform(0, 1)) * v * v.transpose();
  }
  sum.reference = draws.normals(features * actions, 1);
  const Eigen::VectorXd target = 3 * draws.normals(features * actions, 1);
  for (int a = 0; a < actions; ++a) {
    sum.linear.segment(a * features, features) =
        sum.curvature * target.segment(a * features, features);
  }
  sum.constant = draws.uniform(0, 5);
  return sum;
}

struct Program {
  const LossSum* sum;
  const SafeSet* set;
};

double slsqp(const LossSum& sum, const SafeSet& set, const Eigen::VectorXd& start) {
  Program program{&sum, &set};
  struct Row {
    const SafeSet* set;
    int index;
  };
  const auto n = static_cast<unsigned>(start.size());
  nlopt::opt solver(nlopt::LD_SLSQP, n);
  solver.set_min_objective(
      [](unsigned size, const double* x, double* gradient, void* data) {
        const auto& p = *static_cast<const Program*>(data);
        const Eigen::VectorXd alpha = Eigen::Map<const Eigen::VectorXd>(x, size);
        if (gradient != nullptr) {
          Eigen::Map<Eigen::VectorXd>(gradient, size) = p.sum->gradient(alpha);
        }
        return p.sum->value(alpha);
      },
      &program);
  std::vector<Row> rows;
  for (int i = 0; i < set.rows(); ++i) rows.push_back({&set, i});
  for (Row& row : rows) {
    solver.add_inequality_constraint(
        [](unsigned size, const double* x, double* gradient, void* data) {
          const Row& r = *static_cast<Row*>(data);
          const auto a = r.set->coefficients().row(r.index);
          if (gradient != nullptr) Eigen::Map<Eigen::VectorXd>(gradient, size) = a;
          return a.dot(Eigen::Map<const Eigen::VectorXd>(x, size)) - r.set->limits()(r.index);
        },
        &row, 1e-12);
  }
  if (set.has_slack_limit()) {
    solver.add_inequality_constraint(
        [](unsigned size, const double* x, double* gradient, void* data) {
          const auto& p = *static_cast<const Program*>(data);
          const Eigen::VectorXd slack =
              p.set->limits() - p.set->coefficients() * Eigen::Map<const Eigen::VectorXd>(x, size);
          if (gradient != nullptr) {
            Eigen::Map<Eigen::VectorXd>(gradient, size) =
                -2 * p.set->coefficients().transpose() * slack;
          }
          return slack.squaredNorm() - p.set->slack_limit() * p.set->slack_limit();
        },
        &program, 1e-12);
  }
  solver.set_xtol_rel(1e-14);
  solver.set_maxeval(2000);
  std::vector<double> x(start.data(), start.data() + start.size());
  double value = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 4; ++run) {
    try {
      solver.optimize(x, value);
    } catch (const nlopt::roundoff_limited&) {
    } catch (const std::runtime_error&) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  return sum.value(Eigen::Map<const Eigen::VectorXd>(x.data(), start.size()));
}

bool is_safe(const SafeSet& set, const Eigen::VectorXd& alpha, double tolerance) {
  const Eigen::VectorXd slack = set.limits() - set.coefficients() * alpha;
  return (slack.array() >= -tolerance).all() &&
         (!set.has_slack_limit() || slack.norm() <= set.slack_limit() + tolerance);
}

TEST(Comparator, AgreesWithSlsqp) {
  int constrained = 0, balls = 0, agreed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws(seed);
    const int features = draws.integer(1, 4);
    const int actions = draws.integer(1, 3);
    const SafeSet set = random_set(draws, draws.integer(1, 8), features * actions);
    const LossSum sum = random_sum(draws, features, actions, features + 2, 100);
    const Eigen::VectorXd interior = choose_anchor(set).parameters;
    const ComparatorResult result = best_in_hindsight(sum, set, interior);
    const double size = std::abs(sum.constant) + std::abs(result.value);
    EXPECT_TRUE(is_safe(set, result.alpha, 1e-12)) << seed;
    EXPECT_LE(result.value - result.lower_bound, 1e-9 * size) << seed;
    EXPECT_TRUE((result.multipliers.array() >= 0).all() && result.ball_multiplier >= 0);
    constrained += result.status == ComparatorStatus::constrained ? 1 : 0;
    balls += result.ball_multiplier > 0 ? 1 : 0;
    const double other = slsqp(sum, set, interior);
    if (!std::isfinite(other)) continue;
    // SLSQP sometimes stops early, at a worse point; it never finds a better one.
    EXPECT_LE(result.value, other + 1e-8 * size) << seed;
    agreed += other - result.value <= 1e-6 * size ? 1 : 0;
  }
  EXPECT_GT(constrained, 150);
  EXPECT_GT(balls, 30);
  EXPECT_GT(agreed, 280);
}

TEST(Comparator, BruteForceInOneAndTwoDimensions) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(500 + seed);
    const int features = draws.integer(1, 2);
    const int actions = features == 2 ? 1 : draws.integer(1, 2);
    const int d = features * actions;
    const SafeSet set = random_set(draws, 4, d);
    const LossSum sum = random_sum(draws, features, actions, features + 1, 10);
    const ComparatorResult result = best_in_hindsight(sum, set, choose_anchor(set).parameters);
    // Grids around the best point so far, finer when one finds nothing better.
    Eigen::VectorXd best = choose_anchor(set).parameters;
    double least = sum.value(best);
    double half = 5;
    while (half > 1e-9) {
      const double last = least;
      const Eigen::VectorXd centre = best;
      const int points = 41;
      for (int i = 0; i < (d == 1 ? points : points * points); ++i) {
        Eigen::VectorXd alpha = centre;
        const int row = i / points;
        alpha(0) += half * (2.0 * (i % points) / (points - 1) - 1);
        if (d == 2) alpha(1) += half * (2.0 * row / (points - 1) - 1);
        const double value = sum.value(alpha);
        if (value < least && is_safe(set, alpha, 0)) {
          least = value;
          best = alpha;
        }
      }
      if (least == last) half *= 0.5;
    }
    EXPECT_LE(result.lower_bound, least + 1e-10 * (1 + std::abs(least))) << seed;
    EXPECT_NEAR(result.value, least, 1e-3 * (1 + std::abs(least))) << seed;
    EXPECT_LE(result.value, least + 1e-9 * (1 + std::abs(least))) << seed;
  }
}

TEST(Comparator, SingularAndNearlySingularCurvature) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(1000 + seed);
    const int features = draws.integer(2, 5);
    const int actions = draws.integer(1, 2);
    const bool singular = seed % 2 == 0;
    const SafeSet set = random_set(draws, 2 * features * actions, features * actions);
    const LossSum sum = random_sum(draws, features, actions, singular ? features - 1 : features,
                                   singular ? 10 : 1e14);
    const ComparatorResult result = best_in_hindsight(sum, set, choose_anchor(set).parameters);
    const double size = std::abs(sum.constant) + std::abs(result.value);
    EXPECT_TRUE(is_safe(set, result.alpha, 1e-11)) << seed;
    EXPECT_LE(result.value - result.lower_bound, 1e-6 * size) << seed;
  }
}

TEST(Comparator, WithoutRowsAndWithoutRounds) {
  Draws draws(3);
  const LossSum sum = random_sum(draws, 3, 2, 5, 10);
  const ComparatorResult result = best_in_hindsight(sum, SafeSet(6), Eigen::VectorXd::Zero(6));
  EXPECT_EQ(result.status, ComparatorStatus::unconstrained);
  EXPECT_LT(sum.gradient(result.alpha).norm(), 1e-10);
  EXPECT_NEAR(result.value, result.lower_bound, 1e-11);

  const ComparatorResult nothing =
      best_in_hindsight(LossSum(3, 6), SafeSet(6), Eigen::VectorXd::Zero(6));
  EXPECT_EQ(nothing.value, 0);
  EXPECT_EQ(nothing.lower_bound, 0);
}

}  // namespace lifeguard::comparator_test
