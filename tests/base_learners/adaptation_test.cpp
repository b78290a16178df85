#include "lifeguard/base_learners/adaptation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/core/numbers.hpp"
#include "tests/support/synthetic_losses.hpp"

namespace lifeguard::adaptation_test {

TEST(Adaptation, WithoutFailuresOnlyTheTrustRegionFollowsTheLength) {
  const Trajectories batch(4, 30, 2, 1);
  BaseLearnerSettings base;
  AdaptationSettings adaptation;
  adaptation.trust_region_per_step = 0.5;
  const BaseLearnerSettings result = adapted(base, adaptation, batch);
  EXPECT_DOUBLE_EQ(result.advantages.discount, base.advantages.discount);
  EXPECT_EQ(result.step.trust_region, 15.0);
}

TEST(Adaptation, FailuresShortenTheHorizonAndTheTrustRegion) {
  Trajectories batch(4, 30, 2, 1);
  batch.set_length(0, 10);
  batch.set_length(1, 20);
  BaseLearnerSettings base;
  base.advantages.discount = 0.98;
  AdaptationSettings adaptation;
  adaptation.failure_horizon = 5;
  adaptation.trust_region_per_step = 1;
  const BaseLearnerSettings half = adapted(base, adaptation, batch);
  EXPECT_NEAR(1 - half.advantages.discount, 0.5 * 0.02 + 0.5 * 0.2, 1e-12);
  EXPECT_NEAR(half.step.trust_region, 22.5, 1e-12);
  for (int i = 0; i < 4; ++i) batch.set_length(i, 3);
  EXPECT_NEAR(adapted(base, adaptation, batch).advantages.discount, 0.8, 1e-12);
}

TEST(Adaptation, ZeroLeavesTheBaseLearnerAlone) {
  Trajectories batch(4, 30, 2, 1);
  batch.set_length(0, 10);
  const BaseLearnerSettings base;
  EXPECT_EQ(adapted(base, {0.0, 0.0, 0.0, 0.0}, batch), base);
}

/// A batch whose advantages are exactly quadratic in the exploration noise.
struct QuadraticBatch {
  Trajectories trajectories;
  GaussianPolicy policy;
  AlignedVector<double> advantages;

  PolicyGradient gradient() const {
    PolicyGradient result;
    compute_policy_gradient(trajectories, policy, advantages.data(), result);
    return result;
  }
};

QuadraticBatch quadratic_batch(std::uint64_t seed, int actions, double curvature) {
  const int features = 3;
  const double sigma = 0.4;
  Draws draws(seed);
  QuadraticBatch b{Trajectories(300, 20, features, actions),
                   GaussianPolicy(draws.normals(actions, features), sigma),
                   {}};
  b.advantages.assign(20 * b.trajectories.stride(), 0.0);
  for (int m = 0; m < 20; ++m) {
    for (int i = 0; i < 300; ++i) {
      const Eigen::VectorXd x = draws.normals(features, 1);
      const Eigen::VectorXd noise = sigma * draws.normals(actions, 1);
      const Eigen::VectorXd u = b.policy.mean(x) + noise;
      for (int f = 0; f < features; ++f) b.trajectories.feature(i, m, f) = x(f);
      for (int a = 0; a < actions; ++a) b.trajectories.action(i, m, a) = u(a);
      b.advantages[m * b.trajectories.stride() + i] =
          0.5 * curvature * (noise.squaredNorm() - actions * sigma * sigma) + noise(0) * x(1);
    }
  }
  return b;
}

TEST(Adaptation, ActionCurvatureIsTheSecondDerivativeInTheActions) {
  for (const int actions : {1, 4}) {
    const QuadraticBatch b = quadratic_batch(5, actions, 3.0);
    const double found = action_curvature(b.trajectories, b.gradient());
    EXPECT_NEAR(found, 3.0 * 0.16, 0.05) << actions;
  }
  // Without curvature the answer is the noise floor, not a negative number or zero.
  const QuadraticBatch flat = quadratic_batch(6, 2, -3.0);
  EXPECT_NEAR(action_curvature(flat.trajectories, flat.gradient()), 2 * std::sqrt(2.0 / (6000 * 2)),
              1e-12);
}

struct StepExample {
  QuadraticBatch batch = quadratic_batch(5, 1, 3.0);
  PolicyGradient gradient = batch.gradient();
  RoundLoss loss;
  double radius = 50;

  StepExample() {
    gradient.gradient = Eigen::Vector3d(2, 0, 0);
    loss.status = RoundLossStatus::ok;
    loss.curvature = Eigen::MatrixXd::Identity(3, 3);
    loss.played = Eigen::Vector3d(1, 1, 1);
    loss.cost_gradient = Eigen::Vector3d(0.5, 0, 0);  // in other units than the advantages
    loss.cost_unit = 0.25;
    loss.natural_norm_squared = 0.25;
    loss.radius = radius;
    loss.target = loss.played - std::sqrt(2 * radius / 4) * Eigen::Vector3d(2, 0, 0);
    loss.step_kl = radius;
    loss.noise_share = 0.4;
  }
  void adapt(double sure, double newton) {
    AdaptationSettings settings;
    settings.sure_noise_share = sure;
    settings.newton_limit = newton;
    adapt_step(settings, radius, batch.trajectories, gradient, loss);
  }
};

TEST(Adaptation, StepsBeyondTheNewtonStepAreCutToIt) {
  StepExample e;
  const double h = action_curvature(e.batch.trajectories, e.gradient);
  e.adapt(0.0, 1.0);
  // Newton's step is F⁻¹ĝ / h in units of the advantages.
  EXPECT_NEAR(e.loss.played(0) - e.loss.target(0), 2 / h, 1e-9);
  EXPECT_NEAR(e.loss.step_kl, 0.5 * (2 / h) * (2 / h), 1e-9);
  const Eigen::VectorXd kept = e.loss.target;
  e.radius = e.loss.step_kl;
  e.adapt(0.0, 100.0);
  EXPECT_EQ(e.loss.target, kept);
}

TEST(Adaptation, SureDirectionsAreFollowedFurther) {
  StepExample e;
  const Eigen::VectorXd step = e.loss.target - e.loss.played;
  e.adapt(0.4, 0.0);  // not surer than that
  EXPECT_EQ(e.loss.target - e.loss.played, step);
  e.adapt(0.9, 0.0);  // a radius of 2.25 times as much
  EXPECT_LT((e.loss.target - e.loss.played - 1.5 * step).norm(), 1e-9);
  EXPECT_NEAR(e.loss.step_kl, 2.25 * 50, 1e-9);
  EXPECT_NEAR(e.loss.radius, 2.25 * 50, 1e-9);
  // ... which no certainty lets grow by more than eight times,
  StepExample sure;
  sure.adapt(4000, 0.0);
  EXPECT_LT((sure.loss.target - sure.loss.played - std::sqrt(8.0) * step).norm(), 1e-9);
  // ... but not beyond the Newton step.
  StepExample limited;
  limited.adapt(3.6, 1.0);
  const double h = action_curvature(limited.batch.trajectories, limited.gradient);
  EXPECT_NEAR(limited.loss.played(0) - limited.loss.target(0), 2 / h, 1e-9);
  // A noise share that is not known says nothing.
  StepExample unknown;
  unknown.loss.noise_share = std::nan("");
  unknown.adapt(3.6, 0.0);
  EXPECT_EQ(unknown.loss.target - unknown.loss.played, step);
}

}  // namespace lifeguard::adaptation_test
