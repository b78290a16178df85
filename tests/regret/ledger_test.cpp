#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/base_learners/base_learner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/systems/task.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/allocation_count.hpp"
#include "tests/support/invalid_input.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::ledger_test {

constexpr int kFeatures = 3;
constexpr int kActions = 2;
constexpr int kParameters = kFeatures * kActions;

SafeSet box(double half_width) {
  const Eigen::VectorXd side = Eigen::VectorXd::Constant(kParameters, half_width);
  return gain_box(-side, side, default_gain_names(kActions, kFeatures));
}

RoundLoss random_loss(Draws& draws) {
  RoundLoss loss = synthetic_loss(draws, kFeatures, draws.normals(kParameters, 1).array() + 0.5);
  loss.constant = draws.uniform(-1, 1);
  return loss;
}

/// A ledger with one constrained and one free task and some rounds, and its rounds.
struct Played {
  RegretLedger ledger{kFeatures, kActions};
  std::vector<int> tasks;
  std::vector<RoundLoss> losses;
  std::vector<Eigen::VectorXd> alphas;

  explicit Played(int rounds) {
    ledger.add_task(box(0.2).with_slack_limit(0.9));
    ledger.add_task();
    Draws draws(7);
    for (int j = 0; j < rounds; ++j) {
      tasks.push_back(j % 2);
      losses.push_back(random_loss(draws));
      alphas.push_back(0.1 * draws.normals(kParameters, 1));
      ledger.record(tasks.back(), losses.back(), alphas.back());
    }
  }
  double sum(int task, const Eigen::VectorXd& alpha) const {
    double total = 0;
    for (std::size_t j = 0; j < tasks.size(); ++j) {
      if (tasks[j] == task) total += losses[j].value(alpha);
    }
    return total;
  }
};

TEST(RegretLedger, EqualsSumsOverAllRounds) {
  const Played played(200);
  const SurrogateRegret regret = played.ledger.surrogate_regret();
  ASSERT_EQ(regret.tasks.size(), 2u);
  EXPECT_EQ(regret.rounds, 200);
  double at_played = 0;
  for (std::size_t j = 0; j < played.tasks.size(); ++j) {
    at_played += played.losses[j].value(played.alphas[j]);
  }
  EXPECT_NEAR(regret.played, at_played, 1e-10);
  double best = 0;
  for (int t = 0; t < 2; ++t) {
    const TaskRegret& task = regret.tasks[static_cast<std::size_t>(t)];
    EXPECT_EQ(task.rounds, 100);
    EXPECT_NEAR(task.best.value, played.sum(t, task.best.alpha), 1e-9);
    best += task.best.value;
  }
  EXPECT_EQ(regret.tasks[0].best.status, ComparatorStatus::constrained);
  EXPECT_EQ(regret.tasks[1].best.status, ComparatorStatus::unconstrained);
  EXPECT_NEAR(regret.least, at_played - best, 1e-9);
  EXPECT_LE(regret.least, regret.most);
  EXPECT_NEAR(regret.least, regret.most, 1e-8);
}

// docs/regret.md: whatever (L, S) of the paper's set does, each task's own best does better.
TEST(RegretLedger, BoundsTheRegretAgainstSharedKnowledgeFromAbove) {
  const Played played(60);
  const SurrogateRegret regret = played.ledger.surrogate_regret();
  Draws draws(8);
  int feasible = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Eigen::MatrixXd basis = draws.normals(kParameters, 2);
    double sum = 0;
    bool safe = true;
    for (int t = 0; t < 2; ++t) {
      const Eigen::VectorXd alpha = basis * draws.normals(2, 1) * draws.uniform(0, 0.2);
      sum += played.sum(t, alpha);
      safe = safe && (t == 1 || strictly_safe(played.ledger.safe_set(0), alpha));
    }
    if (!safe) continue;
    ++feasible;
    EXPECT_LE(regret.played - sum, regret.most);
  }
  EXPECT_GT(feasible, 50);
}

TEST(RegretLedger, SaveAndLoadKeepTheBits) {
  Played played(31);
  std::stringstream text;
  played.ledger.save(text);
  text << "what follows\n";
  RegretLedger copy = RegretLedger::load(text);
  std::string rest;
  std::getline(text, rest);
  EXPECT_EQ(rest, "what follows");
  Draws draws(9);
  for (int j = 0; j < 10; ++j) {
    const RoundLoss loss = random_loss(draws);
    played.ledger.record(j % 2, loss, loss.target);
    copy.record(j % 2, loss, loss.target);
  }
  std::ostringstream one, other;
  played.ledger.save(one);
  copy.save(other);
  EXPECT_EQ(one.str(), other.str());
  EXPECT_EQ(played.ledger.surrogate_regret().most, copy.surrogate_regret().most);
  EXPECT_EQ(copy.safe_set(0), played.ledger.safe_set(0));
}

TEST(RegretLedger, NewConstraintsHoldForAllRounds) {
  Played played(50);
  const SurrogateRegret before = played.ledger.surrogate_regret();
  played.ledger.set_safe_set(0, box(0.1));
  const SurrogateRegret smaller = played.ledger.surrogate_regret();
  EXPECT_LT(smaller.tasks[0].most(), before.tasks[0].least());
  EXPECT_EQ(smaller.tasks[1].most(), before.tasks[1].most());
  EXPECT_LE(smaller.tasks[0].best.alpha.cwiseAbs().maxCoeff(), 0.1);
  played.ledger.set_safe_set(0, SafeSet(kParameters));
  EXPECT_GT(played.ledger.surrogate_regret().tasks[0].least(), before.tasks[0].most());
}

TEST(RegretLedger, ARoundWithoutSignalPrefersNothing) {
  Played played(10);
  const SurrogateRegret before = played.ledger.surrogate_regret();
  Draws draws(10);
  RoundLoss loss = random_loss(draws);
  loss.status = RoundLossStatus::no_signal;
  loss.constant = 4;
  played.ledger.record(0, loss, loss.target);
  const SurrogateRegret after = played.ledger.surrogate_regret();
  EXPECT_NEAR(after.played, before.played + 4, 1e-12);
  EXPECT_NEAR(after.most, before.most, 1e-11);
  EXPECT_EQ(after.rounds, 11);
}

TEST(RegretLedger, RecordingAllocatesNothing) {
  if (!test_support::allocations_are_counted()) GTEST_SKIP();
  Played played(4);
  const std::int64_t before = test_support::allocation_count();
  played.ledger.record(0, played.losses[0], played.alphas[0]);
  EXPECT_EQ(test_support::allocation_count(), before);
}

TEST(RegretLedger, Mistakes) {
  Played played(2);
  RegretLedger& ledger = played.ledger;
  const RoundLoss& loss = played.losses[0];
  test_support::expect_invalid([&] { ledger.record(2, loss, loss.target); }, "task", "2", "added");
  test_support::expect_invalid([&] { ledger.record(0, RoundLoss{}, loss.target); }, "loss.status",
                               "not_run", "base learner");
  test_support::expect_invalid([&] { ledger.record(0, loss, Eigen::VectorXd::Zero(5)); }, "alpha",
                               "5 entries", "6");
  Eigen::VectorXd bad = loss.target;
  bad(0) = std::numeric_limits<double>::infinity();
  EXPECT_THROW(ledger.record(0, loss, bad), InvalidInput);
  EXPECT_EQ(ledger.rounds(), 2);
  EXPECT_THROW(ledger.add_task(SafeSet(5)), InvalidInput);
  const Eigen::VectorXd one = Eigen::VectorXd::Ones(kParameters);
  EXPECT_THROW(ledger.set_safe_set(0, gain_box(one, -one, default_gain_names(2, 3))), InvalidInput);
  std::istringstream damaged("format lifeguard regret 2\n");
  EXPECT_THROW(RegretLedger::load(damaged), InvalidInput);
  // So many parameters that an int cannot count them.
  std::istringstream large("format lifeguard regret 2\nfeatures 65536\nactions 65536\ntasks 0\n");
  test_support::expect_invalid([&] { RegretLedger::load(large); }, "features", "65536", "at most");
}

// The scale of cost, made from losses in nats, is what the base learner makes itself.
TEST(RegretLedger, CostUnitsAgreeWithTheBaseLearner) {
  const Task task = cart_pole_family().draw(1, 0);
  RolloutSettings rollouts;
  rollouts.trajectories = 20;
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(1, 4), task.settings.sigma);
  const Trajectories batch = rollout(task, policy, rollouts);
  BaseLearnerSettings settings = RoundSettings::default_base_learner();
  BaseLearnerWorkspace workspace;
  const RoundLoss metric = make_round_loss(batch, policy, 0, settings, workspace);
  settings.loss_scale = LossScale::cost;
  const RoundLoss cost = make_round_loss(batch, policy, 0, settings, workspace);
  const RoundLoss converted = in_cost_units(metric);
  EXPECT_LT((converted.curvature - cost.curvature).norm(), 1e-12 * cost.curvature.norm());
  EXPECT_NEAR(converted.constant, cost.constant, 1e-12);
  EXPECT_NEAR(converted.radius, cost.radius, 1e-12 * cost.radius);
  EXPECT_NEAR(converted.value(metric.played), metric.mean_cost, 1e-12);
  EXPECT_NEAR(metric.value(metric.played), metric.step_kl, 1e-12 * metric.step_kl);
}

TEST(RegretLedger, LearnerHandsOutItsLosses) {
  const Task task = mass_spring_family().draw(1, 0);
  Learner learner(2, 1);
  learner.add_task(task.name, Eigen::VectorXd::Zero(2), task.settings.sigma);
  RegretLedger ledger(2, 1);
  ledger.add_task();
  double kl = 0;
  for (int j = 0; j < 20; ++j) {
    RolloutSettings rollouts;
    rollouts.trajectories = 20;
    rollouts.seed = static_cast<std::uint64_t>(j);
    const GaussianPolicy policy = learner.policy(task.name);
    const RoundRecord record = learner.observe(task.name, rollout(task, policy, rollouts));
    EXPECT_EQ(learner.last_loss().played, policy.parameters());
    EXPECT_EQ(learner.last_loss().value(policy.parameters()), record.loss_before);
    kl += record.step_kl;
    ledger.record(0, learner.last_loss(), policy.parameters());
  }
  // Losses in nats are not negative, so their regret is at most the steps taken.
  const SurrogateRegret regret = ledger.surrogate_regret();
  EXPECT_NEAR(regret.played, kl, 1e-9 * kl);
  EXPECT_LE(regret.most, kl);
}

}  // namespace lifeguard::ledger_test
