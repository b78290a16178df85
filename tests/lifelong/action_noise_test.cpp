// Actions with noises of their own: what a policy learns must not depend on what an action is
// measured in, and each action's score and information are those of its own noise.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/line_search.hpp"
#include "lifeguard/core/check.hpp"
#include "lifeguard/lifelong/independent.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/pg_ella.hpp"
#include "lifeguard/lifelong/shared.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/regret/theorem_bounds.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/base_learners/linear_system.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::action_noise_test {

using test_support::LinearSystem;
using ::testing::HasSubstr;

constexpr int kActions = 2;
constexpr int kFeatures = 3;

/// The same machine with its second action in units of which so many are one of the first's.
struct Units {
  double factor;

  Eigen::VectorXd of_actions() const { return Eigen::Vector2d(1, factor); }
  LinearSystem system() const {
    LinearSystem s = LinearSystem::example();
    s.steps = 20;
    s.b.col(1) /= factor;
    s.r(1, 1) /= factor * factor;
    return s;
  }
  PerAction noise(double first, double second) const {
    return PerAction(Eigen::VectorXd(Eigen::Vector2d(first, factor * second)));
  }
  /// Parameters of the first units in these.
  Eigen::VectorXd parameters(const Eigen::VectorXd& alpha) const {
    return parameters_from_gains(of_actions().asDiagonal() * gains_from_parameters(alpha, 2));
  }
  GaussianPolicy policy(double first, double second) const {
    return GaussianPolicy::from_parameters(
        parameters(parameters_from_gains(LinearSystem::example_gains())), 2, noise(first, second));
  }
};

Trajectories with_ends(Trajectories t) {
  t.fail(1, 12, 3.0);
  t.fail(4, 3, 3.0);
  return t;
}

/// Σ over live steps of weight · log π, up to what does not depend on α, over the batch's mean.
double weighted_log_likelihood(const Trajectories& t, const Eigen::VectorXd& alpha,
                               const PerAction& sigma,
                               const std::function<double(int, int)>& weight) {
  const Eigen::MatrixXd k = gains_from_parameters(alpha, t.actions());
  double sum = 0;
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) {
      for (int a = 0; a < t.actions(); ++a) {
        double z = t.action(i, m, a);
        for (int f = 0; f < t.features(); ++f) z -= k(a, f) * t.feature(i, m, f);
        z /= sigma.of(a);
        sum -= 0.5 * z * z * weight(i, m);
      }
    }
  }
  return sum / t.count();
}

Eigen::VectorXd differences(const std::function<double(const Eigen::VectorXd&)>& f,
                            const Eigen::VectorXd& at) {
  Eigen::VectorXd result(at.size());
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    const Eigen::VectorXd h = 1e-3 * Eigen::VectorXd::Unit(at.size(), i);
    result(i) = (f(at + h) - f(at - h)) / 2e-3;  // exact for a quadratic, but for rounding
  }
  return result;
}

TEST(ActionNoise, ScoreAndFisherAreThoseOfTheLikelihood) {
  const Units units{1};
  const GaussianPolicy played = units.policy(0.2, 0.7);
  const Trajectories t = with_ends(units.system().simulate(played, 60, 3));
  BaseLearnerSettings settings;
  BaseLearnerWorkspace workspace;
  const RoundLoss loss = make_round_loss(t, played, 0, settings, workspace);
  ASSERT_EQ(loss.status, RoundLossStatus::ok);
  AdvantageWorkspace advantages;
  compute_advantages(t, settings.advantages, advantages);
  const Eigen::VectorXd score = differences(
      [&](const Eigen::VectorXd& alpha) {
        return weighted_log_likelihood(t, alpha, played.noise(), [&](int i, int m) {
          return advantages.advantages[static_cast<std::size_t>(m) * t.stride() + i];
        });
      },
      played.parameters());
  EXPECT_LT((loss.cost_gradient / loss.cost_unit - score).norm(), 1e-8 * score.norm());
  // The Fisher information is minus the second derivative of the log-likelihood.
  ASSERT_EQ(loss.curvature.rows(), kActions * kFeatures);
  const auto gradient = [&](const Eigen::VectorXd& at) {
    return differences(
        [&](const Eigen::VectorXd& alpha) {
          return weighted_log_likelihood(t, alpha, played.noise(), [](int, int) { return 1.0; });
        },
        at);
  };
  for (int i = 0; i < kActions * kFeatures; ++i) {
    const Eigen::VectorXd h = Eigen::VectorXd::Unit(kActions * kFeatures, i);
    const Eigen::VectorXd column =
        (gradient(played.parameters() - h) - gradient(played.parameters() + h)) / 2;
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(kActions * kFeatures);
    const int a = i / kFeatures;
    expected.segment(a * kFeatures, kFeatures) = action_block(loss.curvature, a).col(i % kFeatures);
    EXPECT_LT((column - expected).norm(), 1e-6 * expected.norm()) << i;
  }
  // The step is the natural one: F (α⁺ - α_j) ∥ -g.
  const Eigen::VectorXd pull = -loss.gradient(loss.played);
  EXPECT_NEAR(pull.dot(loss.cost_gradient), -pull.norm() * loss.cost_gradient.norm(),
              -1e-9 * pull.dot(loss.cost_gradient));
  EXPECT_NEAR(loss.value(loss.played), loss.step_kl, 1e-12 * loss.step_kl);
}

TEST(ActionNoise, ALossOfDemonstrationsIsTheirLikelihood) {
  const Units units{1};
  const GaussianPolicy played = units.policy(0.2, 0.7);
  const Trajectories t = with_ends(units.system().simulate(played, 30, 4));
  BaseLearnerSettings settings;
  settings.method = BaseLearnerMethod::fit_demonstrations;
  BaseLearnerWorkspace workspace;
  const RoundLoss loss = make_round_loss(t, played, 0, settings, workspace);
  Draws draws(8);
  for (int i = 0; i < 5; ++i) {
    const Eigen::VectorXd alpha = draws.normals(kActions * kFeatures, 1);
    const double expected =
        -weighted_log_likelihood(t, alpha, played.noise(), [](int, int) { return 1.0; });
    EXPECT_NEAR(loss.value(alpha), expected, 1e-10 * expected);
  }
}

constexpr BaseLearnerMethod kMethods[] = {
    BaseLearnerMethod::reinforce, BaseLearnerMethod::natural_actor_critic,
    BaseLearnerMethod::natural_actor_critic_regression, BaseLearnerMethod::weighted_likelihood,
    BaseLearnerMethod::fit_demonstrations};

/// Noises that are equal in the first units are learnt from as one number, so this compares the two
/// ways through the base learner as well.
TEST(ActionNoise, BaseLearnersDoNotDependOnTheUnitsOfAnAction) {
  for (const auto& [first, second] : {std::pair(0.5, 0.5), std::pair(0.25, 0.75)}) {
    for (const double factor : {0.125, 1024.0, 3.7}) {
      for (const BaseLearnerMethod method : kMethods) {
        for (const StepRule rule : {StepRule::trust_region, StepRule::line_search}) {
          const Units own{1};
          const Units other{factor};
          const bool exact = factor != 3.7;
          const GaussianPolicy played = own.policy(first, second);
          const GaussianPolicy scaled = other.policy(first, second);
          const Trajectories t = with_ends(own.system().simulate(played, 40, 5));
          const Trajectories u = with_ends(other.system().simulate(scaled, 40, 5));
          BaseLearnerSettings settings;
          settings.method = method;
          settings.step.rule = rule;
          BaseLearnerWorkspace workspace;
          const RoundLoss a = make_round_loss(t, played, 0, settings, workspace);
          const RoundLoss b = make_round_loss(u, scaled, 0, settings, workspace);
          const std::string where = std::to_string(factor) + ", method " +
                                    std::to_string(static_cast<int>(method)) + ", noise " +
                                    std::to_string(first);
          const double near = exact ? 0.0 : 1e-9;
          const auto same = [&](double x, double y, const char* what) {
            if (std::isnan(x) && std::isnan(y)) return;
            EXPECT_NEAR(x, y, near * std::abs(x)) << what << ": " << where;
          };
          same(a.mean_cost, b.mean_cost, "mean cost");
          same(a.constant, b.constant, "constant");
          same(a.natural_norm_squared, b.natural_norm_squared, "natural norm");
          same(a.noise_share, b.noise_share, "noise share");
          same(a.step_kl, b.step_kl, "KL");
          same(a.radius, b.radius, "radius");
          const Eigen::VectorXd target = other.parameters(a.target);
          EXPECT_LE((b.target - target).norm(), near * target.norm()) << where;
          for (int action = 0; action < kActions; ++action) {
            const double square = std::pow(other.of_actions()(action), 2);
            const Eigen::MatrixXd block = action_block(a.curvature, action) / square;
            EXPECT_LE((action_block(b.curvature, action) - block).norm(), near * block.norm())
                << where << ", action " << action;
          }
          Draws draws(2);
          const Eigen::VectorXd alpha = draws.normals(kActions * kFeatures, 1);
          EXPECT_NEAR(a.value(alpha), b.value(other.parameters(alpha)), 1e-9 * a.value(alpha));
        }
      }
    }
  }
}

TEST(ActionNoise, TheLineSearchFindsTheSameRegion) {
  const Units own{1};
  const Units other{64};
  const GaussianPolicy played = own.policy(0.5, 0.5);
  const GaussianPolicy scaled = other.policy(0.5, 0.5);
  BaseLearnerWorkspace workspace;
  const LineSearchResult a = search_trust_region(own.system().simulate(played, 40, 6), played,
                                                 BaseLearnerSettings{}, workspace);
  const LineSearchResult b = search_trust_region(other.system().simulate(scaled, 40, 6), scaled,
                                                 BaseLearnerSettings{}, workspace);
  EXPECT_EQ(a.trust_region, b.trust_region);
  EXPECT_EQ(a.step, b.step);
}

/// Two tasks of one learner, in some units.
struct Fleet {
  Units units;
  double first;
  double second;
  std::unique_ptr<PolicyLearner> learner;
  RegretLedger ledger{kFeatures, kActions};

  Fleet(Units u, double noise_1, double noise_2, std::unique_ptr<PolicyLearner> made, bool safe)
      : units(u), first(noise_1), second(noise_2), learner(std::move(made)) {
    for (const char* id : {"a", "b"}) {
      const Eigen::VectorXd anchor =
          units.parameters(parameters_from_gains(LinearSystem::example_gains()));
      if (safe) {
        // A box that the learner wants to leave, a row across both actions and a limit on all.
        Eigen::VectorXd across = units.parameters(Eigen::VectorXd::Ones(6)).cwiseInverse();
        const Eigen::VectorXd reach = units.parameters(Eigen::VectorXd::Constant(6, 0.06));
        const SafeSet set = intersect({gain_box(anchor - reach, anchor + reach,
                                                default_gain_names(kActions, kFeatures)),
                                       half_space(across, across.dot(anchor) + 0.05, "across")})
                                .with_slack_limit(50);
        dynamic_cast<Learner&>(*learner).add_task(id, set, units.noise(first, second), anchor);
        ledger.add_task(set);
      } else {
        learner->add_task(id, anchor, units.noise(first, second));
        ledger.add_task();
      }
    }
  }
  RoundRecord play(int round) {
    const std::string id = round % 2 == 0 ? "a" : "b";
    const Trajectories t =
        units.system().simulate(learner->policy(id), 30, static_cast<std::uint64_t>(round));
    const Eigen::VectorXd played = learner->policy(id).parameters();
    RoundRecord record = learner->observe(id, t);
    ledger.record(round % 2, learner->last_loss(), played);
    return record;
  }
};

void expect_equal_learning(const std::function<std::unique_ptr<PolicyLearner>()>& make, bool safe,
                           double near) {
  for (const auto& [first, second] : {std::pair(0.5, 0.5), std::pair(0.25, 0.75)}) {
    for (const double factor : {1.0 / 1024, 8.0}) {
      Fleet own({1}, first, second, make(), safe);
      Fleet other({factor}, first, second, make(), safe);
      const Eigen::VectorXd begun = own.learner->policy("a").parameters();
      for (int round = 0; round < 12; ++round) {
        const RoundRecord a = own.play(round);
        const RoundRecord b = other.play(round);
        ASSERT_EQ(a.status, b.status);
        EXPECT_NEAR(a.mean_cost, b.mean_cost, near * a.mean_cost) << round;
        EXPECT_NEAR(a.step_kl, b.step_kl, near * a.step_kl) << round;
        EXPECT_NEAR(a.loss_after, b.loss_after, near * std::abs(a.loss_before)) << round;
        for (const char* id : {"a", "b"}) {
          const Eigen::VectorXd expected =
              other.units.parameters(own.learner->policy(id).parameters());
          const Eigen::VectorXd found = other.learner->policy(id).parameters();
          // Each action by itself: the larger one must not hide the other.
          for (int action = 0; action < kActions; ++action) {
            const auto part = expected.segment(action * kFeatures, kFeatures);
            EXPECT_LE((found.segment(action * kFeatures, kFeatures) - part).norm(),
                      near * part.norm())
                << round << ", task " << id << ", factor " << factor << ", noise " << first;
          }
        }
      }
      EXPECT_GT((own.learner->policy("a").parameters() - begun).norm(), 0.05);
      const SurrogateRegret a = own.ledger.surrogate_regret();
      const SurrogateRegret b = other.ledger.surrogate_regret();
      EXPECT_NEAR(a.most, b.most, 1e-6 * std::abs(a.played)) << factor;
      EXPECT_NEAR(a.least, b.least, 1e-6 * std::abs(a.played)) << factor;
    }
  }
}

/// What empirical Bayes learns depends on p and q, which are in squared gains.
std::unique_ptr<PolicyLearner> with_a_fixed_basis() {
  LearnerSettings settings;
  settings.update = UpdateRule::linearised;
  return settings.make(kFeatures, kActions);
}

TEST(ActionNoise, LearningWithAFixedBasisDoesNotDependOnTheUnitsOfAnAction) {
  expect_equal_learning(with_a_fixed_basis, false, 1e-12);
}

TEST(ActionNoise, SafeLearningWithAFixedBasisDoesNotDependOnTheUnitsOfAnAction) {
  expect_equal_learning(with_a_fixed_basis, true, 1e-9);
}

TEST(ActionNoise, NeitherDoLearnersWithoutABasis) {
  expect_equal_learning([] { return IndependentSettings{}.make(kFeatures, kActions); }, false,
                        1e-12);
  expect_equal_learning([] { return SharedSettings{}.make(kFeatures, kActions); }, false, 1e-12);
}

TEST(ActionNoise, RefusesAWrongNoiseInOneAction) {
  const Units units{1};
  const auto status = [&](const GaussianPolicy& told, const GaussianPolicy& played) {
    const TrajectoryCheck check = check_trajectories(units.system().simulate(played, 50, 7), told);
    Learner learner(kFeatures, kActions);
    learner.add_task("arm", told.parameters(), told.noise());
    const Trajectories t = units.system().simulate(played, 50, 7);
    if (check.status == TrajectoryStatus::other_policy) {
      EXPECT_THROW(learner.observe("arm", t), InvalidInput);
    } else {
      EXPECT_EQ(learner.observe("arm", t).trajectories.status, check.status);
    }
    return check.status;
  };
  const GaussianPolicy told = units.policy(0.2, 0.7);
  EXPECT_EQ(status(told, told), TrajectoryStatus::ok);
  EXPECT_EQ(status(told, units.policy(0.2, 0.4)), TrajectoryStatus::other_policy);
  EXPECT_EQ(status(told, units.policy(0.3, 0.7)), TrajectoryStatus::other_policy);
  EXPECT_EQ(status(told, units.policy(0.7, 0.2)), TrajectoryStatus::other_policy);
  // Of one of them alone: over both the mean square is near enough to 1 that nobody would notice.
  const GaussianPolicy traded = units.policy(0.2 * std::sqrt(0.5), 0.7 * std::sqrt(1.5));
  EXPECT_EQ(status(told, traded), TrajectoryStatus::other_policy);
  const TrajectoryCheck found = check_trajectories(units.system().simulate(traded, 50, 7), told);
  EXPECT_EQ(found.field, "actions[0]");
  EXPECT_THAT(found.value, HasSubstr("mean square 0."));
  EXPECT_EQ(status(told, units.policy(0.2, 1e-6)), TrajectoryStatus::no_noise);
  const TrajectoryCheck check =
      check_trajectories(units.system().simulate(units.policy(0.2, 1e-6), 50, 7), told);
  EXPECT_EQ(check.field, "actions[1]");
  EXPECT_THAT(check.rule, HasSubstr("σ = 0.7"));
  Trajectories t = units.system().simulate(told, 50, 7);
  t.action(5, 6, 1) += 20 * 0.7;
  const TrajectoryCheck one = check_trajectories(t, told);
  EXPECT_EQ(one.field, "action (trajectory 5, step 6, column 1)");
  EXPECT_THAT(one.value, HasSubstr(fmt::format("{:.6g}", t.action(5, 6, 1))));
}

TEST(ActionNoise, RefusesNoisesThatNoNumberCompares) {
  const Units units{1};
  const Trajectories t = units.system().simulate(units.policy(0.2, 0.7), 10, 7);
  BaseLearnerWorkspace workspace;
  for (const double other : {1e-200, 1e200}) {
    EXPECT_THROW(make_round_loss(t, units.policy(0.2, other), 0, BaseLearnerSettings{}, workspace),
                 InvalidInput);
    EXPECT_THROW(check_trajectories(t, units.policy(0.2, other)), InvalidInput);
  }
}

TEST(ActionNoise, ALearnerKeepsItWhenItIsSaved) {
  for (const UpdateRule rule : {UpdateRule::linearised, UpdateRule::alternating}) {
    LearnerSettings settings;
    settings.update = rule;
    Fleet fleet({1}, 0.25, 0.75, std::make_unique<Learner>(kFeatures, kActions, settings), true);
    for (int round = 0; round < 4; ++round) {
      ASSERT_EQ(fleet.play(round).status, RoundStatus::ok);
    }
    auto& learner = dynamic_cast<Learner&>(*fleet.learner);
    std::stringstream text;
    learner.save(text);
    EXPECT_THAT(text.str(), HasSubstr("\nsigma 2 1 0.25 0.75\n"));
    Learner loaded = Learner::load(text);
    EXPECT_EQ(loaded.policy("a").noise(), fleet.units.noise(0.25, 0.75));
    // The noise may change on the way: then the sums have a block for each action all the same.
    for (Learner* each : {&learner, &loaded}) each->set_sigma("a", 0.5);
    for (int round = 4; round < 8; ++round) {
      const std::string id = round % 2 == 0 ? "a" : "b";
      const Trajectories t =
          fleet.units.system().simulate(learner.policy(id), 30, static_cast<std::uint64_t>(round));
      ASSERT_EQ(learner.observe(id, t).status, RoundStatus::ok);
      ASSERT_EQ(loaded.observe(id, t).status, RoundStatus::ok);
    }
    std::ostringstream left;
    std::ostringstream right;
    learner.save(left);
    loaded.save(right);
    EXPECT_TRUE(left.str() == right.str());
    EXPECT_THROW(learner.set_sigma("a", PerAction(Eigen::VectorXd::Ones(3))), InvalidInput);
    EXPECT_THROW(learner.set_sigma("a", PerAction(Eigen::VectorXd(Eigen::Vector2d(1, 0)))),
                 InvalidInput);
  }
}

TEST(ActionNoise, PgEllaAndTheLedgerKeepItWhenTheyAreSaved) {
  Fleet fleet({1}, 0.25, 0.75, PgEllaSettings{}.make(kFeatures, kActions), false);
  for (int round = 0; round < 4; ++round) ASSERT_EQ(fleet.play(round).status, RoundStatus::ok);
  std::stringstream text;
  fleet.learner->write_state(text);
  Fleet again({1}, 0.25, 0.75, PgEllaSettings{}.make(kFeatures, kActions), false);
  again.learner->read_state(text);
  EXPECT_EQ(again.learner->policy("b").parameters(), fleet.learner->policy("b").parameters());
  std::stringstream saved;
  fleet.ledger.save(saved);
  const RegretLedger ledger = RegretLedger::load(saved);
  EXPECT_EQ(ledger.surrogate_regret().most, fleet.ledger.surrogate_regret().most);
}

/// With a block for each action the best policy in hindsight is that of each action by itself.
TEST(ActionNoise, TheBestPolicyInHindsightHasEachActionsOwnCurvature) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed);
    RegretLedger both(kFeatures, kActions);
    RegretLedger apart(kFeatures, 1);
    const Eigen::VectorXd reach = Eigen::VectorXd::Constant(3, 0.5);
    const auto box = [&](int actions) {
      const Eigen::VectorXd all = reach.replicate(actions, 1);
      return gain_box(-all, all, default_gain_names(actions, kFeatures));
    };
    both.add_task(box(2));
    for (int a = 0; a < kActions; ++a) apart.add_task(box(1));
    for (int j = 0; j < 4; ++j) {
      RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(6, 1));
      const Eigen::MatrixXd common = loss.curvature;
      if (j != 2) {  // and one whose actions share their block
        loss.curvature.resize(6, 3);
        loss.curvature << common, 50 * common;
      }
      const Eigen::VectorXd alpha = draws.normals(6, 1);
      both.record(0, loss, alpha);
      for (int a = 0; a < kActions; ++a) {
        RoundLoss own = loss;
        own.curvature = action_block(loss.curvature, a);
        own.target = loss.target.segment(a * 3, 3);
        apart.record(a, own, alpha.segment(a * 3, 3));
      }
    }
    const SurrogateRegret a = both.surrogate_regret();
    const SurrogateRegret b = apart.surrogate_regret();
    EXPECT_NEAR(a.played, b.played, 1e-9 * a.played);
    EXPECT_NEAR(a.most, b.most, 1e-7 * a.played) << seed;
    EXPECT_NEAR(a.least, b.least, 1e-7 * a.played) << seed;
  }
}

TEST(ActionNoise, LemmasHoldWithTheLeastNoise) {
  const Units units{1};
  TheoremBounds bounds{TheoremSettings{}};
  Eigen::MatrixXd rows(12, 6);
  rows << Eigen::MatrixXd::Identity(6, 6), -Eigen::MatrixXd::Identity(6, 6);
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back("row " + std::to_string(i));
  const SafeSet set(rows, Eigen::VectorXd::Ones(12), names, 10.0);
  const GaussianPolicy played = units.policy(0.2, 0.9);
  bounds.add_task(set, played.parameters());
  BaseLearnerWorkspace workspace;
  const Trajectories t = units.system().simulate(played, 40, 9);
  const RoundLoss loss = make_round_loss(t, played, 0, BaseLearnerSettings{}, workspace);
  Knowledge knowledge(6, 6, 1.0);
  knowledge.add_task(played.parameters());
  const LemmaValues values = bounds.evaluate(0, loss, t, played.noise(), knowledge);
  EXPECT_TRUE(values.hold());
  EXPECT_EQ(values.policy_gradient.bound,
            bounds.evaluate(0, loss, t, 0.2, knowledge).policy_gradient.bound);
}

TEST(PerAction, IsOneNumberOrOneForEach) {
  const PerAction one = 0.5;
  const PerAction alike(Eigen::VectorXd(Eigen::Vector2d(0.5, 0.5)));
  const PerAction two(Eigen::VectorXd(Eigen::Vector2d(0.5, 2)));
  EXPECT_TRUE(one.is_common() && alike.is_common() && !two.is_common());
  EXPECT_TRUE(one == alike);
  EXPECT_FALSE(one == two);
  EXPECT_EQ(two.of(1), 2);
  EXPECT_EQ(two.least(), 0.5);
  EXPECT_EQ(two.largest(), 2);
  EXPECT_EQ(one.values(3), Eigen::Vector3d(0.5, 0.5, 0.5));
  EXPECT_EQ(one.text(), "0.5");
  EXPECT_EQ(two.text(), "[0.5, 2]");
  EXPECT_THROW(two.common("sigma"), InvalidInput);
  EXPECT_THROW(alike.require_fits("sigma", 3), InvalidInput);
  EXPECT_THROW(PerAction(Eigen::VectorXd{}), InvalidInput);
  EXPECT_THROW(GaussianPolicy(Eigen::MatrixXd::Zero(3, 2), two), InvalidInput);
  EXPECT_THROW(GaussianPolicy(Eigen::MatrixXd::Zero(2, 2), two).sigma(), InvalidInput);
  EXPECT_EQ(GaussianPolicy(Eigen::MatrixXd::Zero(2, 2), two).without_noise().sigma(), 0);
}

}  // namespace lifeguard::action_noise_test
