// A basis that is learnt: the prior over tasks, and what the learner makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "lifeguard/lifelong/empirical_bayes_rule.hpp"
#include "lifeguard/lifelong/learner.hpp"
#include "lifeguard/lifelong/task_prior.hpp"
#include "lifeguard/policy/action_coupling.hpp"
#include "lifeguard/runs/experiment.hpp"
#include "lifeguard/runs/run.hpp"
#include "lifeguard/runs/run_check.hpp"
#include "lifeguard/runs/run_view.hpp"
#include "lifeguard/safety/sets/safe_set_builders.hpp"
#include "lifeguard/safety/solve/fault_injection.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::empirical_bayes_test {

constexpr int kFeatures = 4;
constexpr int kActions = 3;
constexpr int kParameters = kFeatures * kActions;

Eigen::MatrixXd blocks(const Eigen::MatrixXd& block, int count) {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(block.rows() * count, block.cols() * count);
  for (int i = 0; i < count; ++i) {
    result.block(i * block.rows(), i * block.cols(), block.rows(), block.cols()) = block;
  }
  return result;
}

Eigen::MatrixXd random_metric(Draws& draws, int size) {
  const Eigen::MatrixXd root = draws.normals(size, size);
  return root * root.transpose() / size + 0.3 * Eigen::MatrixXd::Identity(size, size);
}

Eigen::MatrixXd covariance_of(const TaskPrior& prior) {
  return prior.basis() * prior.basis().transpose();
}

/// Twice the negative logarithm of the likelihood of tasks with these second moments.
double surprise(const Eigen::MatrixXd& covariance, const Eigen::MatrixXd& moments, double tasks) {
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  const double logarithm = 2 * Eigen::MatrixXd(factor.matrixL()).diagonal().array().log().sum();
  return tasks * logarithm + factor.solve(moments).trace();
}

TEST(TaskPrior, IsTheMostLikelyOneOfItsForm) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Draws draws(seed);
    const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
    const Eigen::MatrixXd deviations = draws.normals(kParameters, 30);
    const Eigen::MatrixXd moments = deviations * deviations.transpose();
    const int k = draws.integer(0, kParameters - 1);
    TaskPrior prior(kFeatures, kActions, 1, 1e-9, 1e3);
    TaskPrior::Workspace workspace;
    ASSERT_TRUE(prior.maximise(moments, 30, metric, 0.7, k, workspace));
    const Eigen::MatrixXd inverse_metric = blocks(metric, kActions).inverse();
    const Eigen::MatrixXd all = moments + 0.7 * inverse_metric;
    const double best = surprise(covariance_of(prior), all, 31);
    // P - ψ Ḡ⁻¹ has k directions, and no other P of this form is more likely.
    const Eigen::MatrixXd low = covariance_of(prior) - prior.spread() * inverse_metric;
    const Eigen::VectorXd values = low.selfadjointView<Eigen::Lower>().eigenvalues().cwiseAbs();
    EXPECT_LE((values.array() > 1e-9 * values.maxCoeff()).count(), std::max(k, 1));
    for (int i = 0; i < 200; ++i) {
      const double size = std::pow(10.0, draws.uniform(-4, 0));
      Eigen::MatrixXd direction = Eigen::MatrixXd::Zero(kParameters, k);
      if (k > 0) {
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> own(low);
        direction = own.eigenvectors().rightCols(k) *
                    own.eigenvalues().tail(k).cwiseMax(0).cwiseSqrt().asDiagonal();
        direction += size * draws.normals(kParameters, k);
      }
      const double spread = prior.spread() * std::exp(size * draws.normal());
      const Eigen::MatrixXd other = direction * direction.transpose() + spread * inverse_metric;
      EXPECT_GE(surprise(other, all, 31), best - 1e-7 * std::abs(best));
    }
    EXPECT_LT((prior.precision() * covariance_of(prior) -
               Eigen::MatrixXd::Identity(kParameters, kParameters))
                  .norm(),
              1e-8);
  }
}

TEST(TaskPrior, PAndQLimitHowLittleAndHowMuchTasksMayDiffer) {
  Draws draws(5);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  const Eigen::MatrixXd deviations = draws.normals(kParameters, 3);
  TaskPrior prior(kFeatures, kActions, 1, 0.5, 2.0);
  TaskPrior::Workspace workspace;
  ASSERT_TRUE(
      prior.maximise(deviations * deviations.transpose(), 3, metric, 1e-6, kParameters, workspace));
  EXPECT_GE(prior.variances().minCoeff(), 0.5);
  EXPECT_LE(prior.variances().maxCoeff(), 2.0);
  EXPECT_LT(
      (prior.basis().transpose() * prior.basis() - Eigen::MatrixXd(prior.variances().asDiagonal()))
          .norm(),
      1e-12);
  // The longest first.
  for (int i = 1; i < kParameters; ++i) EXPECT_LE(prior.variances()(i), prior.variances()(i - 1));
  const Eigen::MatrixXd some = draws.normals(kParameters, 4);
  Eigen::VectorXd coefficients;
  prior.express(some.col(1), coefficients);
  EXPECT_LT((prior.basis() * coefficients - some.col(1)).norm(), 1e-12);
  // A metric that is none changes nothing.
  const Eigen::MatrixXd before = prior.basis();
  EXPECT_FALSE(prior.maximise(some * some.transpose(), 3, -metric, 1, 2, workspace));
  EXPECT_EQ(prior.basis(), before);
}

/// What eNAC sees of the cost ½(α - α*)ᵀ(I ⊗ G)(α - α*), with noise in its gradient.
struct NoisyTask {
  Eigen::VectorXd optimum;
  Eigen::MatrixXd metric;
  double noise = 0;

  double excess(const Eigen::VectorXd& alpha) const {
    const Eigen::VectorXd away = alpha - optimum;
    return 0.5 * away.dot(blocks(metric, kActions) * away);
  }
  RoundLoss look(const Eigen::VectorXd& played, Draws& draws) const {
    const Eigen::MatrixXd all = blocks(metric, kActions);
    const Eigen::MatrixXd root = Eigen::LLT<Eigen::MatrixXd>(all).matrixL();
    RoundLoss loss;
    loss.status = RoundLossStatus::ok;
    loss.curvature = metric;
    loss.played = played;
    loss.trajectories = 8;
    loss.mean_cost = 1 + excess(played);
    loss.cost_unit = 1;
    loss.constant = 0;
    loss.cost_gradient = all * (played - optimum) + noise * (root * draws.normals(kParameters, 1));
    const Eigen::VectorXd natural = all.llt().solve(loss.cost_gradient);
    loss.natural_norm_squared = loss.cost_gradient.dot(natural);
    loss.noise_share = kParameters * noise * noise / loss.natural_norm_squared;
    loss.shrinkage = std::max(0.05, 1 - loss.noise_share);
    loss.newton_radius = 0.5 * loss.natural_norm_squared;
    loss.radius = loss.trust_region = loss.newton_radius;
    loss.target = played - loss.shrinkage * natural;
    return loss;
  }
};

LearnerSettings with_rule(UpdateRule update) {
  LearnerSettings settings;
  settings.update = update;
  settings.projection.p = 1e-6;
  return settings;
}

std::string name_of(int task) { return "task " + std::to_string(task); }

/// How far above their optima tasks are: those that were learnt, and new ones after one round.
struct Excess {
  double known = 0;
  double fresh = 0;
};

/// Of tasks whose optima differ along one direction, or along all alike.
Excess excess_after_learning(UpdateRule update, std::uint64_t seed, bool one_direction) {
  Draws draws(seed);
  const Eigen::VectorXd mean = draws.normals(kParameters, 1);
  const Eigen::VectorXd direction = draws.normals(kParameters, 1).col(0).normalized() * 3;
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  const auto draw = [&] {
    const Eigen::VectorXd away = one_direction ? Eigen::VectorXd(direction * draws.normal())
                                               : Eigen::VectorXd(draws.normals(kParameters, 1));
    return NoisyTask{mean + away, metric, 0.5};
  };
  Learner learner(kFeatures, kActions, with_rule(update));
  std::vector<NoisyTask> tasks;
  for (int t = 0; t < 20; ++t) {
    tasks.push_back(draw());
    learner.add_task(name_of(t), Eigen::VectorXd::Zero(kParameters), 0.5);
  }
  for (int round = 0; round < 400; ++round) {
    const int t = round % 20;
    const Eigen::VectorXd played = learner.policy(name_of(t)).parameters();
    EXPECT_EQ(learner.observe(name_of(t), tasks[t].look(played, draws)).status, RoundStatus::ok);
  }
  Excess excess;
  for (int t = 0; t < 20; ++t) {
    excess.known += tasks[t].excess(learner.policy(name_of(t)).parameters()) / 20;
  }
  for (int t = 20; t < 30; ++t) {
    const NoisyTask task = draw();
    learner.add_task(name_of(t), Eigen::VectorXd::Zero(kParameters), 0.5);
    const Eigen::VectorXd played = learner.policy(name_of(t)).parameters();
    learner.observe(name_of(t), task.look(played, draws));
    excess.fresh += task.excess(learner.policy(name_of(t)).parameters()) / 10;
  }
  return excess;
}

Excess sum_of_seeds(UpdateRule update, bool one_direction) {
  Excess sum;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Excess one = excess_after_learning(update, seed, one_direction);
    sum.known += one.known;
    sum.fresh += one.fresh;
  }
  return sum;
}

// Noise in the eleven directions in which tasks do not differ is known to be noise.
TEST(EmpiricalBayes, ANewTaskLearnsWhereTasksDifferAndIgnoresTheRest) {
  const Excess learnt = sum_of_seeds(UpdateRule::empirical_bayes, true);
  const Excess fixed = sum_of_seeds(UpdateRule::linearised, true);
  EXPECT_LT(learnt.fresh, 0.5 * fixed.fresh);
  EXPECT_LT(learnt.known, 0.5 * fixed.known);
}

// Twenty tasks say little of how they differ in twelve directions alike, and what they seem to say
// costs a new one a little; those that are known gain more.
TEST(EmpiricalBayes, WhereTasksDifferInEveryDirectionLittleIsLost) {
  const Excess learnt = sum_of_seeds(UpdateRule::empirical_bayes, false);
  const Excess fixed = sum_of_seeds(UpdateRule::linearised, false);
  EXPECT_LT(learnt.fresh, 1.4 * fixed.fresh);
  EXPECT_LT(learnt.known, 0.7 * fixed.known);
}

TEST(EmpiricalBayes, PoliciesStayWhereTheyAreWhenTheBasisMoves) {
  Draws draws(7);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  std::vector<NoisyTask> tasks;
  for (int t = 0; t < 6; ++t) {
    tasks.push_back({2 * draws.normals(kParameters, 1), metric, 0.3});
    learner.add_task(name_of(t), Eigen::VectorXd::Zero(kParameters), 0.5);
  }
  int moved_bases = 0;
  for (int round = 0; round < 90; ++round) {
    const int t = round % 6;
    std::vector<Eigen::VectorXd> before;
    for (int i = 0; i < 6; ++i) before.push_back(learner.policy(name_of(i)).parameters());
    const Eigen::MatrixXd basis = learner.knowledge().basis;
    learner.observe(name_of(t), tasks[t].look(before[t], draws));
    moved_bases += learner.knowledge().basis != basis ? 1 : 0;
    if (round < 6) continue;
    // All others make the same step, the common one.
    const int other = (t + 1) % 6;
    const Eigen::VectorXd common = learner.policy(name_of(other)).parameters() - before[other];
    for (int i = 0; i < 6; ++i) {
      if (i == t) continue;
      EXPECT_LT((learner.policy(name_of(i)).parameters() - before[i] - common).norm(), 1e-9);
    }
  }
  EXPECT_GE(moved_bases, 18);
  // The steps of tasks that want to go different ways do not agree for long.
  double excess = 0;
  for (int t = 0; t < 6; ++t) {
    excess += tasks[t].excess(learner.policy(name_of(t)).parameters()) / 6;
  }
  EXPECT_LT(excess, 0.5);
}

// A machine that works begins with its own controller, not with what others need.
TEST(EmpiricalBayes, ANewTaskStaysAtItsAnchorWhereTheMeanWasNotRightForOthers) {
  Draws draws(9);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  std::vector<NoisyTask> tasks;
  const auto anchor_of = [](const NoisyTask& task) -> Eigen::VectorXd {
    return 0.9 * task.optimum;
  };
  for (int t = 0; t < 12; ++t) {
    tasks.push_back({3 * draws.normals(kParameters, 1), metric, 0.1});
    learner.add_task(name_of(t), anchor_of(tasks.back()), 0.5);
  }
  for (int round = 0; round < 48; ++round) {
    const int t = round % 12;
    learner.observe(name_of(t), tasks[t].look(learner.policy(name_of(t)).parameters(), draws));
  }
  const NoisyTask task{3 * draws.normals(kParameters, 1), metric, 0.1};
  learner.add_task("new", anchor_of(task), 0.5);
  EXPECT_LT(task.excess(learner.policy("new").parameters()),
            1.5 * task.excess(anchor_of(task)) + 1e-9);
}

// Where machines with controllers of their own all need the same change, a new one begins with it.
TEST(EmpiricalBayes, ANewTaskTakesTheChangeThatOthersNeeded) {
  Draws draws(19);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  const Eigen::VectorXd change = draws.normals(kParameters, 1);
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  std::vector<NoisyTask> tasks;
  const auto draw_task = [&] {
    Eigen::VectorXd anchor = 5 * draws.normals(kParameters, 1);
    const Eigen::VectorXd own = 0.05 * draws.normals(kParameters, 1);
    tasks.push_back({anchor + change + own, metric, 0.1});
    learner.add_task(name_of(static_cast<int>(tasks.size()) - 1), anchor, 0.5);
    return anchor;
  };
  for (int t = 0; t < 12; ++t) draw_task();
  for (int round = 0; round < 48; ++round) {
    const int t = round % 12;
    learner.observe(name_of(t), tasks[t].look(learner.policy(name_of(t)).parameters(), draws));
  }
  const Eigen::VectorXd anchor = draw_task();
  EXPECT_LT(tasks[12].excess(learner.policy(name_of(12)).parameters()),
            0.15 * tasks[12].excess(anchor));
  // What is believed of it before its first round is that change too.
  EXPECT_LT((learner.posterior(name_of(12))->mean - anchor - change).norm(), 0.3 * change.norm());
}

// What one look at each says of m is the mean of the looks, however little a look says of its task.
TEST(EmpiricalBayes, TheMeanOfChangesIsWhatAllRoundsTogetherSay) {
  Draws draws(23);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  const Eigen::VectorXd change = 2 * draws.normals(kParameters, 1);
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  constexpr int kTasks = 40;
  std::vector<NoisyTask> tasks;
  for (int t = 0; t < kTasks; ++t) {
    const Eigen::VectorXd anchor = 5 * draws.normals(kParameters, 1);
    tasks.push_back({anchor + change, metric, 2.0});
    learner.add_task(name_of(t), anchor, 0.5);
  }
  for (int t = 0; t < kTasks; ++t) {
    learner.observe(name_of(t), tasks[t].look(tasks[t].optimum - change, draws));
  }
  Eigen::VectorXd believed = learner.beliefs()->mean;
  for (int t = 0; t < kTasks; ++t) believed -= (tasks[t].optimum - change) / kTasks;
  // The mean of 40 looks is off by 2 √(12 / 40) in the metric, so m is by little more.
  EXPECT_LT(NoisyTask({change, metric}).excess(believed), 2 * 0.5 * 4 * 12.0 / kTasks);
  EXPECT_GT(NoisyTask({change, metric}).excess(Eigen::VectorXd::Zero(kParameters)), 10);
}

// Critics measure their noise with a few groups: one that comes out tiny is luck, if the rounds
// before had more.
TEST(EmpiricalBayes, ARoundThatSaysItIsSureIsAsSureAsThoseBeforeItForTheMostPart) {
  Draws draws(29);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  const NoisyTask task{draws.normals(kParameters, 1), metric, 1.0};
  const auto uncertainty_after = [&](double last_share, int rounds) {
    Draws own(31);
    Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
    learner.add_task("task", Eigen::VectorXd::Zero(kParameters), 0.5);
    for (int round = 0; round < rounds; ++round) {
      RoundLoss loss = task.look(learner.policy("task").parameters(), own);
      loss.newton_step = -blocks(metric, kActions).llt().solve(loss.cost_gradient);
      if (round + 1 == rounds) loss.noise_share = last_share;
      learner.observe("task", loss);
    }
    return learner.posterior("task")->covariance.trace();
  };
  const double unsure = uncertainty_after(0.5, 30);
  // By itself it would be 1 / 5000 of it.
  EXPECT_GT(uncertainty_after(1e-4, 30), 0.3 * unsure);
  EXPECT_LT(uncertainty_after(1e-4, 1), 0.01 * unsure);
}

/// (H ⊗ G) of actions that work together.
Eigen::MatrixXd coupled_metric(const Eigen::MatrixXd& coupling, const Eigen::MatrixXd& metric) {
  Eigen::MatrixXd coupled = Eigen::MatrixXd::Zero(kParameters, kParameters);
  add_coupled_blocks(coupling, metric, coupled);
  return coupled;
}

/// What a critic sees of the cost ½(α - α*)ᵀ(H ⊗ G)(α - α*): its Newton step, off by a draw of
/// N(0, (H ⊗ G)⁻¹), and H, if it `tells`.
RoundLoss critic_look(const Eigen::VectorXd& optimum, const Eigen::MatrixXd& coupling,
                      const Eigen::MatrixXd& metric, const Eigen::VectorXd& played, bool tells,
                      Draws& draws) {
  const Eigen::MatrixXd all = blocks(metric, kActions);
  const Eigen::MatrixXd coupled = coupled_metric(coupling, metric);
  const Eigen::LLT<Eigen::MatrixXd> factor(coupled);
  RoundLoss loss;
  loss.status = RoundLossStatus::ok;
  loss.curvature = metric;
  loss.played = played;
  loss.trajectories = 8;
  loss.mean_cost = 1 + 0.5 * (played - optimum).dot(coupled * (played - optimum));
  loss.cost_unit = 1;
  loss.constant = 0;
  const Eigen::VectorXd noise = factor.matrixU().solve(draws.normals(kParameters, 1).col(0));
  loss.newton_step = optimum - played + noise;
  loss.cost_gradient = -coupled * loss.newton_step;
  loss.natural_norm_squared = loss.cost_gradient.dot(all.llt().solve(loss.cost_gradient));
  const double square = loss.newton_step.dot(all * loss.newton_step);
  loss.noise_share = factor.solve(all).trace() / square;
  if (tells) {
    loss.action_coupling = coupling;
    loss.coupled_noise_share = kParameters / loss.newton_step.dot(coupled * loss.newton_step);
  }
  loss.shrinkage = std::max(0.05, 1 - loss.noise_share);
  loss.radius = loss.trust_region = loss.newton_radius = 0.5 * square;
  loss.target = played + loss.shrinkage * loss.newton_step;
  return loss;
}

/// How far above their optima machines are whose first two actions do nearly the same.
double excess_with_twin_actions(bool tells, std::uint64_t seed) {
  Eigen::MatrixXd coupling(kActions, kActions);
  coupling << 1, 0.98, 0, 0.98, 1, 0, 0, 0, 1;
  Draws draws(seed);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  const Eigen::MatrixXd coupled = coupled_metric(coupling, metric);
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  std::vector<Eigen::VectorXd> optima;
  for (int t = 0; t < 6; ++t) {
    const Eigen::VectorXd anchor = draws.normals(kParameters, 1);
    optima.emplace_back(anchor + draws.normals(kParameters, 1));
    learner.add_task(name_of(t), anchor, 0.5);
  }
  for (int round = 0; round < 60; ++round) {
    const int t = round % 6;
    const Eigen::VectorXd played = learner.policy(name_of(t)).parameters();
    const RoundLoss loss = critic_look(optima[t], coupling, metric, played, tells, draws);
    EXPECT_EQ(learner.observe(name_of(t), loss).status, RoundStatus::ok);
  }
  double excess = 0;
  for (int t = 0; t < 6; ++t) {
    const Eigen::VectorXd away = learner.policy(name_of(t)).parameters() - optima[t];
    excess += 0.5 * away.dot(coupled * away) / 6;
  }
  return excess;
}

// Nothing is known of the difference of two actions that do the same, and it costs nothing either.
// That noise is not that of their sum.
TEST(EmpiricalBayes, WhatActionsDoTogetherIsKnownHoweverLittleIsKnownOfEach) {
  double told = 0;
  double untold = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    told += excess_with_twin_actions(true, seed);
    untold += excess_with_twin_actions(false, seed);
  }
  EXPECT_LT(told, 0.5 * untold);
}

// What is believed of a task is the policy that it has, also where actions work together.
TEST(EmpiricalBayes, APosteriorOfCoupledActionsLiesWhereThePolicyIs) {
  Eigen::MatrixXd coupling(kActions, kActions);
  coupling << 1, 0.9, 0, 0.9, 1, 0.2, 0, 0.2, 1;
  Draws draws(3);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  constexpr int kTasks = 30;
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  std::vector<Eigen::VectorXd> anchors;
  std::vector<Eigen::VectorXd> optima;
  for (int t = 0; t < kTasks; ++t) {
    anchors.emplace_back(draws.normals(kParameters, 1));
    optima.emplace_back(anchors.back() + draws.normals(kParameters, 1));
    learner.add_task(name_of(t), anchors.back(), 0.5);
  }
  for (int round = 0; round < 6 * kTasks; ++round) {
    const int t = round % kTasks;
    const Eigen::VectorXd played = learner.policy(name_of(t)).parameters();
    learner.observe(name_of(t), critic_look(optima[t], coupling, metric, played, true, draws));
  }
  // The last round moved m and P after the policy, by what one of many tasks moves them.
  const std::string last = name_of(kTasks - 1);
  const Eigen::VectorXd policy = learner.policy(last).parameters();
  EXPECT_LT((learner.posterior(last)->mean - policy).norm(),
            0.05 * (policy - anchors.back()).norm());
}

// Other constraints may come with another anchor; what was learnt stays where it is.
TEST(EmpiricalBayes, APolicyStaysWhereItIsWhenItsAnchorMoves) {
  Draws draws(21);
  const Eigen::MatrixXd metric = random_metric(draws, kFeatures);
  Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
  std::vector<NoisyTask> tasks;
  const Eigen::VectorXd most = Eigen::VectorXd::Constant(kParameters, 50);
  const SafeSet box = gain_box(-most, most, default_gain_names(kActions, kFeatures));
  for (int t = 0; t < 5; ++t) {
    tasks.push_back({draws.normals(kParameters, 1), metric, 0.1});
    learner.add_task(name_of(t), box, 0.5, Eigen::VectorXd::Zero(kParameters));
  }
  for (int round = 0; round < 60; ++round) {
    const int t = round % 5;
    learner.observe(name_of(t), tasks[t].look(learner.policy(name_of(t)).parameters(), draws));
  }
  const Eigen::VectorXd before = learner.policy(name_of(2)).parameters();
  const Eigen::VectorXd believed = learner.posterior(name_of(2))->mean;
  const Eigen::VectorXd other = learner.policy(name_of(3)).parameters();
  learner.set_safe_set(name_of(2), box, Eigen::VectorXd(draws.normals(kParameters, 1)));
  EXPECT_LT((learner.policy(name_of(2)).parameters() - before).norm(), 1e-9);
  EXPECT_LT((learner.policy(name_of(3)).parameters() - other).norm(), 1e-9);
  EXPECT_LT((learner.posterior(name_of(2))->mean - believed).norm(), 1e-9);
  std::ostringstream state;
  learner.save(state);
  std::istringstream in(state.str());
  EXPECT_LT((Learner::load(in).policy(name_of(2)).parameters() - before).norm(), 1e-9);
}

std::string saved(const Learner& learner) {
  std::ostringstream out;
  learner.save(out);
  return out.str();
}

/// The part of a saved state that is about one task.
std::string part_of(const std::string& state, int task) {
  const std::size_t begin = state.find("\ntask " + name_of(task) + "\n");
  return state.substr(begin, state.find("\ntask ", begin + 1) - begin);
}

/// Tasks that were all visited, limited to gains within ±limit.
struct Fleet {
  explicit Fleet(int count, double limit = kInfinity,
                 const LearnerSettings& settings = with_rule(UpdateRule::empirical_bayes))
      : draws(3), learner(kFeatures, kActions, settings) {
    metric = random_metric(draws, kFeatures);
    const Eigen::VectorXd most = Eigen::VectorXd::Constant(kParameters, limit);
    for (int t = 0; t < count; ++t) {
      tasks.push_back({draws.normals(kParameters, 1), metric, 0.3});
      const SafeSet set = std::isinf(limit)
                              ? SafeSet(kParameters)
                              : gain_box(-most, most, default_gain_names(kActions, kFeatures));
      learner.add_task(name_of(t), set, 0.5, Eigen::VectorXd::Zero(kParameters));
    }
    for (int t = 0; t < count; ++t) play(t);
  }
  RoundRecord play(int task) {
    const Eigen::VectorXd played = learner.policy(name_of(task)).parameters();
    return learner.observe(name_of(task), tasks[task].look(played, draws));
  }

  Draws draws;
  Eigen::MatrixXd metric;
  std::vector<NoisyTask> tasks;
  Learner learner;
};

TEST(EmpiricalBayes, ARoundTouchesTheVisitedTaskAndWhatAllHaveInCommon) {
  Fleet fleet(12, 1.0);
  for (const int visited : {3, 7, 0, 7}) {
    const std::string before = saved(fleet.learner);
    ASSERT_EQ(fleet.play(visited).status, RoundStatus::ok);
    const std::string after = saved(fleet.learner);
    for (int t = 0; t + 1 < 12; ++t) {
      EXPECT_EQ(part_of(before, t) == part_of(after, t), t != visited) << t;
    }
  }
}

// The sums over tasks that a round keeps are those over all of them.
TEST(EmpiricalBayes, TheMeanIsTheMeanOfTheTasks) {
  Fleet fleet(9);
  for (int round = 0; round < 200; ++round) fleet.play(fleet.draws.integer(0, 8));
  const TaskBeliefs beliefs = *fleet.learner.beliefs();
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(kParameters);
  for (int t = 0; t < 9; ++t) sum += fleet.learner.policy(name_of(t)).parameters();
  // m is one more task, where it was before: (9 mean + m_before) / 10.
  const Eigen::VectorXd mean = sum / 9;
  double spread = 0;
  for (int t = 0; t < 9; ++t) {
    spread += (fleet.learner.policy(name_of(t)).parameters() - mean).norm() / 9;
  }
  EXPECT_LT((beliefs.mean - mean).norm(), 0.2 * spread);
  EXPECT_GT(beliefs.agreement, -1e-12);
  EXPECT_LT(beliefs.agreement, 1);
}

TEST(EmpiricalBayes, APosteriorIsNarrowerThanThePriorAndLiesWhereThePolicyIs) {
  Fleet fleet(9);
  for (int round = 0; round < 200; ++round) fleet.play(round % 9);
  fleet.learner.add_task("new", Eigen::VectorXd::Zero(kParameters), 0.5);
  const TaskBeliefs beliefs = *fleet.learner.beliefs();
  const TaskPosterior prior = *fleet.learner.posterior("new");
  EXPECT_FALSE(prior.visited);
  EXPECT_EQ(prior.mean, beliefs.mean);
  EXPECT_LT((prior.covariance - beliefs.basis * beliefs.basis.transpose()).norm(), 1e-12);
  const TaskPosterior posterior = *fleet.learner.posterior(name_of(4));
  EXPECT_TRUE(posterior.visited);
  const Eigen::MatrixXd narrower = prior.covariance - posterior.covariance;
  EXPECT_GT(narrower.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff(), -1e-12);
  const Eigen::VectorXd policy = fleet.learner.policy(name_of(4)).parameters();
  EXPECT_LT((posterior.mean - policy).norm(), 0.5 * (beliefs.mean - policy).norm());
}

TEST(EmpiricalBayes, ControllersOfTheirOwnHaveNoStepInCommon) {
  Fleet fleet(3);
  EXPECT_GT(fleet.learner.beliefs()->agreement, 0);
  EXPECT_GT(fleet.learner.beliefs()->trust_in_mean, 0);
  EXPECT_EQ(fleet.learner.beliefs()->metric.cols(), kFeatures);
  fleet.learner.add_task("own", Eigen::VectorXd::Ones(kParameters), 0.5);
  EXPECT_EQ(fleet.learner.beliefs()->agreement, 0);
  const Eigen::VectorXd others = fleet.learner.policy(name_of(1)).parameters();
  fleet.play(0);
  EXPECT_LT((fleet.learner.policy(name_of(1)).parameters() - others).norm(), 1e-12);
}

// What was learnt in a long stay is not forgotten through the steps of others.
TEST(EmpiricalBayes, ATaskThatWasVisitedManyTimesInARowStaysAsItWasLeft) {
  for (const double limit : {kInfinity, 2.0}) {
    for (const int stay : {2, 8}) {
      Fleet fleet(6, limit);
      for (int round = 0; round < stay; ++round) fleet.play(0);
      const Eigen::VectorXd left = fleet.learner.policy(name_of(0)).parameters();
      const Eigen::VectorXd believed = fleet.learner.posterior(name_of(0))->mean;
      fleet.play(1);
      const double moved = (fleet.learner.policy(name_of(0)).parameters() - left).norm();
      EXPECT_EQ(moved < 1e-9, stay == 8) << moved;
      for (int t = 1; t < 6; ++t) fleet.play(t);
      // Saved and loaded, it stays there too, and goes on from there.
      std::istringstream in(saved(fleet.learner));
      Learner loaded = Learner::load(in);
      if (stay == 8) {
        EXPECT_LT((loaded.policy(name_of(0)).parameters() - left).norm(), 1e-9);
        EXPECT_LT((loaded.posterior(name_of(0))->mean - believed).norm(), 0.5);
      }
      const Eigen::VectorXd played = fleet.learner.policy(name_of(0)).parameters();
      const RoundLoss loss = fleet.tasks[0].look(played, fleet.draws);
      fleet.learner.observe(name_of(0), loss);
      loaded.observe(name_of(0), loss);
      EXPECT_EQ(saved(loaded), saved(fleet.learner));
      EXPECT_LT(fleet.tasks[0].excess(fleet.learner.policy(name_of(0)).parameters()),
                fleet.tasks[0].excess(Eigen::VectorXd::Zero(kParameters)));
    }
  }
}

/// What eNAC says of a round with much noise: no curvature of the cost, a trust region alone.
RoundLoss noisy_round(const Fleet& fleet, Draws& draws, const Eigen::MatrixXd& metric) {
  RoundLoss loss = NoisyTask{fleet.tasks[0].optimum, metric, 2}.look(
      fleet.learner.policy(name_of(0)).parameters(), draws);
  loss.newton_radius = 0;
  loss.radius = loss.trust_region = 0.01;
  loss.noise_share = 1;
  loss.shrinkage = 1;
  return loss;
}

double half_square(const Eigen::MatrixXd& metric, const Eigen::VectorXd& step) {
  return 0.5 * step.dot(blocks(metric, kActions) * step);
}

TEST(EmpiricalBayes, StepsThatAreNotToShrinkFillTheTrustRegion) {
  for (const NoiseShrinkage shrinkage : {NoiseShrinkage::none, NoiseShrinkage::measured}) {
    LearnerSettings settings = with_rule(UpdateRule::empirical_bayes);
    settings.round.base_learner.step.shrinkage = shrinkage;
    Fleet fleet(4, kInfinity, settings);
    // A machine with a controller of its own, so that nothing of a step is common.
    fleet.learner.add_task("own", Eigen::VectorXd::Ones(kParameters), 0.5);
    for (int round = 0; round < 3; ++round) {
      const RoundLoss loss = noisy_round(fleet, fleet.draws, fleet.metric);
      fleet.learner.observe(name_of(0), loss);
      const Eigen::VectorXd after = fleet.learner.policy(name_of(0)).parameters();
      const double moved = half_square(fleet.metric, after - loss.played);
      if (shrinkage == NoiseShrinkage::none) {
        EXPECT_NEAR(moved, 0.01, 1e-9);
      } else {
        EXPECT_LT(moved, 0.99 * 0.01);
      }
      EXPECT_LT((after - loss.played).dot(loss.cost_gradient), 0);
    }
  }
}

// A batch of episodes that end at once has hardly seen one of its features. What the visited task
// makes of that its prior limits; the step that all make in common is limited by damping alone.
TEST(EmpiricalBayes, ADampedStepDoesNotRunWhereTheRoundSawNothing) {
  std::vector<Eigen::VectorXd> steps;
  for (const double damping : {0.0, 1.0}) {
    LearnerSettings settings = with_rule(UpdateRule::empirical_bayes);
    settings.empirical_bayes.common_damping = damping;
    Fleet fleet(4, kInfinity, settings);
    ASSERT_GT(fleet.learner.beliefs()->agreement, 0);
    Eigen::MatrixXd metric = fleet.metric;
    metric.row(0) *= 1e-3;
    metric.col(0) *= 1e-3;
    Draws draws(5);
    const Eigen::VectorXd before = fleet.learner.policy(name_of(1)).parameters();
    const RoundLoss loss = noisy_round(fleet, draws, metric);
    fleet.learner.observe(name_of(0), loss);
    const Eigen::VectorXd common = fleet.learner.policy(name_of(1)).parameters() - before;
    EXPECT_LT(common.dot(loss.cost_gradient), 0);
    const double agreement = fleet.learner.beliefs()->agreement;
    EXPECT_NEAR(half_square(metric, common), agreement * agreement * loss.radius, 1e-9);
    steps.emplace_back(common / agreement);
  }
  EXPECT_LT(10 * steps[1].norm(), steps[0].norm());
}

// One task began when nothing was known, the others when one of them had shown the way: their first
// costs are as low as their last, which says nothing of how much there is to gain.
TEST(EmpiricalBayes, ATaskThatIsStuckGoesWhereAnotherIs) {
  for (const double cost : {0.4, 0.012}) {  // a hundred times what the others cost, or three times
    Draws draws(23);
    const NoisyTask task{3 * draws.normals(kParameters, 1), random_metric(draws, kFeatures), 0.1};
    Learner learner(kFeatures, kActions, with_rule(UpdateRule::empirical_bayes));
    for (int t = 0; t < 8; ++t) {
      learner.add_task(name_of(t), Eigen::VectorXd::Zero(kParameters), 0.5);
    }
    const auto policy = [&](int t) { return learner.policy(name_of(t)).parameters(); };
    const auto visit = [&](int t, double mean_cost) {
      RoundLoss loss = task.look(policy(t), draws);
      if (t == 0) {  // all its actions are at their limits
        loss.cost_gradient *= 1e-6;
        loss.natural_norm_squared *= 1e-12;
        loss.target = loss.played;
        loss.newton_radius = loss.radius = 1e-12;
      }
      loss.mean_cost = mean_cost;
      loss.cost_error = 0.001 * mean_cost;
      learner.observe(name_of(t), loss);
    };
    visit(0, cost);
    for (int t = 1; t < 8; ++t) visit(t, 0.004);
    const Eigen::VectorXd before = policy(0);
    visit(0, cost);
    const double way = (policy(7) - before).norm();
    ASSERT_GT(way, 0);
    if (cost > 0.1) {
      EXPECT_LT((policy(0) - policy(7)).norm(), 0.01 * way);
    } else {
      EXPECT_LT((policy(0) - before).norm(), 0.5 * way);
    }
  }
}

TEST(EmpiricalBayes, EqualSafeSetsAreStoredOnce) {
  const Fleet fleet(5, 1.0);
  for (int t = 1; t < 5; ++t) {
    EXPECT_EQ(&fleet.learner.safe_sets()[t].names(), &fleet.learner.safe_sets()[0].names());
  }
  std::istringstream in(saved(fleet.learner));
  const Learner loaded = Learner::load(in);
  EXPECT_EQ(&loaded.safe_sets()[3].names(), &loaded.safe_sets()[0].names());
  EXPECT_EQ(saved(loaded), saved(fleet.learner));
}

TEST(EmpiricalBayes, ASavedLearnerGoesOnToTheSameBits) {
  for (const double limit : {0.5, kInfinity}) {
    Fleet fleet(6, limit);
    for (int round = 0; round < 30; ++round) fleet.play(round % 6);
    std::istringstream in(saved(fleet.learner));
    Learner loaded = Learner::load(in);
    for (int round = 0; round < 20; ++round) {
      const int t = (5 * round) % 6;
      const Eigen::VectorXd played = fleet.learner.policy(name_of(t)).parameters();
      EXPECT_EQ(loaded.policy(name_of(t)).parameters(), played);
      const RoundLoss loss = fleet.tasks[t].look(played, fleet.draws);
      fleet.learner.observe(name_of(t), loss);
      loaded.observe(name_of(t), loss);
    }
    EXPECT_EQ(saved(loaded), saved(fleet.learner));
  }
}

// Whatever the cut to the safe set returns, nothing leaves that is not proven.
TEST(EmpiricalBayes, StaysSafeWhenEverySolverStepFails) {
  for (const ProjectionFault fault :
       {ProjectionFault::failure, ProjectionFault::not_finite, ProjectionFault::unsafe}) {
    Fleet fleet(4, 0.3);
    fleet.learner.inject_faults([fault](ProjectionStage) { return fault; });
    for (int round = 0; round < 40; ++round) {
      fleet.play(round % 4);
      for (int t = 0; t < 4; ++t) {
        const Eigen::VectorXd policy = fleet.learner.policy(name_of(t)).parameters();
        EXPECT_TRUE(check_policy(fleet.learner.safe_sets()[t], policy).empty());
      }
      EXPECT_TRUE(fleet.learner.certificate().valid());
    }
  }
}

class EmpiricalBayesRuns : public test_support::Folder {};

// With constraints that bind: every policy proven, and the same bits when it is played again.
TEST_F(EmpiricalBayesRuns, AreSafeCheckedAndReplayed) {
  const auto file = path("a.run");
  const ExperimentConfig config = parse_config(R"([experiment]
name = "learnt-basis"
rounds = 60
tasks = 4
trajectories = 20
steps = 60
[family]
base = "cart-pole"
[safe_set.lqr_box]
reach = 0.3
[learner]
update = "empirical Bayes"
)",
                                               "a.toml");
  start_run(config, file, {});
  const RunView view(file);
  for (const StoredRound& round : view.rounds) {
    EXPECT_EQ(round.unsafe, 0);
    EXPECT_EQ(round.fallbacks, 0);
  }
  EXPECT_THAT(check_run(file, /*replay=*/true).findings, testing::IsEmpty());
  EXPECT_LT(view.evaluations.back().costs.mean(), view.evaluations.front().costs.mean());
}

}  // namespace lifeguard::empirical_bayes_test
