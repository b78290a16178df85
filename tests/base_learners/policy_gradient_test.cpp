#include "lifeguard/base_learners/policy_gradient.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <cstdio>

#include "lifeguard/base_learners/advantages.hpp"
#include "lifeguard/base_learners/exponential.hpp"
#include "lifeguard/base_learners/natural_actor_critic.hpp"
#include "lifeguard/base_learners/step_size.hpp"
#include "lifeguard/systems/built_in_systems.hpp"
#include "lifeguard/systems/lqr.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::policy_gradient_test {

using test_support::LinearSystem;

/// Of an entry of the gradient, from the spread over trajectories.
double standard_error(const PolicyGradient& g, int entry, int count) {
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    squares += std::pow(g.trajectory_gradient(entry, i) - g.gradient(entry), 2);
  }
  return std::sqrt(squares) / count;
}

TEST(LinearSystem, GradientIsTheDerivativeOfTheExpectedCost) {
  const LinearSystem system = LinearSystem::example();
  const Eigen::MatrixXd k = LinearSystem::example_gains();
  const Eigen::VectorXd gradient = system.expected_gradient(k);
  for (int e = 0; e < gradient.size(); ++e) {
    Eigen::VectorXd up = parameters_from_gains(k), down = up;
    up(e) += 1e-5;
    down(e) -= 1e-5;
    const double slope = (system.expected_cost(gains_from_parameters(up, 2)) -
                          system.expected_cost(gains_from_parameters(down, 2))) /
                         2e-5;
    EXPECT_NEAR(gradient(e), slope, 1e-7 * gradient.norm());
  }
}

TEST(PolicyGradient, AgreesWithThePlainSum) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  PolicyGradient g;
  for (const int count : {1, 16, 37}) {
    Trajectories t = system.simulate(policy, count, 3);
    if (count > 4) test_support::fail(t, 3, 4, 2.0);
    AdvantageWorkspace w;
    compute_advantages(t, AdvantageSettings{}, w);
    compute_policy_gradient(t, policy, w.advantages.data(), g, w.values.data());
    const double precision = 1 / (system.sigma * system.sigma);
    Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(2, 3);
    Eigen::MatrixXd fisher = Eigen::MatrixXd::Zero(3, 3);
    Eigen::Vector2d noise_sum = Eigen::Vector2d::Zero();
    double noise_squares = 0, largest = 0;
    for (int i = 0; i < count; ++i) {
      for (int m = 0; m < t.steps(); ++m) {
        const Eigen::Vector3d x(t.feature(i, m, 0), t.feature(i, m, 1), t.feature(i, m, 2));
        const Eigen::Vector2d u(t.action(i, m, 0), t.action(i, m, 1));
        const std::size_t at = static_cast<std::size_t>(m) * t.stride() + i;
        gradient += w.advantages[at] * precision / count * (u - policy.mean(x)) * x.transpose();
        fisher += w.values[at] * precision / count * x * x.transpose();
        const Eigen::Vector2d noise = u - policy.mean(x);
        noise_sum += noise;
        noise_squares += noise.squaredNorm();
        largest = std::max(largest, noise.squaredNorm());
      }
    }
    EXPECT_LT((g.gradient - parameters_from_gains(gradient)).norm(), 1e-12 * (1 + gradient.norm()));
    EXPECT_LT((g.fisher - fisher).norm(), 1e-12 * fisher.norm());
    EXPECT_LT((g.noise_sums - noise_sum).norm(), 1e-12 * count);
    EXPECT_NEAR(g.noise_squares, noise_squares, 1e-12 * noise_squares);
    EXPECT_NEAR(g.largest_noise_square, largest, 1e-12 * largest);
  }
}

// With discount and trace 1 every combination of the other parts must estimate the gradient of the
// expected cost itself, here known in closed form.
class EveryEstimator : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Combinations, EveryEstimator, ::testing::Range(0, 16));

TEST_P(EveryEstimator, FollowsTheGradientOfTheExpectedCost) {
  const LinearSystem system = LinearSystem::example();
  const Eigen::MatrixXd k = LinearSystem::example_gains();
  const GaussianPolicy policy = system.policy(k);
  AdvantageSettings s;
  s.cost_to_go = GetParam() & 1;
  s.step_mean = GetParam() & 2;
  s.state_baseline = GetParam() & 4;
  s.normalise = GetParam() & 8;
  s.discount = s.trace = 1;
  const int count = 30000;
  const Trajectories t = system.simulate(policy, count, 17);
  AdvantageWorkspace w;
  PolicyGradient g;
  const AdvantageSummary summary = compute_advantages(t, s, w);
  compute_policy_gradient(t, policy, w.advantages.data(), g);
  const Eigen::VectorXd expected = system.expected_gradient(k);
  const double unit = summary.scale / system.steps;
  double largest_ratio = 0;
  for (int e = 0; e < expected.size(); ++e) {
    const double deviation = unit * standard_error(g, e, count);
    EXPECT_NEAR(unit * g.gradient(e), expected(e), 4 * deviation) << "entry " << e;
    largest_ratio = std::max(largest_ratio, std::abs(expected(e)) / deviation);
  }
  // The intervals are narrow enough for a wrong factor of 2 to show.
  EXPECT_GT(largest_ratio, 6);
  EXPECT_LT((g.fisher - system.expected_fisher(k)).norm(), 0.05 * g.fisher.norm());
}

TEST(PolicyGradient, FollowsTheExpectedCostOfTheSimulatedMass) {
  Task task = make_task("mass", MassSpring{});
  task.settings.action_low.setConstant(-1e9);  // linear throughout, as the closed form assumes
  task.settings.action_high.setConstant(1e9);
  const LinearModel model = task.linearise();
  LinearSystem system;
  system.a = model.a;
  system.b = model.b;
  system.q = task.settings.state_weights.asDiagonal();
  system.r = task.settings.action_weights.asDiagonal();
  // A uniform start in [-h, h] has the second moment h² / 3.
  system.start_deviation = task.settings.start_high / std::sqrt(3.0);
  system.sigma = task.settings.sigma.of(0);
  system.steps = 40;
  Eigen::MatrixXd k(1, 2);
  k << -1.0, -0.8;
  RolloutSettings settings;
  settings.trajectories = 20000;
  settings.steps = system.steps;
  const GaussianPolicy policy = system.policy(k);
  const Trajectories t = rollout(task, policy, settings);
  EXPECT_NEAR(t.mean_cost(), system.expected_cost(k), 0.02 * t.mean_cost());
  AdvantageSettings s;
  s.discount = s.trace = 1;
  AdvantageWorkspace w;
  PolicyGradient g;
  const AdvantageSummary summary = compute_advantages(t, s, w);
  compute_policy_gradient(t, policy, w.advantages.data(), g);
  const Eigen::VectorXd expected = system.expected_gradient(k);
  const double unit = summary.scale / system.steps;
  for (int e = 0; e < expected.size(); ++e) {
    const double error = unit * standard_error(g, e, t.count());
    EXPECT_NEAR(unit * g.gradient(e), expected(e), 4 * error) << "entry " << e;
    EXPECT_LT(error, 0.2 * expected.norm());
  }
}

// Baselines are fitted to the batch that they are subtracted from, and take a part of the gradient
// with them: 1/n is the step mean's, the rest is the state baseline's, whose fit feels all steps of
// a trajectory. The gradient of a large batch is the reference.
TEST(PolicyGradient, BaselinesTakeAFewPartsInNOfIt) {
  AdvantageSettings s;
  s.discount = s.trace = 1;
  s.normalise = false;
  for (const Task& task : {make_task("mass", MassSpring{}), make_task("cart-pole", CartPole{}),
                           make_task("quadrotor", Quadrotor{})}) {
    const GaussianPolicy policy(0.5 * lqr_gains(task), task.settings.sigma);
    AdvantageWorkspace w;
    PolicyGradient g;
    Trajectories t;
    Eigen::LLT<Eigen::MatrixXd> factor;
    const auto gradient = [&](int trajectories, std::uint64_t seed) {
      RolloutSettings batch;
      batch.trajectories = trajectories;
      batch.seed = seed;
      rollout(task, policy, batch, t);
      compute_advantages(t, s, w);
      compute_policy_gradient(t, policy, w.advantages.data(), g);
      return g.gradient;
    };
    const Eigen::VectorXd reference = gradient(5000, 1);
    factor.compute(g.fisher);
    // Along the reference, in the natural metric.
    Eigen::VectorXd along = reference;
    solve_blocks(factor, along);
    along /= along.dot(reference);
    for (const int n : {10, 20}) {
      const int batches = 1000;
      double sum = 0, squares = 0;
      for (int b = 0; b < batches; ++b) {
        const double share = along.dot(gradient(n, 100 + static_cast<std::uint64_t>(b)));
        sum += share;
        squares += share * share;
      }
      const double mean = sum / batches;
      const double error = std::sqrt((squares / batches - mean * mean) / batches);
      const double parts = n * (1 - mean);
      std::printf("%s, n = %d: 1 - (%.2f +- %.2f)/n\n", task.name.c_str(), n, parts, 2 * n * error);
      EXPECT_GT(parts + 3 * n * error, 2) << task.name;
      EXPECT_LT(parts - 3 * n * error, 6) << task.name;
    }
  }
}

TEST(PolicyGradient, IsAdditiveOverTrajectories) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  const Trajectories all = system.simulate(policy, 30, 4);
  AdvantageSettings s;
  s.step_mean = s.state_baseline = s.normalise = false;
  const auto gradient_of = [&](int first, int count) {
    Trajectories part(count, all.steps(), all.features(), all.actions());
    for (int i = 0; i < count; ++i) {
      for (int m = 0; m < all.steps(); ++m) {
        for (int f = 0; f < 3; ++f) part.feature(i, m, f) = all.feature(first + i, m, f);
        for (int a = 0; a < 2; ++a) part.action(i, m, a) = all.action(first + i, m, a);
        part.cost(i, m) = all.cost(first + i, m);
      }
    }
    AdvantageWorkspace w;
    PolicyGradient g;
    compute_advantages(part, s, w);
    compute_policy_gradient(part, policy, w.advantages.data(), g);
    return g;
  };
  const PolicyGradient whole = gradient_of(0, 30), head = gradient_of(0, 12),
                       tail = gradient_of(12, 18);
  const Eigen::VectorXd mean = (12 * head.gradient + 18 * tail.gradient) / 30;
  EXPECT_LT((whole.gradient - mean).norm(), 1e-12 * mean.norm());
  const Eigen::MatrixXd fisher = (12 * head.fisher + 18 * tail.fisher) / 30;
  EXPECT_LT((whole.fisher - fisher).norm(), 1e-12 * fisher.norm());
}

// ĝ differentiates the importance-weighted cost, along any direction.
TEST(ImportanceLine, HasTheGradientAsItsSlope) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  Trajectories t = system.simulate(policy, 21, 8);
  test_support::fail(t, 5, 3, 4.0);
  AdvantageWorkspace w;
  PolicyGradient g;
  compute_advantages(t, AdvantageSettings{}, w);
  compute_policy_gradient(t, policy, w.advantages.data(), g);
  ImportanceLine line;
  for (int e = 0; e < g.gradient.size(); ++e) {
    const Eigen::VectorXd direction = Eigen::VectorXd::Unit(g.gradient.size(), e);
    line.prepare(t, policy, w.advantages.data(), direction, 21);
    const double h = 1e-5;
    EXPECT_EQ(line.at(0).value, 0);
    EXPECT_DOUBLE_EQ(line.at(0).effective_share, 1);
    EXPECT_NEAR((line.at(h).value - line.at(-h).value) / (2 * h), -g.gradient(e),
                1e-7 * (1 + g.gradient.norm()));
    EXPECT_LT(line.at(1.0).effective_share, 1);
  }
}

TEST(Exponential, IsAccurate) {
  for (double x = -700; x < 700; x += 0.0371) {
    ASSERT_NEAR(exponential(x) / std::exp(x), 1, 6e-16) << x;
  }
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1e9), exponential(-700));
  EXPECT_EQ(exponential(1e9), exponential(700));
}

}  // namespace lifeguard::policy_gradient_test
