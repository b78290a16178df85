// The learner under constraints: whatever it is told, every policy it hands out is safe. The judge
// is the independent checker in exact arithmetic, never the code that made the policy.

#include "lifeguard/lifelong/safeguard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/prove/certificate.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/synthetic_losses.hpp"
#include "tests/support/update_rules.hpp"

namespace lifeguard::safeguard_test {

constexpr int kFeatures = 3;
constexpr int kActions = 2;
constexpr int kParameters = kFeatures * kActions;

std::string task_name(int t) { return "task " + std::to_string(t); }

std::string saved(const Learner& learner) {
  std::ostringstream out;
  learner.save(out);
  return out.str();
}

/// A box of random size around a random centre, cut by a few random half-spaces that leave the
/// centre inside.
SafeSet random_set(Draws& draws, double slack_limit) {
  const Eigen::VectorXd centre = draws.normals(kParameters, 1);
  const Eigen::VectorXd half =
      Eigen::VectorXd::NullaryExpr(kParameters, [&] { return draws.uniform(0.05, 2.0); });
  std::vector<SafeSet> parts = {
      gain_box(centre - half, centre + half, default_gain_names(kActions, kFeatures))};
  for (int i = 0; i < 4; ++i) {
    const Eigen::VectorXd normal = draws.normals(kParameters, 1);
    parts.push_back(half_space(normal, normal.dot(centre) + draws.uniform(0.01, 0.5), "cut"));
  }
  return intersect(parts).with_slack_limit(slack_limit);
}

void expect_safe(const Learner& learner) {
  for (int t = 0; t < learner.tasks(); ++t) {
    const Findings findings =
        check_policy(learner.safe_sets()[t], learner.policy(task_name(t)).parameters());
    ASSERT_TRUE(findings.empty()) << findings[0].message;
  }
}

void expect_certified(const Learner& learner) {
  const Certificate certificate = learner.certificate();
  EXPECT_TRUE(certificate.valid());
  std::vector<Eigen::VectorXd> anchors;
  for (int t = 0; t < learner.tasks(); ++t) {
    anchors.emplace_back(learner.knowledge().anchors.col(t));
  }
  const ProjectionSettings& s = learner.settings().projection;
  const Findings findings =
      check_certificate({learner.knowledge().basis, learner.knowledge().coefficients, anchors,
                         learner.safe_sets(), s.p, s.q},
                        certificate);
  EXPECT_TRUE(findings.empty()) << findings[0].message;
}

std::vector<LearnerSettings> safe_settings() {
  std::vector<LearnerSettings> list;
  for (const ProjectionMode mode : {ProjectionMode::exact, ProjectionMode::paper}) {
    for (const int basis_size : {0, 2}) {
      for (const UpdateRule update : kAllUpdateRules) {
        LearnerSettings settings;
        settings.projection.mode = mode;
        settings.k = basis_size;
        settings.update = update;
        settings.alternation.alternations = 2;
        list.push_back(settings);
      }
    }
  }
  return list;
}

TEST(Safeguard, EveryPolicyOfEveryRoundIsSafe) {
  for (const LearnerSettings& settings : safe_settings()) {
    Draws draws(3);
    Learner learner(kFeatures, kActions, settings);
    int learnt = 0;
    for (int round = 0; round < 60; ++round) {
      // Tasks keep arriving, and the first policy of each is safe before any observation.
      if (round % 12 == 0) {
        learner.add_task(
            task_name(learner.tasks()),
            random_set(draws, round % 24 == 0 ? 40.0 : std::numeric_limits<double>::infinity()),
            0.5);
        expect_safe(learner);
      }
      const int task = draws.integer(0, learner.tasks() - 1);
      const double far = round % 5 == 0 ? 1e6 : 3.0;
      const RoundRecord record = learner.observe(
          task_name(task), synthetic_loss(draws, kFeatures, far * draws.normals(kParameters, 1)));
      expect_safe(learner);
      // A round that cannot be solved leaves everything as it was; most can.
      if (record.status != RoundStatus::ok) continue;
      ++learnt;
      EXPECT_NE(record.safeguard.status, ProjectionStatus::not_run);
      EXPECT_GT(record.safeguard.worst_margin, 0);
    }
    EXPECT_GT(learnt, 40);
    expect_certified(learner);
  }
}

TEST(Safeguard, WithoutItTheSameRoundsAreUnsafe) {
  Draws draws(5);
  LearnerSettings settings;
  settings.projection.mode = ProjectionMode::none;
  Learner learner(kFeatures, kActions, settings);
  const SafeSet set = random_set(draws, std::numeric_limits<double>::infinity());
  learner.add_task("task 0", set, 0.5);
  learner.observe("task 0", synthetic_loss(draws, kFeatures, 3.0 * draws.normals(kParameters, 1)));
  EXPECT_FALSE(check_policy(set, learner.policy("task 0").parameters()).empty());
  EXPECT_FALSE(learner.certificate().valid());
}

TEST(Safeguard, StaysSafeWhenEverySolverStepFails) {
  const ProjectionFault faults[] = {ProjectionFault::failure, ProjectionFault::not_finite,
                                    ProjectionFault::unsafe};
  for (const ProjectionFault fault : faults) {
    for (const LearnerSettings& settings : safe_settings()) {
      Draws draws(9);
      Learner learner(kFeatures, kActions, settings);
      learner.inject_faults([fault](ProjectionStage) { return fault; });
      for (int t = 0; t < 3; ++t) {
        learner.add_task(task_name(t), random_set(draws, 40.0), 0.5);
      }
      for (int round = 0; round < 100; ++round) {
        learner.observe(task_name(round % 3),
                        synthetic_loss(draws, kFeatures, 5.0 * draws.normals(kParameters, 1)));
        expect_safe(learner);
      }
      expect_certified(learner);
    }
  }
}

TEST(Safeguard, APolicyThatTheLastLookRefusesIsReplacedByItsAnchorAndCounted) {
  Draws draws(11);
  Learner learner(kFeatures, kActions);
  for (int t = 0; t < 2; ++t) learner.add_task(task_name(t), random_set(draws, 40.0), 0.5);
  for (int round = 0; round < 6; ++round) {
    learner.observe(task_name(round % 2),
                    synthetic_loss(draws, kFeatures, 5.0 * draws.normals(kParameters, 1)));
  }
  const Eigen::VectorXd anchor = learner.knowledge().anchors.col(1);
  ASSERT_NE(learner.policy(task_name(1)).parameters(), anchor);
  EXPECT_EQ(learner.fallbacks(), 0);
  learner.inject_refusals([](int task) { return task == 1; });
  EXPECT_NE(learner.policy(task_name(0)).parameters(), learner.knowledge().anchors.col(0));
  EXPECT_EQ(learner.fallbacks(), 0);
  EXPECT_EQ(learner.policy(task_name(1)).parameters(), anchor);
  EXPECT_EQ(learner.policy(task_name(1)).parameters(), anchor);
  EXPECT_EQ(learner.fallbacks(), 2);
  expect_safe(learner);
}

TEST(Safeguard, ManyTasksAtOnceAreTheSameTasksOneByOne) {
  std::vector<LearnerSettings> list = safe_settings();
  LearnerSettings unsafe;
  unsafe.projection.mode = ProjectionMode::none;
  list.push_back(unsafe);
  unsafe.projection.none_limits_spectrum = true;
  unsafe.zeta = 1e4;
  list.push_back(unsafe);
  LearnerSettings outside;  // whose first L is not within p and q
  outside.zeta = 1e4;
  list.push_back(outside);
  for (const LearnerSettings& settings : list) {
    Draws draws(12);
    std::vector<Learner::NewTask> tasks;
    for (int t = 0; t < 6; ++t) tasks.push_back({task_name(t), random_set(draws, 40.0), 0.5});
    Learner one(kFeatures, kActions, settings);
    for (const Learner::NewTask& task : tasks) one.add_task(task.id, task.safe_set, task.sigma);
    Learner many(kFeatures, kActions, settings);
    many.add_tasks({tasks.begin(), tasks.begin() + 4});
    many.add_tasks({tasks.begin() + 4, tasks.end()});
    ASSERT_EQ(saved(many), saved(one));
    // And after rounds, when new tasks begin where the others are.
    for (int round = 0; round < 6; ++round) {
      const RoundLoss loss = synthetic_loss(draws, kFeatures, 5.0 * draws.normals(kParameters, 1));
      one.observe(task_name(round), loss);
      many.observe(task_name(round), loss);
    }
    std::vector<Learner::NewTask> later;
    for (int t = 6; t < 9; ++t) later.push_back({task_name(t), random_set(draws, 40.0), 0.5});
    for (const Learner::NewTask& task : later) one.add_task(task.id, task.safe_set, task.sigma);
    many.add_tasks(later);
    EXPECT_EQ(saved(many), saved(one));
  }
}

TEST(Safeguard, OfManyTasksNoneIsAddedIfOneIsRefused) {
  Draws draws(13);
  Learner learner(kFeatures, kActions);
  const std::string before = saved(learner);
  const SafeSet set = random_set(draws, 40.0);
  const Eigen::VectorXd e = Eigen::VectorXd::Unit(kParameters, 0);
  const SafeSet empty = intersect({half_space(e, -1.0, "upper"), half_space(-e, -1.0, "lower")});
  EXPECT_THROW(learner.add_tasks({{"a", set, 0.5}, {"b", empty, 0.5}}), InvalidInput);
  EXPECT_THROW(learner.add_tasks({{"a", set, 0.5}, {"a", set, 0.5}}), InvalidInput);
  EXPECT_THROW(learner.add_tasks({{"a", set, 0.5}, {"b", set, -1}}), InvalidInput);
  EXPECT_EQ(saved(learner), before);
  EXPECT_FALSE(learner.knows("a"));
  learner.add_tasks({});
  EXPECT_EQ(saved(learner), before);
}

TEST(Safeguard, TheSpectrumStaysWithinItsLimitsWithoutConstraintsIfAsked) {
  Draws draws(6);
  LearnerSettings settings;
  settings.k = 2;
  settings.update = UpdateRule::alternating;
  settings.projection.mode = ProjectionMode::none;
  settings.projection.none_limits_spectrum = true;
  settings.projection.p = 0.5;
  settings.projection.q = 2.0;
  Learner learner(kFeatures, kActions, settings);
  for (int t = 0; t < 3; ++t) {
    learner.add_task(task_name(t), Eigen::VectorXd::Zero(kParameters), 0.5);
  }
  for (int round = 0; round < 30; ++round) {
    learner.observe(task_name(round % 3),
                    synthetic_loss(draws, kFeatures, 5.0 * draws.normals(kParameters, 1)));
    EXPECT_TRUE(learner.certificate().spectrum_holds);
  }
}

TEST(Safeguard, AnEmptySetIsAnsweredWithTheRowsThatContradict) {
  Draws draws(3);
  Learner learner(kFeatures, kActions);
  learner.add_task("task 0", random_set(draws, 40.0), 0.5);
  const std::string before = saved(learner);
  const Eigen::VectorXd e = Eigen::VectorXd::Unit(kParameters, 0);
  const SafeSet empty = intersect({half_space(e, -1.0, "roll gain upper limit"),
                                   half_space(-e, -1.0, "roll gain lower limit")});
  try {
    learner.add_task("task 1", empty, 0.5);
    FAIL() << "an empty set was accepted";
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("task 1"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("roll gain upper limit"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("roll gain lower limit"));
  }
  EXPECT_EQ(saved(learner), before);
  EXPECT_THROW(learner.set_safe_set("task 0", empty), InvalidInput);
  EXPECT_EQ(saved(learner), before);
}

TEST(Safeguard, UnboundedSetsAreRefusedWhereAsked) {
  LearnerSettings settings;
  settings.require_bounded_sets = true;
  Learner learner(kFeatures, kActions, settings);
  const Eigen::VectorXd e = Eigen::VectorXd::Unit(kParameters, 0);
  EXPECT_THROW(learner.add_task("a", half_space(e, 1.0, "one side"), 0.5), InvalidInput);
  Draws draws(3);
  learner.add_task("b", random_set(draws, std::numeric_limits<double>::infinity()), 0.5);
}

TEST(Safeguard, NewConstraintsHoldForTheNextPolicy) {
  Draws draws(21);
  Learner learner(kFeatures, kActions);
  for (int t = 0; t < 3; ++t) learner.add_task(task_name(t), random_set(draws, 40.0), 0.5);
  for (int round = 0; round < 30; ++round) {
    const int task = round % 3;
    learner.observe(task_name(task),
                    synthetic_loss(draws, kFeatures, 2.0 * draws.normals(kParameters, 1)));
    const SafeSet set = random_set(draws, 40.0);
    learner.set_safe_set(task_name(task), set);
    EXPECT_EQ(learner.safe_sets()[task], set);
    expect_safe(learner);
  }
  expect_certified(learner);
}

TEST(Safeguard, AWiderSetLeavesThePolicyWhereItIs) {
  Learner learner(kFeatures, kActions);
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(kParameters);
  const auto names = default_gain_names(kActions, kFeatures);
  learner.add_task("task 0", gain_box(-one, one, names), 0.5);
  Draws draws(2);
  learner.observe("task 0", synthetic_loss(draws, kFeatures, 0.5 * one));
  const Eigen::VectorXd before = learner.policy("task 0").parameters();
  learner.set_safe_set("task 0", gain_box(-2 * one, 2 * one, names));
  EXPECT_LT((learner.policy("task 0").parameters() - before).norm(), 1e-12);
}

TEST(Safeguard, SavedLearnersComeBackWithTheirConstraints) {
  Draws draws(8);
  LearnerSettings settings;
  settings.k = 3;
  Learner learner(kFeatures, kActions, settings);
  for (int t = 0; t < 3; ++t) learner.add_task(task_name(t), random_set(draws, 40.0), 0.5);
  for (int round = 0; round < 20; ++round) {
    learner.observe(task_name(round % 3),
                    synthetic_loss(draws, kFeatures, 2.0 * draws.normals(kParameters, 1)));
  }
  const std::string text = saved(learner);
  std::istringstream in(text);
  Learner loaded = Learner::load(in);
  EXPECT_EQ(saved(loaded), text);
  Draws more(31);
  for (int round = 0; round < 10; ++round) {
    const RoundLoss loss = synthetic_loss(more, kFeatures, 2.0 * more.normals(kParameters, 1));
    learner.observe(task_name(round % 3), loss);
    loaded.observe(task_name(round % 3), loss);
  }
  EXPECT_EQ(saved(loaded), saved(learner));
}

TEST(Safeguard, AnUnsafeFirstPolicyIsRefusedWithNumbers) {
  Learner learner(kFeatures, kActions);
  const std::vector<std::string> names = default_gain_names(kActions, kFeatures);
  const SafeSet box = gain_box(Eigen::VectorXd::Constant(kParameters, 1.0),
                               Eigen::VectorXd::Constant(kParameters, 2.0), names);
  const auto add = [&](double gain) {
    learner.add_task("a", box, 0.5, Eigen::VectorXd::Constant(kParameters, gain));
  };
  for (const double gain : {0.5, 1.0, 2.5, kNaN, kInfinity}) {
    EXPECT_THROW(add(gain), InvalidInput) << gain;
    EXPECT_EQ(learner.tasks(), 0);
  }
  try {
    add(0.5);
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("by 0.5"));
  }
  add(1.5);
  // Without one, the centre of the set is chosen; with new constraints that exclude the old one
  // too.
  learner.add_task("b", box, 0.5);
  EXPECT_TRUE(strictly_safe(box, learner.policy("b").parameters()));
  const SafeSet other = gain_box(Eigen::VectorXd::Constant(kParameters, 3.0),
                                 Eigen::VectorXd::Constant(kParameters, 4.0), names);
  EXPECT_THROW(learner.set_safe_set("a", other, Eigen::VectorXd::Constant(kParameters, 1.5)),
               InvalidInput);
  EXPECT_EQ(learner.policy("a").parameters(), Eigen::VectorXd::Constant(kParameters, 1.5));
  learner.set_safe_set("a", other);
  EXPECT_TRUE(strictly_safe(other, learner.policy("a").parameters()));
}

TEST(Safeguard, AFileWithAnUnsafePolicyIsRefused) {
  Draws draws(8);
  LearnerSettings settings;
  settings.update = UpdateRule::linearised;  // whose policies are made safe before they are stored
  settings.projection.mode = ProjectionMode::none;
  Learner learner(kFeatures, kActions, settings);
  learner.add_task("task 0", random_set(draws, 40.0), 0.5);
  learner.observe("task 0", synthetic_loss(draws, kFeatures, 9.0 * draws.normals(kParameters, 1)));
  std::string text = saved(learner);
  // The same file claiming to be a safe learner's.
  const std::string none = "projection.mode none";
  ASSERT_NE(text.find(none), std::string::npos);
  text.replace(text.find(none), none.size(), "projection.mode exact");
  std::istringstream in(text);
  EXPECT_THROW(Learner::load(in), InvalidInput);
}

TEST(Safeguard, ARoundAllocatesNothing) {
  if (!test_support::allocations_are_counted()) GTEST_SKIP() << "cannot count under a sanitizer";
  Draws draws(4);
  Learner learner(kFeatures, kActions);
  for (int t = 0; t < 4; ++t) {
    learner.add_task(task_name(t), random_set(draws, std::numeric_limits<double>::infinity()), 0.5);
  }
  const std::string id = task_name(2);
  std::vector<RoundLoss> losses;
  for (int j = 0; j < 40; ++j) {
    losses.push_back(synthetic_loss(draws, kFeatures, 2.0 * draws.normals(kParameters, 1)));
  }
  for (int j = 0; j < 20; ++j) learner.observe(id, losses[j]);
  const std::int64_t before = test_support::allocation_count();
  for (int j = 20; j < 40; ++j) learner.observe(id, losses[j]);
  // L is learnt anew four times, by two decompositions that need a vector each.
  EXPECT_LE(test_support::allocation_count(), before + 8);
}

}  // namespace lifeguard::safeguard_test
