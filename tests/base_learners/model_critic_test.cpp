#include "lifeguard/base_learners/model_critic.hpp"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/critic_step.hpp"
#include "lifeguard/core/random.hpp"
#include "lifeguard/policy/action_coupling.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::model_critic_test {

using test_support::LinearSystem;

Eigen::MatrixXd fisher_of(const Trajectories& t, double sigma) {
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(t.features(), t.features());
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.length(i); ++m) {
      Eigen::VectorXd x(t.features());
      for (int f = 0; f < t.features(); ++f) x(f) = t.feature(i, m, f);
      sum += x * x.transpose();
    }
  }
  return sum / (t.count() * sigma * sigma);
}

double norm_squared(const Eigen::VectorXd& x, const Eigen::MatrixXd& fisher) {
  double sum = 0;
  const Eigen::Index width = fisher.cols();
  for (Eigen::Index s = 0; s < x.size(); s += width) {
    sum += x.segment(s, width).dot(fisher * x.segment(s, width));
  }
  return sum;
}

double cosine(const Eigen::VectorXd& a, const Eigen::VectorXd& b, const Eigen::MatrixXd& fisher) {
  const auto product = [&](const Eigen::VectorXd& x, const Eigen::VectorXd& y) {
    double sum = 0;
    const Eigen::Index width = fisher.cols();
    for (Eigen::Index s = 0; s < x.size(); s += width) {
      sum += x.segment(s, width).dot(fisher.llt().solve(y.segment(s, width)));
    }
    return sum;
  };
  return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

/// By central differences.
Eigen::VectorXd difference_gradient(const Eigen::VectorXd& alpha,
                                    const std::function<double(const Eigen::VectorXd&)>& cost) {
  Eigen::VectorXd gradient(alpha.size());
  const double h = 1e-4 * alpha.cwiseAbs().maxCoeff();
  for (Eigen::Index k = 0; k < alpha.size(); ++k) {
    Eigen::VectorXd above = alpha;
    Eigen::VectorXd below = alpha;
    above(k) += h;
    below(k) -= h;
    gradient(k) = (cost(above) - cost(below)) / (2 * h);
  }
  return gradient;
}

LinearSystem linear_system(int steps) {
  LinearSystem system = LinearSystem::example();
  system.steps = steps;
  system.sigma = 0.2;
  return system;
}

TEST(ModelCritic, DifferentiatesTheBatchOfALinearMachineExactly) {
  const LinearSystem system = linear_system(60);
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const GaussianPolicy policy = system.policy(gains);
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(system.simulate(policy, 9, 3), policy, {}));
  // The same starts and noises with other gains.
  const Eigen::VectorXd truth =
      difference_gradient(parameters_from_gains(gains), [&](const Eigen::VectorXd& alpha) {
        return system
            .simulate(GaussianPolicy::from_parameters(alpha, system.actions(), system.sigma), 9, 3)
            .mean_cost();
      });
  EXPECT_LT((critic.cost_gradient() / system.steps - truth).norm(), 1e-5 * truth.norm());
}

TEST(ModelCritic, TakesTheStepOfPolicyIteration) {
  const LinearSystem system = linear_system(256);
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(system.simulate(system.policy(gains), 400, 3), system.policy(gains), {}));
  const Eigen::MatrixXd p = system.expected_values(gains, 1).p.front();
  const Eigen::MatrixXd improved = -(system.r + system.b.transpose() * p * system.b).inverse() *
                                   system.b.transpose() * p * system.a;
  const Eigen::VectorXd step = parameters_from_gains(improved - gains);
  EXPECT_LT((critic.newton_step() - step).norm(), 0.05 * step.norm());
}

struct WorkingMachine {
  Task task;
  double share;   // of LQR's gains
  double cosine;  // with the gradient of the batch itself, at least
};

TEST(ModelCritic, GradientsAreThoseOfTheTrueCost) {
  // With 0.3 of the usual noise. The first actions of mass and quadrotor are at their limits.
  for (const WorkingMachine& machine :
       {WorkingMachine{make_task("mass", MassSpring{}), 0.6, 0.999},
        WorkingMachine{make_task("mass that saturates", MassSpring{}), 1.5, 0.999},
        WorkingMachine{make_task("cart-pole", CartPole{}), 0.6, 0.99},
        WorkingMachine{make_task("quadrotor", Quadrotor{}), 0.15, 0.99},
        WorkingMachine{make_task("quadrotor that works", Quadrotor{}), 0.6, 0.9}}) {
    const Task& task = machine.task;
    SCOPED_TRACE(task.name);
    const double sigma = 0.3 * task.settings.sigma.of(0);
    const Eigen::VectorXd alpha = machine.share * parameters_from_gains(lqr_gains(task));
    const ActionRange range{task.settings.action_low, task.settings.action_high};
    RolloutSettings rollouts;
    rollouts.trajectories = 200;
    rollouts.seed = 7;
    const auto play = [&](const Eigen::VectorXd& at) {
      return rollout(task, GaussianPolicy::from_parameters(at, task.actions(), sigma), rollouts);
    };
    const Trajectories batch = play(alpha);
    ModelCritic critic;
    ASSERT_TRUE(
        critic.fit(batch, GaussianPolicy::from_parameters(alpha, task.actions(), sigma), range));
    const Eigen::VectorXd truth =
        difference_gradient(alpha, [&](const Eigen::VectorXd& at) { return play(at).mean_cost(); });
    EXPECT_GT(cosine(critic.cost_gradient(), truth, fisher_of(batch, sigma)), machine.cosine);
    EXPECT_NEAR(critic.cost_gradient().norm() / batch.steps() / truth.norm(), 1, 0.2);
  }
}

TEST(ModelCritic, KnowsHowMuchItsStepsDiffer) {
  for (const Task& task : {make_task("mass", MassSpring{}), make_task("cart-pole", CartPole{}),
                           make_task("quadrotor", Quadrotor{})}) {
    SCOPED_TRACE(task.name);
    const double sigma = 0.3 * task.settings.sigma.of(0);
    const GaussianPolicy policy(0.6 * lqr_gains(task), sigma);
    const ActionRange range{task.settings.action_low, task.settings.action_high};
    constexpr int kRounds = 40;
    Eigen::MatrixXd steps(policy.features() * policy.actions(), kRounds);
    Eigen::MatrixXd fisher = Eigen::MatrixXd::Zero(policy.features(), policy.features());
    double believed = 0;
    for (int round = 0; round < kRounds; ++round) {
      RolloutSettings rollouts;
      rollouts.trajectories = 16;
      rollouts.seed = 100 + static_cast<std::uint64_t>(round);
      const Trajectories batch = rollout(task, policy, rollouts);
      ModelCritic critic;
      ASSERT_TRUE(critic.fit(batch, policy, range));
      steps.col(round) = critic.newton_step();
      fisher += fisher_of(batch, sigma) / kRounds;
      believed += critic.step_noise(fisher_of(batch, sigma)) / kRounds;
    }
    const Eigen::VectorXd mean = steps.rowwise().mean();
    double spread = 0;
    double length = 0;
    for (int round = 0; round < kRounds; ++round) {
      spread += norm_squared(steps.col(round) - mean, fisher) / (kRounds - 1);
      length += norm_squared(steps.col(round), fisher) / kRounds;
    }
    EXPECT_GT(believed, 0.3 * spread);
    EXPECT_LT(believed, 5 * spread + 1e-3 * length);
    if (task.actions() == 1) {
      EXPECT_LT(spread / length, 0.01);
    }
  }
}

// A quadrotor's rotors do much the same: what is unsure of its gains is mostly how they share what
// they do, which costs nothing.
TEST(ModelCritic, KnowsWhatActionsDoTogether) {
  const Task task = make_task("quadrotor", Quadrotor{});
  const double sigma = 0.3 * task.settings.sigma.of(0);
  const GaussianPolicy policy(0.6 * lqr_gains(task), sigma);
  const ActionRange range{task.settings.action_low, task.settings.action_high};
  constexpr int kRounds = 60;
  Eigen::MatrixXd steps(policy.features() * policy.actions(), kRounds);
  Eigen::MatrixXd mean_coupling = Eigen::MatrixXd::Zero(4, 4);
  Eigen::MatrixXd fisher = Eigen::MatrixXd::Zero(policy.features(), policy.features());
  double believed = 0;
  ModelCritic critic;
  for (int round = 0; round < kRounds; ++round) {
    RolloutSettings rollouts;
    rollouts.trajectories = 16;
    rollouts.seed = 100 + static_cast<std::uint64_t>(round);
    const Trajectories batch = rollout(task, policy, rollouts);
    ASSERT_TRUE(critic.fit(batch, policy, range));
    steps.col(round) = critic.newton_step();
    Eigen::MatrixXd coupling;
    double length = 0;
    double noise = 0;
    ASSERT_TRUE(critic.couple_actions(fisher_of(batch, sigma), coupling, length, noise));
    EXPECT_NEAR(coupling.trace(), 4, 1e-9);
    EXPECT_GT(coupling.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff(), 0);
    fisher += fisher_of(batch, sigma) / kRounds;
    mean_coupling += coupling / kRounds;
    believed += noise / kRounds;
  }
  Eigen::MatrixXd metric = Eigen::MatrixXd::Zero(steps.rows(), steps.rows());
  Eigen::MatrixXd coupled = metric;
  add_coupled_blocks({}, fisher, metric);
  add_coupled_blocks(mean_coupling, fisher, coupled);
  const Eigen::VectorXd mean = steps.rowwise().mean();
  const Eigen::MatrixXd off = steps.colwise() - mean;
  const double spread = off.cwiseProduct(coupled * off).sum() / (kRounds - 1);
  EXPECT_GT(believed, 0.3 * spread);
  EXPECT_LT(believed, 5 * spread);
  // Beside the signal there is far less noise than without knowing it.
  const double alone = off.cwiseProduct(metric * off).sum() / (kRounds - 1);
  EXPECT_LT(spread / mean.dot(coupled * mean), 0.6 * alone / mean.dot(metric * mean));
}

TEST(ModelCritic, HasTheSameBitsOnEverySimdTarget) {
  const Task task = make_task("quadrotor", Quadrotor{});
  const GaussianPolicy policy(0.6 * lqr_gains(task), task.settings.sigma);
  RolloutSettings rollouts;
  rollouts.trajectories = 11;
  const Trajectories batch = rollout(task, policy, rollouts);
  const ActionRange range{task.settings.action_low, task.settings.action_high};
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(batch, policy, range));
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    ModelCritic other;
    const bool fitted = other.fit(batch, policy, range);
    hwy::SetSupportedTargetsForTest(0);
    ASSERT_TRUE(fitted);
    EXPECT_EQ(other.newton_step(), critic.newton_step());
    EXPECT_EQ(other.cost_gradient(), critic.cost_gradient());
  }
}

TEST(ModelCritic, DoesNotCareWhatActionsAreMeasuredIn) {
  const LinearSystem system = linear_system(60);
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const Trajectories batch = system.simulate(system.policy(gains), 20, 3);
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(batch, system.policy(gains), {}));
  // The second action a thousand times as large a number.
  Trajectories scaled = batch;
  for (int i = 0; i < batch.count(); ++i) {
    for (int m = 0; m < batch.steps(); ++m) scaled.action(i, m, 1) *= 1000;
  }
  const Eigen::Vector2d units(1, 1000);
  const GaussianPolicy played(units.asDiagonal() * gains,
                              PerAction(Eigen::VectorXd(system.sigma * units)));
  ModelCritic other;
  ASSERT_TRUE(other.fit(scaled, played, {}));
  Eigen::VectorXd expected = critic.newton_step();
  expected.tail(3) *= 1000;
  EXPECT_LT((other.newton_step() - expected).norm(), 1e-5 * expected.norm());
}

TEST(ModelCritic, GoesOnBehindACut) {
  const LinearSystem system = linear_system(60);
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const GaussianPolicy policy = system.policy(gains);
  Trajectories batch = system.simulate(policy, 200, 5);
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(batch, policy, {}));
  const Eigen::VectorXd whole = critic.newton_step();
  for (int i = 0; i < batch.count(); i += 2) {
    const int length = 2 + i % 6;
    Eigen::VectorXd x(3);
    for (int f = 0; f < 3; ++f) x(f) = batch.feature(i, length, f);
    batch.cut(i, length, {x.data(), 3});
  }
  ASSERT_TRUE(critic.fit(batch, policy, {}));
  EXPECT_LT((critic.newton_step() - whole).norm(), 0.05 * whole.norm());
}

// Nothing is known of a state's cost where it is always the same, however many trajectories begin
// there.
TEST(ModelCritic, LooksBeyondTheFirstStepsOfManyTrajectories) {
  LinearSystem system = linear_system(40);
  system.start_deviation.setZero();
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  for (const int trajectories : {20, 3000}) {
    const Trajectories batch = system.simulate(system.policy(gains), trajectories, 3);
    ModelCritic critic;
    ASSERT_TRUE(critic.fit(batch, system.policy(gains), {}));
    const Eigen::VectorXd truth = system.expected_gradient(gains);
    EXPECT_LT((critic.cost_gradient() / system.steps - truth).norm(),
              truth.norm() * 10 / std::sqrt(trajectories));
  }
}

TEST(ModelCritic, FindsProductsInCosts) {
  LinearSystem system = linear_system(60);
  system.q(0, 1) = system.q(1, 0) = 0.2;
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const GaussianPolicy policy = system.policy(gains);
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(system.simulate(policy, 9, 3), policy, {}));
  const Eigen::VectorXd truth =
      difference_gradient(parameters_from_gains(gains), [&](const Eigen::VectorXd& alpha) {
        return system
            .simulate(GaussianPolicy::from_parameters(alpha, system.actions(), system.sigma), 9, 3)
            .mean_cost();
      });
  EXPECT_LT((critic.cost_gradient() / system.steps - truth).norm(), 1e-5 * truth.norm());
}

// What a policy sees of second order is no state: the model has none of it, whether it is planned
// with or differentiated.
TEST(ModelCritic, LeavesGainsOfProductsAsTheyAre) {
  const Task task = make_task("cart-pole", CartPole{});
  const ActionRange range{task.settings.action_low, task.settings.action_high};
  const Features second_order{.bias = false, .second_order = true};
  const int features = second_order.count(task.states());
  for (const double share : {0.0, 0.8}) {
    const double sigma = 0.3 * task.settings.sigma.of(0);
    const Eigen::MatrixXd gains = share * lqr_gains(task);
    RolloutSettings rollouts;
    rollouts.trajectories = 20;
    ModelCritic critic;
    ASSERT_TRUE(critic.fit(rollout(task, GaussianPolicy(gains, sigma), rollouts),
                           GaussianPolicy(gains, sigma), range));
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(1, features);
    all.leftCols(4) = gains;
    rollouts.features = second_order;
    ModelCritic other;
    ASSERT_TRUE(other.fit(rollout(task, GaussianPolicy(all, sigma), rollouts),
                          GaussianPolicy(all, sigma), range));
    EXPECT_EQ(other.planned(), share == 0);
    EXPECT_EQ(other.newton_step().head(4), critic.newton_step());
    EXPECT_EQ(other.newton_step().tail(features - 4), Eigen::VectorXd::Zero(features - 4));
    EXPECT_EQ(other.step_noise(Eigen::MatrixXd::Identity(features, features)),
              critic.step_noise(Eigen::MatrixXd::Identity(4, 4)));
    if (share > 0) {
      EXPECT_EQ(other.cost_gradient().head(4), critic.cost_gradient());
    }
  }
}

TEST(ModelCritic, RefusesWhatDoesNotDetermineIt) {
  const LinearSystem system = linear_system(60);
  const GaussianPolicy policy = system.policy(0.6 * system.optimal_gains());
  ModelCritic critic;
  EXPECT_TRUE(critic.fit(system.simulate(policy, 2, 3), policy, {}));
  EXPECT_FALSE(critic.fit(system.simulate(policy, 1, 3), policy, {}));
  EXPECT_FALSE(critic.fit(linear_system(5).simulate(policy, 2, 3), policy, {}));
  Trajectories fallen = system.simulate(policy, 8, 3);
  fallen.fail(0, 30, 1.0);
  EXPECT_FALSE(critic.fit(fallen, policy, {}));
  // States, or costs, that have nothing to do with what was before.
  Trajectories strange = system.simulate(policy, 8, 3);
  const CounterRandom random(1, RandomStream::user, 0);
  std::uint32_t next = 0;
  for (int i = 0; i < strange.count(); ++i) {
    for (int m = 0; m < strange.steps(); ++m) strange.feature(i, m, 1) = random.normal(next++);
  }
  EXPECT_FALSE(critic.fit(strange, policy, {}));
  strange = system.simulate(policy, 8, 3);
  for (int i = 0; i < strange.count(); ++i) {
    for (int m = 0; m < strange.steps(); ++m) strange.cost(i, m) = random.normal(next++);
  }
  EXPECT_FALSE(critic.fit(strange, policy, {}));
}

// Where the loop runs away, policy iteration has nothing to begin with, falls or not.
TEST(ModelCritic, PlansWhereTheLoopRunsAway) {
  LinearSystem system = linear_system(40);
  system.a(0, 0) = 1.1;
  const GaussianPolicy policy = system.policy(Eigen::MatrixXd::Zero(2, 3));
  Trajectories batch = system.simulate(policy, 50, 3);
  const Eigen::VectorXd step = parameters_from_gains(system.optimal_gains());
  for (const bool falls : {false, true}) {
    SCOPED_TRACE(falls);
    for (int i = 0; falls && i < batch.count(); ++i) batch.fail(i, 15 + i % 10, 100.0);
    ModelCritic critic;
    ASSERT_TRUE(critic.fit(batch, policy, {}));
    EXPECT_TRUE(critic.planned());
    EXPECT_EQ(critic.cost_gradient().size(), 0);
    // Best with 64 steps to go, or with infinitely many.
    EXPECT_LT((critic.newton_step() - step).norm(), 1e-3 * step.norm());
    EXPECT_LT(critic.step_noise(fisher_of(batch, system.sigma)),
              1e-6 * norm_squared(step, fisher_of(batch, system.sigma)));
  }
}

TEST(ModelCritic, PlansForMachinesThatDrift) {
  // x⁺ = Ax + Bu + d, and a bias among the features. Plainly: V(x) = xᵀPx + 2pᵀx + constant.
  LinearSystem system = linear_system(32);
  system.a(0, 0) = 1.15;
  const Eigen::Vector3d drift(0.02, -0.05, 0.03);
  Eigen::MatrixXd p = system.q;
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(3);
  Eigen::MatrixXd wanted(2, 4);
  for (int m = 0; m < 32; ++m) {
    const Eigen::MatrixXd h = (system.r + system.b.transpose() * p * system.b).inverse();
    const Eigen::MatrixXd k = -h * system.b.transpose() * p * system.a;
    const Eigen::VectorXd constant = -h * system.b.transpose() * (p * drift + slope);
    wanted << k, constant / 0.5;
    const Eigen::MatrixXd closed = system.a + system.b * k;
    const Eigen::VectorXd moved = drift + system.b * constant;
    slope = (k.transpose() * system.r * constant + closed.transpose() * (p * moved + slope)).eval();
    p = (system.q + k.transpose() * system.r * k + closed.transpose() * p * closed).eval();
  }
  const GaussianPolicy policy(Eigen::MatrixXd::Zero(2, 4), system.sigma);
  Trajectories batch(40, system.steps, 4, 2);
  for (int i = 0; i < batch.count(); ++i) {
    const CounterRandom random(5, RandomStream::user, static_cast<std::uint64_t>(i));
    std::uint32_t next = 0;
    Eigen::Vector3d x;
    for (int f = 0; f < 3; ++f) x(f) = random.normal(next++);
    for (int m = 0; m < batch.steps(); ++m) {
      Eigen::Vector2d u;
      for (int a = 0; a < 2; ++a) u(a) = system.sigma * random.normal(next++);
      for (int f = 0; f < 3; ++f) batch.feature(i, m, f) = x(f);
      batch.feature(i, m, 3) = 0.5;
      for (int a = 0; a < 2; ++a) batch.action(i, m, a) = u(a);
      batch.cost(i, m) = x.dot(system.q * x) + u.dot(system.r * u);
      x = (system.a * x + system.b * u + drift).eval();
    }
  }
  ModelCritic critic;
  ASSERT_TRUE(critic.fit(batch, policy, {}));
  ASSERT_TRUE(critic.planned());
  EXPECT_LT((gains_from_parameters(critic.newton_step(), 2) - wanted).norm(), 1e-3 * wanted.norm());
}

// Poles fall, or are kept from it by actions that jump from one limit to the other: in a gradient
// nothing of the gains would be felt.
TEST(ModelCritic, PlansForLoopsThatOnlyLimitsKeepAlive) {
  const Task task = make_task("cart-pole", CartPole{});
  const ActionRange range{task.settings.action_low, task.settings.action_high};
  const Eigen::MatrixXd lqr = lqr_gains(task);
  for (const double share : {0.0, 1.0, 10.0}) {
    SCOPED_TRACE(share);
    const GaussianPolicy policy(share * lqr, 0.3 * task.settings.sigma.of(0));
    RolloutSettings rollouts;
    rollouts.trajectories = 50;
    const Trajectories batch = rollout(task, policy, rollouts);
    EXPECT_EQ(batch.failed(), share == 0 ? 50 : 0);
    ModelCritic critic;
    ASSERT_TRUE(critic.fit(batch, policy, range));
    EXPECT_EQ(critic.planned(), share != 1);
    const Eigen::VectorXd way = parameters_from_gains((1 - share) * lqr);
    if (critic.planned()) {
      EXPECT_LT((critic.newton_step() - way).norm(), 0.2 * way.norm());
    }
  }
}

TEST(CriticStep, IsChosenByItsNoise) {
  const Task task = make_task("cart-pole", CartPole{});
  const ActionRange range{task.settings.action_low, task.settings.action_high};
  const auto taken = [&](double share, CriticUse use) {
    const GaussianPolicy policy(share * lqr_gains(task), 0.3 * task.settings.sigma.of(0));
    RolloutSettings rollouts;
    rollouts.trajectories = 8;
    const Trajectories batch = rollout(task, policy, rollouts);
    RoundSettings settings;
    settings.base_learner.critic = use;
    BaseLearnerWorkspace workspace;
    const BaseLearnerSettings base = adapted(settings.base_learner, settings.adaptation, batch);
    RoundLoss loss = make_round_loss(batch, policy, 0, base, workspace);
    const RoundLoss before = loss;
    const bool critic =
        take_critic_step(batch, policy, range, settings, base.step.radius(0), workspace, loss);
    EXPECT_EQ(critic, loss.newton_step.size() > 0);
    if (!critic) {
      EXPECT_EQ(loss.target, before.target);
      EXPECT_EQ(loss.noise_share, before.noise_share);
    } else {
      EXPECT_LE(loss.step_kl, loss.radius * (1 + 1e-12));
      EXPECT_LE(loss.radius, loss.newton_radius * (1 + 1e-12));
      EXPECT_EQ(workspace.critic.planned(), share == 0);
      if (share > 0) {
        EXPECT_GT(-loss.cost_gradient.dot(loss.newton_step), 0);
      }
    }
    return critic;
  };
  EXPECT_FALSE(taken(0.6, CriticUse::none));
  EXPECT_TRUE(taken(0.6, CriticUse::model));
  EXPECT_TRUE(taken(0.6, CriticUse::automatic));
  // Without a controller every pole falls: the step is planned.
  EXPECT_TRUE(taken(0.0, CriticUse::automatic));
}

}  // namespace lifeguard::model_critic_test
