#include "lifeguard/safety/sets/safe_set.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/core/saved_state.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/regret/comparator.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/feasibility.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/safety/sets/saved_safe_set.hpp"
#include "lifeguard/safety/solve/metric_projection.hpp"
#include "lifeguard/safety/solve/projection.hpp"
#include "tests/support/curved_sets.hpp"
#include "tests/support/invalid_input.hpp"

namespace lifeguard::gain_inequality_test {

using test_support::CurvedSet;
using test_support::Draws;
using test_support::random_curved_set;
using test_support::random_inside;

CurvedSet small_set(Draws& draws) {
  return random_curved_set(draws, draws.integer(1, 5), draws.integer(1, 3), draws.integer(1, 4));
}

/// ‖U [I; K] Q^-½‖₂ by singular values, Θ = UᵀU.
double norm_of(const GainInequality& inequality, const Eigen::VectorXd& alpha) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> theta(inequality.theta());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> limit(inequality.limit());
  Eigen::MatrixXd stacked(inequality.features() + inequality.actions(), inequality.features());
  stacked.topRows(inequality.features()).setIdentity();
  stacked.bottomRows(inequality.actions()) = gains_from_parameters(alpha, inequality.actions());
  const Eigen::MatrixXd root =
      theta.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() * theta.eigenvectors().transpose();
  return Eigen::JacobiSVD<Eigen::MatrixXd>(root * stacked * limit.operatorInverseSqrt())
      .singularValues()(0);
}

TEST(GainInequality, RatioIsTheSpectralNorm) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(derive_seed(101, seed));
    const CurvedSet curved = small_set(draws);
    const Eigen::VectorXd alpha = curved.inside + draws.normals(curved.inside.size(), 1);
    for (const GainInequality& inequality : curved.set.inequalities()) {
      const double expected = norm_of(inequality, alpha);
      EXPECT_NEAR(inequality.ratio(alpha), expected, 1e-7 * (1 + expected)) << "seed " << seed;
    }
  }
}

// A proof is never below the truth, is near it, and exact arithmetic agrees.
TEST(GainInequality, ProvenRatioIsAnUpperBound) {
  int proven = 0;
  int refuted = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Draws draws(derive_seed(102, seed));
    const CurvedSet curved = small_set(draws);
    // Down to a few roundings from the boundary, on both sides.
    const double part = 1 + (draws.chance(0.5) ? 1 : -1) * draws.power(1e-15, 0.5);
    const Eigen::VectorXd alpha = random_inside(draws, curved, part);
    const bool exact = check_policy(curved.set, alpha).empty();
    bool all = true;
    for (const GainInequality& inequality : curved.set.inequalities()) {
      const double bound = inequality.proven_ratio(alpha, 0);
      all = all && bound < 1;
      if (!std::isfinite(bound)) continue;
      const double truth = inequality.ratio(alpha);
      EXPECT_GE(bound, truth * (1 - 1e-13)) << "seed " << seed;
      EXPECT_LE(bound, truth + 2e-2) << "seed " << seed;
      // The claim itself, in integers.
      TaskCertificate claim;
      claim.row_margin = std::nextafter(1 - bound, -1.0);
      claim.slack_margin = kInfinity;
      EXPECT_TRUE(claim_holds(SafeSet(curved.set.parameters()).with_inequalities({inequality}),
                              alpha, claim))
          << "seed " << seed;
    }
    EXPECT_TRUE(exact || !all) << "seed " << seed;
    proven += all;
    refuted += !exact;
  }
  EXPECT_GT(proven, 100);
  EXPECT_GT(refuted, 100);
}

TEST(GainInequality, AProofCoversAllPoliciesNearby) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(derive_seed(103, seed));
    const CurvedSet curved = small_set(draws);
    const Eigen::VectorXd alpha = random_inside(draws, curved, draws.uniform());
    const double error = draws.power(1e-6, 1e-1);
    for (const GainInequality& inequality : curved.set.inequalities()) {
      const double bound = inequality.proven_ratio(alpha, error);
      for (int i = 0; i < 20; ++i) {
        Eigen::VectorXd offset = draws.normals(alpha.size(), 1);
        offset *= error / offset.norm();
        EXPECT_LE(inequality.ratio(alpha + offset), bound * (1 + 1e-12)) << "seed " << seed;
      }
    }
  }
}

TEST(GainInequality, NothingIsProvenOfNumbersThatAreNotFinite) {
  Draws draws(104);
  const CurvedSet curved = random_curved_set(draws, 3, 2, 2);
  for (const double value : {kNaN, kInfinity, -kInfinity, 1e200}) {
    Eigen::VectorXd alpha = curved.inside;
    alpha(2) = value;
    for (const GainInequality& inequality : curved.set.inequalities()) {
      EXPECT_FALSE(inequality.proven_ratio(alpha, 0) < 1) << value;
    }
    EXPECT_FALSE(strictly_safe(curved.set, alpha));
    EXPECT_FALSE(obeys(curved.set, alpha));
  }
}

// Whatever obeys lies behind every tangent plane, wherever it was taken; at the place itself the
// plane touches.
TEST(GainInequality, TangentPlanesCutNothingSafeOff) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(derive_seed(105, seed));
    const CurvedSet curved = small_set(draws);
    const Eigen::VectorXd at = curved.inside + 2 * draws.normals(curved.inside.size(), 1);
    std::vector<GainInequality::Tangent> tangents;
    for (const GainInequality& inequality : curved.set.inequalities()) {
      const std::size_t before = tangents.size();
      inequality.add_tangents(at, 1, tangents);
      const double ratio = inequality.ratio(at);
      if (ratio > 1) {
        ASSERT_GT(tangents.size(), before);
        const auto& [row, bound] = tangents[before];
        EXPECT_NEAR(row.dot(at) - bound, ratio - 1, 1e-9 * ratio);
      }
    }
    for (int i = 0; i < 20; ++i) {
      const Eigen::VectorXd safe = random_inside(draws, curved, 1);
      for (const auto& [row, bound] : tangents) {
        EXPECT_LE(row.dot(safe), bound + 1e-9 * (1 + row.norm() * safe.norm())) << "seed " << seed;
      }
    }
  }
}

TEST(GainInequality, WhatMakesNoSenseIsRefused) {
  const Eigen::MatrixXd limit = Eigen::MatrixXd::Identity(2, 2);
  const Eigen::MatrixXd theta = Eigen::MatrixXd::Identity(3, 3);
  EXPECT_NO_THROW(GainInequality("fine", theta, limit));
  EXPECT_THROW(GainInequality("", theta, limit), InvalidInput);
  EXPECT_THROW(GainInequality("no actions", limit, limit), InvalidInput);
  EXPECT_THROW(GainInequality("indefinite", -theta, limit), InvalidInput);
  EXPECT_THROW(GainInequality("no limit", theta, -limit), InvalidInput);
  Eigen::MatrixXd other = theta;
  other(0, 1) = 0.5;
  EXPECT_THROW(GainInequality("not symmetric", other, limit), InvalidInput);
  other = theta;
  other(2, 2) = 0;
  EXPECT_THROW(GainInequality("not of the gains", other, limit), InvalidInput);
  other(2, 2) = kNaN;
  EXPECT_THROW(GainInequality("not a number", other, limit), InvalidInput);
  const SafeSet set = SafeSet(2).with_inequalities({{"fine", theta, limit}});
  EXPECT_THROW(set.with_inequalities({{"fine", theta, limit}}), InvalidInput);  // the name again
  EXPECT_THROW(SafeSet(3).with_inequalities({{"fine", theta, limit}}), InvalidInput);
}

// One digit decides: a policy that rounding puts outside is found, one at the limit is not.
TEST(GainInequality, ExactCheckOfABall) {
  // ‖K‖ ≤ 1 with two states: Θ = diag(0, 1), Q = I.
  Eigen::MatrixXd theta = Eigen::MatrixXd::Zero(3, 3);
  theta(2, 2) = 1;
  const SafeSet ball =
      SafeSet(2).with_inequalities({{"ball", theta, Eigen::MatrixXd::Identity(2, 2)}});
  EXPECT_TRUE(check_policy(ball, Eigen::Vector2d(1, 0)).empty());
  EXPECT_FALSE(check_policy(ball, Eigen::Vector2d(std::nextafter(1.0, 2.0), 0)).empty());
  const Findings found = check_policy(ball, Eigen::Vector2d(0.6, std::nextafter(0.8, 1.0)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, FindingKind::inequality_violated);
  EXPECT_EQ(found[0].message, "\"ball\" does not hold");
  EXPECT_FALSE(strictly_safe(ball, Eigen::Vector2d(1, 0)));
  EXPECT_TRUE(strictly_safe(ball, Eigen::Vector2d(1 - 1e-9, 0)));
  EXPECT_EQ(why_not_safe(ball, Eigen::Vector2d(1.5, 0)), "exceeds \"ball\" by 50 %");
}

TEST(GainInequality, SavedAndIntersected) {
  Draws draws(106);
  const CurvedSet curved = random_curved_set(draws, 3, 2, 2);
  const SafeSet box = gain_box(Eigen::VectorXd::Constant(6, -9), Eigen::VectorXd::Constant(6, 9),
                               default_gain_names(2, 3));
  const SafeSet both = intersect({curved.set, box, curved.set});
  EXPECT_EQ(both.rows(), 12);
  EXPECT_EQ(both.constraints(), 12 + 8);
  EXPECT_EQ(both.name(12), "plant 0");
  EXPECT_EQ(both.name(16), "plant 0 (2)");
  std::stringstream text;
  StateWriter writer(text);
  write_safe_set(writer, both);
  StateReader reader(text);
  EXPECT_TRUE(read_safe_set(reader, 6) == both);
  EXPECT_EQ(check_boundedness(curved.set).status, BoundednessStatus::bounded);
}

TEST(GainInequality, AStrictlySafePolicyIsFound) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draws draws(derive_seed(107, seed));
    const CurvedSet curved = small_set(draws);
    const Anchor anchor = choose_anchor(curved.set);
    if (anchor.source == AnchorSource::none) continue;
    EXPECT_TRUE(strictly_safe(curved.set, anchor.parameters));
    ++found;
  }
  EXPECT_GE(found, 48);
}

/// Whether `point` is the one of the set nearest to `target` in the metric I ⊗ G: no other safe
/// policy lies on the target's side.
void expect_nearest(Draws& draws, const CurvedSet& curved, const SafeSet& set,
                    const Eigen::MatrixXd& metric, const Eigen::VectorXd& target,
                    const Eigen::VectorXd& point, const std::string& what) {
  EXPECT_TRUE(strictly_safe(set, point)) << what;
  Eigen::VectorXd pull = target - point;
  const Eigen::VectorXd euclidean = pull;
  for (Eigen::Index start = 0; start < pull.size(); start += metric.rows()) {
    pull.segment(start, metric.rows()) = metric * euclidean.segment(start, metric.rows());
  }
  for (int i = 0; i < 50; ++i) {
    // Near the point, where only a wrong answer leaves something to gain, and anywhere.
    Eigen::VectorXd other = random_inside(draws, curved, 1);
    if (!strictly_safe(set, other)) continue;
    if (i % 2 == 0) other = point + 1e-2 * (other - point);
    EXPECT_LE(pull.dot(other - point), 1e-4 * pull.norm() * (1 + (other - point).norm())) << what;
  }
}

TEST(GainInequality, MetricProjectionIsTheNearestSafePolicy) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Draws draws(derive_seed(108, seed));
    const CurvedSet curved = small_set(draws);
    const Eigen::MatrixXd root = draws.normals(curved.features, curved.features);
    const Eigen::MatrixXd metric =
        root * root.transpose() + 0.1 * Eigen::MatrixXd::Identity(curved.features, curved.features);
    const Eigen::VectorXd target =
        curved.inside + draws.power(0.01, 10) * draws.normals(curved.inside.size(), 1);
    MetricProjection projection;
    Eigen::VectorXd policy = target;
    const CoefficientPath path =
        projection.project(curved.set, curved.inside, metric, 1e-10, policy);
    if (path == CoefficientPath::inside) {
      EXPECT_TRUE(strictly_safe(curved.set, target));
      continue;
    }
    ++moved;
    EXPECT_NE(path, CoefficientPath::scaled) << "seed " << seed;
    expect_nearest(draws, curved, curved.set, metric, target, policy,
                   "seed " + std::to_string(seed));
  }
  EXPECT_GT(moved, 50);
}

// L fixed at the identity: the projection is the nearest safe policy of each task. With rows and a
// slack limit beside the inequalities.
TEST(GainInequality, ProjectionIsTheNearestSafePolicy) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(derive_seed(109, seed));
    const CurvedSet curved = small_set(draws);
    const auto d = static_cast<int>(curved.inside.size());
    std::vector<SafeSet> parts = {curved.set};
    if (seed % 3 > 0) {
      parts.push_back(half_space(draws.normals(d, 1), 0, "a plane"));
      parts.back() =
          half_space(parts.back().coefficients().row(0),
                     parts.back().coefficients().row(0).dot(curved.inside) + 0.1, "a plane");
    }
    SafeSet set = intersect(parts);
    if (seed % 3 == 2) set = set.with_slack_limit(0.5);
    const std::vector<ProjectionTask> tasks = {ProjectionTask(set, curved.inside)};
    Knowledge last(d, d, 1.0);
    last.add_task(curved.inside);
    Knowledge target = last;
    target.coefficients.col(0) = draws.power(0.1, 5) * draws.normals(d, 1);
    ProjectionSettings settings;
    settings.p = 0.999;
    settings.q = 1.001;
    settings.mu2 = 1e6;  // L stays
    Projection projection(settings);
    const ProjectionResult& result = projection.project({tasks}, target, last);
    const Eigen::VectorXd wanted = curved.inside + target.coefficients.col(0);
    const Eigen::VectorXd point = result.knowledge.policy_parameters(0);
    EXPECT_TRUE(check_policy(set, point).empty()) << "seed " << seed;
    if (strictly_safe(set, wanted)) continue;
    // L moves by about 1e-6 of the step.
    expect_nearest(draws, curved, set, Eigen::MatrixXd::Identity(curved.features, curved.features),
                   wanted, point, "seed " + std::to_string(seed));
  }
}

TEST(GainInequality, BestInHindsightIsBoundedFromBothSides) {
  int constrained = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Draws draws(derive_seed(110, seed));
    const CurvedSet curved = small_set(draws);
    LossSum sum(curved.features, static_cast<int>(curved.inside.size()));
    const Eigen::MatrixXd root = draws.normals(curved.features, curved.features);
    sum.curvature =
        root * root.transpose() + Eigen::MatrixXd::Identity(curved.features, curved.features);
    sum.linear = draws.power(0.1, 30) * draws.normals(curved.inside.size(), 1);
    sum.reference = curved.inside;
    const ComparatorResult best = best_in_hindsight(sum, curved.set, curved.inside);
    EXPECT_TRUE(strictly_safe(curved.set, best.alpha)) << "seed " << seed;
    EXPECT_LE(best.lower_bound, best.value);
    EXPECT_LE(best.value - best.lower_bound, 1e-5 * (1 + std::abs(best.value))) << "seed " << seed;
    constrained += best.status == ComparatorStatus::constrained;
    for (int i = 0; i < 30; ++i) {
      const Eigen::VectorXd other = random_inside(draws, curved, draws.uniform());
      EXPECT_GE(sum.value(other), best.lower_bound - 1e-9 * std::abs(best.value));
    }
  }
  EXPECT_GT(constrained, 20);
}

// A learner whose solver steps fail, lie or return NaN never hands out what is not proven.
TEST(GainInequality, LearnerNeverLeavesTheSet) {
  long rounds = 0;
  for (std::uint64_t seed = 0; rounds < 10000; ++seed) {
    Draws draws(derive_seed(111, seed));
    const int features = draws.integer(1, 4);
    const int actions = draws.integer(1, 2);
    LearnerSettings settings;
    settings.projection.mode = seed % 4 == 3 ? ProjectionMode::paper : ProjectionMode::exact;
    constexpr std::array kRules = {UpdateRule::linearised, UpdateRule::alternating,
                                   UpdateRule::empirical_bayes};
    settings.update = kRules.at(seed % kRules.size());
    Learner learner(features, actions, settings);
    std::vector<CurvedSet> sets;
    for (int t = 0; t < 3; ++t) {
      sets.push_back(random_curved_set(draws, features, actions, 2));
      learner.add_task(std::to_string(t), sets.back().set, 0.1, sets.back().inside);
    }
    const bool faults = seed % 5 > 1;
    if (faults) {
      learner.inject_faults(
          [&draws](ProjectionStage) { return static_cast<ProjectionFault>(draws.integer(0, 3)); });
    }
    for (int round = 0; round < 50; ++round, ++rounds) {
      const int task = draws.integer(0, 2);
      const std::string id = std::to_string(task);
      RoundLoss loss;
      loss.status = RoundLossStatus::ok;
      loss.constant = 0;
      loss.trajectories = 1;
      loss.played = learner.policy(id).parameters();
      const Eigen::MatrixXd root = draws.normals(features, features);
      loss.curvature = root * root.transpose() + Eigen::MatrixXd::Identity(features, features);
      loss.target = loss.played + draws.power(0.01, 3) * draws.normals(features * actions, 1);
      loss.mean_cost = 1;
      loss.cost_error = 1;
      learner.observe(id, loss);
      for (int t = 0; t < 3; ++t) {
        const Eigen::VectorXd alpha = learner.policy(std::to_string(t)).parameters();
        ASSERT_TRUE(obeys_exactly(sets[static_cast<std::size_t>(t)].set, alpha))
            << "seed " << seed << " round " << round;
      }
    }
    EXPECT_TRUE(learner.certificate().valid());
    // Others keep their last point; this rule, which remembers none, the anchor, and says so.
    if (!faults || settings.update != UpdateRule::empirical_bayes) {
      EXPECT_EQ(learner.fallbacks(), 0);
    }
    // To the same bits through text.
    learner.inject_faults({});
    std::stringstream text;
    learner.save(text);
    EXPECT_TRUE(Learner::load(text).knowledge() == learner.knowledge());
  }
}

}  // namespace lifeguard::gain_inequality_test
