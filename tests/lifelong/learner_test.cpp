#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/alternating_rule.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "lifeguard/core/check.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/synthetic_losses.hpp"
#include "tests/support/update_rules.hpp"

namespace lifeguard::learner_test {

constexpr int kFeatures = 3;
constexpr int kActions = 2;
constexpr int kParameters = kFeatures * kActions;

std::string saved(const Learner& learner) {
  std::ostringstream out;
  learner.save(out);
  return out.str();
}

Learner loaded(const std::string& text) {
  std::istringstream in(text);
  return Learner::load(in);
}

std::string task_name(int t) { return "task " + std::to_string(t); }

/// Every way to update, so that one test covers all.
std::vector<LearnerSettings> all_updates() {
  std::vector<LearnerSettings> list;
  for (const int basis_size : {0, 2}) {
    for (const UpdateRule update : kAllUpdateRules) {
      LearnerSettings settings;
      settings.k = basis_size;
      settings.projection.mode = ProjectionMode::none;
      settings.update = update;
      if (update != UpdateRule::alternating) {
        list.push_back(settings);
        continue;
      }
      for (const BlockStep step :
           {BlockStep::closed_form, BlockStep::gradient, BlockStep::natural_gradient}) {
        for (const bool all : {true, false}) {
          settings.alternation.step = step;
          settings.alternation.all_coefficients = all;
          settings.alternation.alternations = 2;
          list.push_back(settings);
        }
      }
    }
  }
  return list;
}

void play(Learner& learner, Draws& draws, int rounds) {
  for (int j = 0; j < rounds; ++j) {
    const int task = j % learner.tasks();
    const Eigen::VectorXd target =
        Eigen::VectorXd::Constant(kParameters, task) + 0.1 * draws.normals(kParameters, 1);
    learner.observe(task_name(task), synthetic_loss(draws, kFeatures, target));
  }
}

Learner practised(const LearnerSettings& settings, int rounds) {
  Draws draws(17);
  Learner learner(kFeatures, kActions, settings);
  for (int t = 0; t < 4; ++t) {
    learner.add_task(task_name(t), 0.1 * draws.normals(kParameters, 1), 0.5);
  }
  play(learner, draws, rounds);
  return learner;
}

TEST(Learner, StartsAtTheAnchorsWithADiagonalBasis) {
  LearnerSettings settings;
  settings.update = UpdateRule::linearised;  // whose L has k columns
  settings.k = 4;
  settings.zeta = 0.7;
  Learner learner(kFeatures, kActions, settings);
  const Eigen::VectorXd anchor = Eigen::VectorXd::LinSpaced(kParameters, 1, 2);
  learner.add_task("a", anchor, 0.3);
  const GaussianPolicy policy = learner.policy("a");
  EXPECT_EQ(policy.parameters(), anchor);
  EXPECT_EQ(policy.sigma(), 0.3);
  EXPECT_EQ(learner.knowledge().basis, 0.7 * Eigen::MatrixXd::Identity(kParameters, settings.k));
}

TEST(Learner, WithAFixedBasisANewTaskStartsAtTheMeanOfTheKnownCoefficients) {
  LearnerSettings settings;
  settings.update = UpdateRule::linearised;
  Learner learner = practised(settings, 40);
  const Eigen::VectorXd mean = learner.knowledge().coefficients.rowwise().mean();
  learner.add_task("new", Eigen::VectorXd::Ones(kParameters), 1.0);
  const Eigen::VectorXd expected =
      Eigen::VectorXd::Ones(kParameters) + learner.knowledge().basis * mean;
  EXPECT_LT((learner.policy("new").parameters() - expected).norm(), 1e-12);
}

TEST(Learner, LearnsEveryTasksTarget) {
  for (const LearnerSettings& settings : all_updates()) {
    const Learner learner = practised(settings, 400);
    for (int t = 0; t < 4; ++t) {
      const double error = (learner.policy(task_name(t)).parameters().array() - t).matrix().norm();
      // Targets scatter by 0.1 in each of 6 entries; tasks are 1 apart in each.
      EXPECT_LT(error, 0.7) << t << " " << static_cast<int>(settings.alternation.step)
                            << settings.alternation.all_coefficients << settings.k
                            << static_cast<int>(settings.update);
    }
  }
}

TEST(Learner, SaveAndLoadGiveTheSameBytesAndTheSameFuture) {
  for (const LearnerSettings& settings : all_updates()) {
    Learner learner = practised(settings, 23);
    const std::string text = saved(learner);
    Learner copy = loaded(text);
    EXPECT_EQ(saved(copy), text);
    EXPECT_EQ(copy.settings(), settings);
    Draws first(5), second(5);
    play(learner, first, 11);
    play(copy, second, 11);
    EXPECT_EQ(saved(copy), saved(learner));
    EXPECT_NE(saved(copy), text);
  }
}

TEST(Learner, SizesThatAFileClaimsAskForNoMemory) {
  std::string text = saved(practised({}, 9));
  const std::size_t at = text.find("features ");
  text.replace(at, text.find('\n', at) - at, "features 1048576");
  const std::size_t next = text.find("actions ");
  text.replace(next, text.find('\n', next) - next, "actions 1");
  // L would be 2^20 x 2^20.
  EXPECT_THROW(loaded(text), InvalidInput);
}

TEST(Learner, DamagedFilesAreRefused) {
  const std::string text = saved(practised({}, 9));
  // Every cut and many single-character changes either fail with InvalidInput or, if they only
  // changed a value, load.
  for (std::size_t cut = 0; cut + 1 < text.size(); cut += 97) {
    EXPECT_THROW(loaded(text.substr(0, cut)), InvalidInput) << cut;
  }
  int refused = 0;
  for (std::size_t at = 0; at < text.size(); at += 13) {
    std::string changed = text;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    try {
      loaded(changed);
    } catch (const InvalidInput&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Learner, BadInputThrowsAndLeavesTheStateAsItWas) {
  for (const LearnerSettings& settings : all_updates()) {
    Learner learner = practised(settings, 9);
    const std::string before = saved(learner);
    Draws draws(3);
    const RoundLoss good = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
    const auto refuses = [&](auto&& call) {
      EXPECT_THROW(call(), InvalidInput);
      EXPECT_EQ(saved(learner), before);
    };
    refuses([&] { learner.observe("nobody", good); });
    refuses([&] { learner.policy("nobody"); });
    refuses([&] { learner.add_task(task_name(0), Eigen::VectorXd::Zero(kParameters), 1.0); });
    refuses([&] { learner.add_task("b", Eigen::VectorXd::Zero(kParameters - 1), 1.0); });
    refuses([&] { learner.add_task("b", Eigen::VectorXd::Zero(kParameters), 0.0); });
    refuses([&] { learner.add_task("b\nc", Eigen::VectorXd::Zero(kParameters), 1.0); });
    Eigen::VectorXd with_nan = Eigen::VectorXd::Zero(kParameters);
    with_nan(2) = std::numeric_limits<double>::quiet_NaN();
    refuses([&] { learner.add_task("b", with_nan, 1.0); });
    RoundLoss bad = good;
    bad.target = with_nan;
    refuses([&] { learner.observe(task_name(0), bad); });
    bad = good;
    bad.curvature(1, 1) = std::numeric_limits<double>::infinity();
    refuses([&] { learner.observe(task_name(0), bad); });
    bad = good;
    bad.target.resize(kParameters + 1);
    refuses([&] { learner.observe(task_name(0), bad); });
    bad = good;
    bad.curvature = Eigen::MatrixXd::Identity(kFeatures + 1, kFeatures + 1);
    refuses([&] { learner.observe(task_name(0), bad); });
    refuses([&] { learner.observe(task_name(0), RoundLoss()); });
    Trajectories wrong_shape(2, 5, kFeatures + 1, kActions);
    refuses([&] { learner.observe(task_name(0), wrong_shape); });
    Trajectories nan(4, 5, kFeatures, kActions);
    nan.cost(1, 2) = std::numeric_limits<double>::quiet_NaN();
    refuses([&] { learner.observe(task_name(0), nan); });
    refuses([&] { learner.observe(task_name(0), Trajectories()); });
    refuses([&] { learner.observe("nobody", Trajectories(4, 5, kFeatures, kActions)); });
  }
}

TEST(Learner, ASingularRoundIsAStatusAndLeavesTheStateAsItWas) {
  for (const LearnerSettings& settings : all_updates()) {
    if (settings.update == UpdateRule::alternating &&
        settings.alternation.step == BlockStep::gradient) {
      continue;  // solves no system
    }
    Learner learner = practised(settings, 9);
    const std::string before = saved(learner);
    Draws draws(3);
    RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
    loss.curvature = -1e6 * Eigen::MatrixXd::Identity(kFeatures, kFeatures);
    EXPECT_EQ(learner.observe(task_name(0), loss).status, RoundStatus::singular);
    EXPECT_EQ(saved(learner), before);
  }
}

TEST(Learner, ARoundWithoutSignalCountsAndMovesNothing) {
  Learner learner = practised({}, 9);
  const Knowledge before = learner.knowledge();
  Draws draws(3);
  RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
  loss.status = RoundLossStatus::no_signal;
  const RoundRecord record = learner.observe(task_name(0), loss);
  EXPECT_EQ(record.status, RoundStatus::no_signal);
  EXPECT_EQ(record.round, 10);
  EXPECT_EQ(learner.knowledge(), before);
}

TEST(Learner, ATaskLedAstrayGoesBackToItsBestPolicy) {
  Draws draws(4);
  Learner learner(kFeatures, kActions);
  learner.add_task("a", Eigen::VectorXd::Zero(kParameters), 1.0);
  learner.add_task("b", Eigen::VectorXd::Zero(kParameters), 1.0);
  RoundLoss loss = synthetic_loss(draws, kFeatures, Eigen::VectorXd::Constant(kParameters, 1));
  loss.mean_cost = 3;
  learner.observe("a", loss);
  const Eigen::VectorXd good = learner.policy("a").parameters();
  loss.mean_cost = 1;
  learner.observe("a", loss);  // `good` cost 1
  loss.target.setConstant(50);
  loss.mean_cost = 1;
  learner.observe("b", loss);  // takes a along
  EXPECT_GT((learner.policy("a").parameters() - good).norm(), 1);
  const Eigen::VectorXd b = learner.policy("b").parameters();
  loss.mean_cost = 2.1;
  EXPECT_EQ(learner.observe("a", loss).status, RoundStatus::ok);
  EXPECT_LT((learner.policy("a").parameters() - good).norm(), 1e-9);
  EXPECT_EQ(learner.policy("b").parameters(), b);
}

/// Allocations in so many rounds that are Eigen's: every five rounds empirical Bayes learns L anew,
/// by two decompositions, whose reflections need a vector each.
std::int64_t decompositions_in(int rounds, const LearnerSettings& settings) {
  return settings.update == UpdateRule::empirical_bayes ? rounds / 5 * 2 : 0;
}

TEST(Learner, ARoundAllocatesNothing) {
  if (!test_support::allocations_are_counted()) GTEST_SKIP() << "cannot count under a sanitizer";
  Draws draws(3);
  for (const LearnerSettings& settings : all_updates()) {
    if (settings.update == UpdateRule::leader)
      continue;  // the theorem's, which is not made for speed
    Learner learner = practised(settings, 9);
    const RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
    const std::string id = task_name(2);
    const std::int64_t before = test_support::allocation_count();
    for (int j = 0; j < 20; ++j) learner.observe(id, loss);
    EXPECT_LE(test_support::allocation_count(), before + decompositions_in(20, settings));
  }
}

TEST(Learner, ARoundOfTrajectoriesAllocatesNothing) {
  if (!test_support::allocations_are_counted()) GTEST_SKIP() << "cannot count under a sanitizer";
  Draws draws(4);
  Trajectories batch(20, 15, kFeatures, kActions);
  Learner learner = practised(LearnerSettings{}, 9);
  const std::string id = task_name(2);
  const auto play = [&] {
    const GaussianPolicy policy = learner.policy(id);
    for (int m = 0; m < batch.steps(); ++m) {
      for (int i = 0; i < batch.count(); ++i) {
        const Eigen::VectorXd x = draws.normals(kFeatures, 1);
        const Eigen::VectorXd u = policy.mean(x) + policy.sigma() * draws.normals(kActions, 1);
        for (int f = 0; f < kFeatures; ++f) batch.feature(i, m, f) = x(f);
        for (int a = 0; a < kActions; ++a) batch.action(i, m, a) = u(a);
        batch.cost(i, m) = x.squaredNorm() + u.squaredNorm();
      }
    }
  };
  std::int64_t allocations = 0;
  for (int j = 0; j < 20; ++j) {
    play();
    const std::int64_t before = test_support::allocation_count();
    const RoundStatus status = learner.observe(id, batch).status;
    // One loss is kept while the next is made, so the second round still allocates.
    if (j >= 2) allocations += test_support::allocation_count() - before;
    ASSERT_EQ(status, RoundStatus::ok);
  }
  EXPECT_LE(allocations, decompositions_in(20, {}));
}

/// A learner that takes own steps only, with or without shortening them for noise.
Learner linearised_alone(double own_memory, NoiseShrinkage shrinkage) {
  LearnerSettings settings;
  settings.update = UpdateRule::linearised;
  settings.round.base_learner.step.shrinkage = shrinkage;
  settings.linearised.initial_share = 0;
  settings.linearised.own_memory = own_memory;
  Learner learner(kFeatures, kActions, settings);
  learner.add_task("a", Eigen::VectorXd::Zero(kParameters), 1.0);
  return learner;
}

/// A round with this metric as a base learner makes it: its step is as long as the trust region
/// allows, and shortened for noise if that is to be.
RoundLoss trust_region_loss(const Eigen::MatrixXd& metric, const Eigen::VectorXd& gradient,
                            const Eigen::VectorXd& played, double noise_share, double floor) {
  const double radius = 0.01;
  RoundLoss loss;
  loss.status = RoundLossStatus::ok;
  loss.trajectories = 1;
  loss.mean_cost = 1;
  loss.constant = 0;
  loss.curvature = metric;
  loss.played = played;
  loss.cost_gradient = gradient;
  Eigen::VectorXd direction = gradient;
  for (int a = 0; a < kActions; ++a) {
    auto part = direction.segment(a * kFeatures, kFeatures);
    part = metric.llt().solve(part).eval();
  }
  loss.natural_norm_squared = gradient.dot(direction);
  loss.noise_share = noise_share;
  loss.shrinkage_floor = floor;
  loss.shrinkage = std::max(floor, 1 - noise_share);
  loss.radius = radius;
  loss.target =
      played - loss.shrinkage * std::sqrt(2 * radius / loss.natural_norm_squared) * direction;
  return loss;
}

/// ½ ΔᵀGΔ of the learner's step in the loss's own metric.
double length_in(const RoundLoss& loss, const Learner& learner) {
  RoundLoss moved = loss;
  moved.target = loss.played;
  return moved.value(learner.policy("a").parameters()) - moved.constant;
}

// The pooled step of a task's own gradients is measured in the metrics of many rounds, and has the
// trust region of the round that is observed all the same.
TEST(LinearisedRule, OwnStepsStayInTheTrustRegionHoweverTheMetricChanges) {
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(kFeatures, kFeatures);
  const Eigen::VectorXd direction = Eigen::VectorXd::LinSpaced(kParameters, 1, 2);
  for (const double floor : {1.0, 0.05}) {
    for (const double memory : {0.0, 0.4, 0.9}) {
      Learner learner =
          linearised_alone(memory, floor == 1 ? NoiseShrinkage::none : NoiseShrinkage::measured);
      for (int round = 0; round < 24; ++round) {
        const Eigen::MatrixXd metric = (round % 6 == 5 ? 1.0 : 1e-3) * identity;
        const RoundLoss loss =
            trust_region_loss(metric, direction, learner.policy("a").parameters(), 0.1, floor);
        ASSERT_EQ(learner.observe("a", loss).status, RoundStatus::ok);
        EXPECT_LE(length_in(loss, learner), (1 + 1e-9) * loss.radius) << memory << " " << round;
      }
    }
  }
}

// With noise_shrinkage = none no step is shortened, however noisy the rounds are, and else pooled
// steps are, by the noise of the pool.
TEST(LinearisedRule, OwnStepsAreShortenedForNoiseOnlyWhereTheBaseLearnersAre) {
  for (const double floor : {1.0, 0.05}) {
    Draws draws(5);
    Learner learner =
        linearised_alone(0.4, floor == 1 ? NoiseShrinkage::none : NoiseShrinkage::measured);
    const Eigen::MatrixXd metric = synthetic_loss(draws, kFeatures, {}).curvature;
    for (int round = 0; round < 12; ++round) {
      const RoundLoss loss = trust_region_loss(metric, draws.normals(kParameters, 1),
                                               learner.policy("a").parameters(), 0.9, floor);
      ASSERT_EQ(learner.observe("a", loss).status, RoundStatus::ok);
      const double length = length_in(loss, learner);
      if (floor == 1) {
        EXPECT_NEAR(length, loss.radius, 1e-9 * loss.radius) << round;
      } else {
        EXPECT_LT(length, 0.9 * loss.radius) << round;
      }
    }
  }
}

TEST(AlternatingRule, MemoryOneAddsUpAllRoundsAndMemoryZeroKeepsTheLast) {
  LearnerSettings settings;
  settings.update = UpdateRule::alternating;
  for (const double memory : {0.0, 0.5, 1.0}) {
    settings.memory = memory;
    AlternatingRule rule(settings, kFeatures, kActions);
    Knowledge knowledge(kParameters, kParameters, 1.0);
    knowledge.add_task(Eigen::VectorXd::Zero(kParameters));
    rule.add_task(knowledge.anchors.col(0));
    const std::vector<SafeSet> sets = {SafeSet(kParameters)};
    Draws draws(3);
    const RoundLoss first = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
    const RoundLoss second = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1));
    long rounds = 0;
    for (const RoundLoss* loss : {&first, &second}) {
      const LearningRound round{0, *loss, rounds++, knowledge, sets};
      Knowledge next = knowledge;
      ASSERT_EQ(rule.solve(round, next), RoundStatus::ok);
      rule.accept(round, knowledge);
      knowledge = next;
    }
    const SummedLoss& sum = rule.losses()[0];
    EXPECT_LT((sum.curvature - (memory * first.curvature + second.curvature)).norm(), 1e-12);
    // The gradient of the sum is the sum of the gradients.
    const Eigen::VectorXd alpha = draws.normals(kParameters, 1);
    Eigen::VectorXd gradient(kParameters);
    apply_curvature(sum.curvature, alpha, gradient);
    gradient -= sum.linear;
    EXPECT_LT((gradient - memory * first.gradient(alpha) - second.gradient(alpha)).norm(), 1e-10);
  }
}

}  // namespace lifeguard::learner_test
