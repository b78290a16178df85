// The learner in the setting of docs/theorem.md: it plays the leader that the regret ledger finds.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/regret/ledger.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "tests/support/curved_sets.hpp"

namespace lifeguard::leader_rule_test {

using test_support::Draws;

LearnerSettings leader_settings() {
  LearnerSettings settings;
  settings.update = UpdateRule::leader;
  return settings;
}

RoundLoss random_loss(Draws& draws, int features, const Eigen::VectorXd& target) {
  RoundLoss loss;
  loss.status = RoundLossStatus::ok;
  const Eigen::MatrixXd root = draws.normals(features, features);
  loss.curvature = root * root.transpose();
  loss.curvature.diagonal().array() += 0.1;
  loss.target = target;
  loss.constant = 0;
  loss.trajectories = 1;
  loss.mean_cost = 1;
  return loss;
}

// Two solvers, one leader: inside boxes and curved sets, with priors learnt from other tasks.
TEST(LeaderRule, PlaysTheLeaderOfTheLedger) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws draws(seed);
    const int features = 2, actions = 2;
    Learner learner(features, actions, leader_settings());
    RegretLedger ledger(features, actions);
    for (int t = 0; t < 3; ++t) {
      const auto curved = test_support::random_curved_set(draws, features, actions, 1);
      const Eigen::VectorXd half = Eigen::VectorXd::Constant(4, 0.3);
      const SafeSet box =
          gain_box(curved.inside - half, curved.inside + half, default_gain_names(2, 2));
      const SafeSet& set = t == 0 ? curved.set : box;
      learner.add_task(std::to_string(t), set, 1.0, curved.inside);
      ledger.add_task(set);
    }
    for (int j = 0; j < 24; ++j) {
      const int t = draws.integer(0, 2);
      Eigen::VectorXd alpha(4);
      learner.policy_parameters(t, alpha);
      ledger.set_prior(t, *learner.belief_of(t));
      const Eigen::VectorXd& leader = ledger.game(t)->leader();
      EXPECT_LT((alpha - leader).norm(), 1e-3 * (1 + leader.norm())) << seed << ", " << j;
      const RoundLoss loss = random_loss(draws, features, 2 * draws.normals(4, 1));
      ASSERT_EQ(learner.observe(std::to_string(t), loss).status, RoundStatus::ok);
      ledger.record(t, loss, alpha);
      const SurrogateRegret regret = ledger.surrogate_regret();
      EXPECT_LE(regret.most, regret.bound->total + 1e-9 * (1 + std::abs(regret.most)));
    }
    const RegretBound bound = *ledger.surrogate_regret().bound;
    EXPECT_EQ(bound.terms.changes, 0);
    EXPECT_LT(std::abs(bound.terms.off_leader), 1e-2 * bound.of_leader);
    EXPECT_TRUE(learner.certificate().valid());
  }
}

TEST(LeaderRule, NewTasksBeginWhereTheOthersAre) {
  Draws draws(1);
  Learner learner(2, 1, leader_settings());
  const Eigen::Vector2d best(3, -2);
  for (int t = 0; t < 6; ++t) {
    learner.add_task(std::to_string(t), Eigen::VectorXd::Zero(2), 1.0);
    for (int j = 0; j < 20; ++j) {
      learner.observe(std::to_string(t), random_loss(draws, 2, best + 0.1 * draws.normals(2, 1)));
    }
  }
  learner.add_task("new", Eigen::VectorXd::Zero(2), 1.0);
  const PolicyPrior prior = *learner.belief_of(6);
  EXPECT_LT((prior.mean - best).norm(), 0.1);
  EXPECT_LT(prior.covariance.trace(), 0.5);  // 2 before the first task
  EXPECT_LT((learner.policy("new").parameters() - prior.mean).norm(), 1e-12);

  LearnerSettings alone = leader_settings();
  alone.leader.share = false;
  Learner other(2, 1, alone);
  other.add_task("0", Eigen::VectorXd::Zero(2), 1.0);
  other.observe("0", random_loss(draws, 2, best));
  other.add_task("1", Eigen::VectorXd::Zero(2), 1.0);
  EXPECT_EQ(other.belief_of(1)->mean, Eigen::VectorXd::Zero(2));
}

TEST(LeaderRule, SavedLearnersGoOnToTheSameBits) {
  Draws draws(5);
  Learner learner(2, 1, leader_settings());
  const Eigen::VectorXd half = Eigen::VectorXd::Constant(2, 0.5);
  for (int t = 0; t < 3; ++t) {
    learner.add_task(std::to_string(t), gain_box(-half, half, default_gain_names(1, 2)), 1.0);
  }
  for (int j = 0; j < 4; ++j) {
    learner.observe(std::to_string(j % 2), random_loss(draws, 2, draws.normals(2, 1)));
  }
  std::stringstream text;
  learner.save(text);
  Learner loaded = Learner::load(text);
  const RoundLoss loss = random_loss(draws, 2, draws.normals(2, 1));
  for (Learner* one : {&learner, &loaded}) one->observe("2", loss);
  std::stringstream a, b;
  learner.save(a);
  loaded.save(b);
  EXPECT_EQ(a.str(), b.str());
}

}  // namespace lifeguard::leader_rule_test
