#include "lifeguard/base_learners/joint_critic.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/base_learners/adaptation.hpp"
#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/base_learners/critic_step.hpp"
#include "lifeguard/policy/action_blocks.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::joint_critic_test {

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

/// One state and one action whose value has exactly the critic's dependence on time: the closed
/// loop a + bK = e^{-1/(2τ)} with τ = M/7.5 makes V_m = p (1 - e^{-(M-m)/τ}) x² + a constant, which
/// is linear in M - m and in that.
struct ScalarSystem {
  static constexpr int kSteps = 60;
  double b = 0.5, q = 1, r = 0.2, gain = -0.3;
  double closed() const { return std::exp(-7.5 / (2.0 * kSteps)); }
  double a() const { return closed() - b * gain; }
  double value() const {  // p
    return (q + r * gain * gain) / (1 - closed() * closed());
  }
  LinearSystem system() const {
    LinearSystem s;
    s.a = Eigen::MatrixXd::Constant(1, 1, a());
    s.b = Eigen::MatrixXd::Constant(1, 1, b);
    s.q = Eigen::MatrixXd::Constant(1, 1, q);
    s.r = Eigen::MatrixXd::Constant(1, 1, r);
    s.start_deviation = Eigen::VectorXd::Ones(1);
    s.sigma = 0.1;
    s.steps = kSteps;
    return s;
  }
};

TEST(JointCritic, AgreesWithTheClosedFormOfALinearSystem) {
  LinearSystem system = LinearSystem::example();
  system.steps = 60;
  system.sigma = 0.2;
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const Trajectories batch = system.simulate(system.policy(gains), 400, 3);
  JointCritic critic;
  ASSERT_TRUE(critic.fit(batch, system.policy(gains), {}));
  const Eigen::MatrixXd fisher = fisher_of(batch, system.sigma);
  const Eigen::VectorXd estimate = critic.cost_gradient(fisher, nullptr) / system.steps;
  const Eigen::VectorXd truth = system.expected_gradient(gains);
  EXPECT_LT((estimate - truth).norm(), 0.1 * truth.norm());
  EXPECT_GT(cosine(estimate, truth, fisher), 0.99);
  // H₂ = 2 (R + BᵀPB) away from the end of the horizon.
  const Eigen::MatrixXd p = system.expected_values(gains, 1).p.front();
  const Eigen::MatrixXd second = 2 * (system.r + system.b.transpose() * p * system.b);
  EXPECT_LT((critic.curvatures() - second).norm(), 0.15 * second.norm());
}

TEST(JointCritic, SeesThroughNoiseWhereTheValueHasItsForm) {
  // Two trajectories are enough: what exploration does to V is in no residual. Only near the end of
  // the horizon do W and H depend on the step.
  const ScalarSystem scalar;
  const LinearSystem system = scalar.system();
  const Eigen::MatrixXd gains = Eigen::MatrixXd::Constant(1, 1, scalar.gain);
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Trajectories batch = system.simulate(system.policy(gains), 2, seed);
    JointCritic critic;
    ASSERT_TRUE(critic.fit(batch, system.policy(gains), {}));
    const double w = 2 * (scalar.r * scalar.gain + scalar.b * scalar.value() * scalar.closed());
    const double h = 2 * (scalar.r + scalar.b * scalar.b * scalar.value());
    EXPECT_NEAR(critic.slopes()(0, 0) / w, 1, 0.15) << seed;
    EXPECT_NEAR(critic.curvatures()(0, 0) / h, 1, 0.4) << seed;
    const double noise = critic.step_noise(fisher_of(batch, system.sigma));
    const double length =
        critic.newton_step()(0) * critic.newton_step()(0) * fisher_of(batch, system.sigma)(0, 0);
    EXPECT_LT(noise, 0.1 * length) << seed;
  }
}

/// The gradient of the mean cost by central differences, with the same noise on both sides.
Eigen::VectorXd difference_gradient(const Task& task, const Eigen::VectorXd& alpha, double sigma) {
  RolloutSettings rollouts;
  rollouts.trajectories = 1000;
  rollouts.seed = 999;
  const auto cost = [&](const Eigen::VectorXd& at) {
    return rollout(task, GaussianPolicy::from_parameters(at, task.actions(), sigma), rollouts)
        .mean_cost();
  };
  Eigen::VectorXd gradient(alpha.size());
  const double h = 1e-3 * alpha.cwiseAbs().maxCoeff();
  for (Eigen::Index k = 0; k < alpha.size(); ++k) {
    Eigen::VectorXd above = alpha;
    Eigen::VectorXd below = alpha;
    above(k) += h;
    below(k) -= h;
    gradient(k) = (cost(above) - cost(below)) / (2 * h);
  }
  return gradient;
}

struct WorkingMachine {
  Task task;
  double share;
  double cosine;  // of the critic's mean gradient with the true one, at least
};

TEST(JointCritic, GradientsAreThoseOfTheTrueCost) {
  // 0.6 of LQR gains and 0.3 of the usual noise, where the mass's first actions saturate.
  for (const WorkingMachine& machine :
       {WorkingMachine{make_task("mass", MassSpring{}), 0.6, 0.99},
        WorkingMachine{make_task("mass that saturates", MassSpring{}), 1.5, 0.9},
        WorkingMachine{make_task("cart-pole", CartPole{}), 0.6, 0.99}}) {
    const Task& task = machine.task;
    SCOPED_TRACE(task.name);
    const double sigma = 0.3 * task.settings.sigma.of(0);
    const Eigen::VectorXd alpha = machine.share * parameters_from_gains(lqr_gains(task));
    const GaussianPolicy policy = GaussianPolicy::from_parameters(alpha, task.actions(), sigma);
    const ActionRange range{task.settings.action_low, task.settings.action_high};
    const Eigen::VectorXd truth = difference_gradient(task, alpha, sigma);
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(alpha.size());
    Eigen::MatrixXd fisher;
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds; ++round) {
      RolloutSettings rollouts;
      rollouts.trajectories = 50;
      rollouts.seed = static_cast<std::uint64_t>(round);
      const Trajectories batch = rollout(task, policy, rollouts);
      JointCritic critic;
      ASSERT_TRUE(critic.fit(batch, policy, range));
      fisher = fisher_of(batch, sigma);
      mean += critic.cost_gradient(fisher, nullptr) / (kRounds * batch.steps());
    }
    EXPECT_GT(cosine(mean, truth, fisher), machine.cosine);
    EXPECT_NEAR(mean.norm() / truth.norm(), 1, 0.3);
  }
}

TEST(JointCritic, SignalOfEightTrajectories) {
  // Of its own estimate, and of how much steps of different batches differ.
  for (const Task& task : {make_task("mass", MassSpring{}), make_task("cart-pole", CartPole{})}) {
    SCOPED_TRACE(task.name);
    const double sigma = 0.3 * task.settings.sigma.of(0);
    const GaussianPolicy policy(0.6 * lqr_gains(task), sigma);
    const ActionRange range{task.settings.action_low, task.settings.action_high};
    constexpr int kRounds = 20;
    Eigen::MatrixXd steps(policy.features(), kRounds);
    Eigen::MatrixXd fisher = Eigen::MatrixXd::Zero(policy.features(), policy.features());
    double believed = 0;
    for (int round = 0; round < kRounds; ++round) {
      RolloutSettings rollouts;
      rollouts.trajectories = 8;
      rollouts.seed = 100 + static_cast<std::uint64_t>(round);
      const Trajectories batch = rollout(task, policy, rollouts);
      JointCritic critic;
      ASSERT_TRUE(critic.fit(batch, policy, range));
      steps.col(round) = critic.newton_step();
      fisher += fisher_of(batch, sigma) / kRounds;
      believed += critic.step_noise(fisher_of(batch, sigma)) /
                  critic.newton_step().dot(fisher_of(batch, sigma) * critic.newton_step()) /
                  kRounds;
    }
    const Eigen::VectorXd mean = steps.rowwise().mean();
    double spread = 0;
    double length = 0;
    for (int round = 0; round < kRounds; ++round) {
      const Eigen::VectorXd off = steps.col(round) - mean;
      spread += off.dot(fisher * off) / (kRounds - 1);
      length += steps.col(round).dot(fisher * steps.col(round)) / kRounds;
    }
    EXPECT_LT(spread / length, 0.01);
    EXPECT_LT(believed, 0.02);
  }
}

TEST(JointCritic, DoesNotCareWhatActionsAreMeasuredIn) {
  LinearSystem system = LinearSystem::example();
  system.steps = 40;
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const Trajectories batch = system.simulate(system.policy(gains), 20, 3);
  JointCritic critic;
  ASSERT_TRUE(critic.fit(batch, system.policy(gains), {}));
  // The second action a thousand times as large a number.
  Trajectories scaled = batch;
  for (int i = 0; i < batch.count(); ++i) {
    for (int m = 0; m < batch.steps(); ++m) scaled.action(i, m, 1) *= 1000;
  }
  const Eigen::Vector2d units(1, 1000);
  const GaussianPolicy played(units.asDiagonal() * gains,
                              PerAction(Eigen::VectorXd(system.sigma * units)));
  JointCritic other;
  ASSERT_TRUE(other.fit(scaled, played, {}));
  Eigen::VectorXd expected = critic.newton_step();
  expected.tail(3) *= 1000;
  EXPECT_LT((other.newton_step() - expected).norm(), 1e-6 * expected.norm());
}

TEST(JointCritic, BootstrapsWhatWasCutShortAndKnowsWhatFailuresCost) {
  LinearSystem system = LinearSystem::example();
  system.steps = 60;
  system.sigma = 0.2;
  const Eigen::MatrixXd gains = 0.6 * system.optimal_gains();
  const GaussianPolicy policy = system.policy(gains);
  Trajectories batch = system.simulate(policy, 200, 5);
  JointCritic critic;
  ASSERT_TRUE(critic.fit(batch, policy, {}));
  const Eigen::MatrixXd whole = critic.slopes();
  for (int i = 0; i < batch.count(); i += 2) {
    const int length = 2 + i % 6;
    Eigen::VectorXd x(3);
    for (int f = 0; f < 3; ++f) x(f) = batch.feature(i, length, f);
    batch.cut(i, length, {x.data(), 3});
  }
  ASSERT_TRUE(critic.fit(batch, policy, {}));
  EXPECT_LT((critic.slopes() - whole).norm(), 0.1 * whole.norm());
  // Had they been taken for failures that cost nothing, V would be another one.
  for (int i = 0; i < batch.count(); i += 2) batch.fail(i, batch.length(i), 0);
  ASSERT_TRUE(critic.fit(batch, policy, {}));
  EXPECT_GT((critic.slopes() - whole).norm(), 0.1 * whole.norm());
}

TEST(JointCritic, RefusesWhatDoesNotDetermineIt) {
  const Task task = make_task("cart-pole", CartPole{});
  const GaussianPolicy policy(0.6 * lqr_gains(task), task.settings.sigma);
  RolloutSettings rollouts;
  rollouts.trajectories = 2;
  rollouts.steps = 20;
  JointCritic critic;
  EXPECT_FALSE(critic.fit(rollout(task, policy, rollouts), policy, {}));
  const Task quadrotor = make_task("quadrotor", Quadrotor{});
  const GaussianPolicy hovering(0.6 * lqr_gains(quadrotor), quadrotor.settings.sigma);
  rollouts.trajectories = 8;
  rollouts.steps = 150;
  EXPECT_FALSE(critic.fit(rollout(quadrotor, hovering, rollouts), hovering, {}));
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
      EXPECT_GT(-loss.cost_gradient.dot(loss.newton_step), 0);
    }
    return critic;
  };
  EXPECT_FALSE(taken(0.6, CriticUse::none));
  EXPECT_TRUE(taken(0.6, CriticUse::joint));
  EXPECT_TRUE(taken(0.6, CriticUse::automatic));
  // Without a controller every pole falls.
  EXPECT_FALSE(taken(0.0, CriticUse::automatic));
}

}  // namespace lifeguard::joint_critic_test
