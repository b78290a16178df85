#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/core/numbers.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <cmath>
#include <cstdio>
#include <vector>

#include "lifeguard/base_learners/weighted_likelihood.hpp"
#include "lifeguard/core/check.hpp"
#include "tests/base_learners/linear_system.hpp"
#include "tests/support/allocation_count.hpp"

namespace lifeguard::base_learner_test {

using test_support::LinearSystem;

const LinearSystem& example() {
  static const LinearSystem system = LinearSystem::example();
  return system;
}
GaussianPolicy example_policy() { return example().policy(LinearSystem::example_gains()); }

BaseLearnerSettings settings_of(BaseLearnerMethod method) {
  BaseLearnerSettings s;
  s.method = method;
  return s;
}

RoundLoss loss_of(const Trajectories& t, const BaseLearnerSettings& s, double visit = 0) {
  BaseLearnerWorkspace w;
  return make_round_loss(t, example_policy(), visit, s, w);
}

Eigen::VectorXd random_parameters(int size, std::uint64_t index) {
  const CounterRandom random(77, RandomStream::user, index);
  Eigen::VectorXd alpha(size);
  for (int e = 0; e < size; ++e) alpha(e) = random.normal(static_cast<std::uint32_t>(e));
  return alpha;
}

class EveryMethod : public ::testing::TestWithParam<BaseLearnerMethod> {};
INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod,
                         ::testing::Values(BaseLearnerMethod::reinforce,
                                           BaseLearnerMethod::natural_actor_critic,
                                           BaseLearnerMethod::natural_actor_critic_regression,
                                           BaseLearnerMethod::weighted_likelihood,
                                           BaseLearnerMethod::fit_demonstrations));

TEST_P(EveryMethod, LossIsAQuadraticAroundItsTarget) {
  for (const LossScale scale : {LossScale::metric, LossScale::cost}) {
    BaseLearnerSettings s = settings_of(GetParam());
    s.loss_scale = scale;
    const Trajectories t = example().simulate(example_policy(), 40, 1);
    const RoundLoss loss = loss_of(t, s);
    ASSERT_EQ(loss.status, RoundLossStatus::ok);
    EXPECT_EQ(loss.trajectories, 40);
    EXPECT_EQ(loss.features(), 3);
    EXPECT_EQ(loss.actions(), 2);
    EXPECT_NEAR(loss.mean_cost, t.mean_cost(), 1e-12);
    EXPECT_EQ(loss.curvature, loss.curvature.transpose());
    EXPECT_GT(loss.curvature.selfadjointView<Eigen::Lower>().eigenvalues()(0), 0);
    EXPECT_EQ(loss.value(loss.target), loss.constant);
    EXPECT_GT(loss.value(loss.played), loss.constant);
    EXPECT_GT(loss.step_kl, 0);
    for (std::uint64_t trial = 0; trial < 5; ++trial) {
      const Eigen::VectorXd alpha = random_parameters(6, trial);
      const Eigen::VectorXd gradient = loss.gradient(alpha);
      for (int e = 0; e < 6; ++e) {
        const Eigen::VectorXd step = 1e-4 * Eigen::VectorXd::Unit(6, e);
        EXPECT_NEAR(gradient(e), (loss.value(alpha + step) - loss.value(alpha - step)) / 2e-4,
                    1e-6 * (1 + gradient.norm()));
      }
    }
  }
}

TEST_P(EveryMethod, IsAFunctionOfTheBatchAlone) {
  const BaseLearnerSettings s = settings_of(GetParam());
  const Trajectories t = example().simulate(example_policy(), 40, 1);
  BaseLearnerWorkspace used;
  RoundLoss reused;
  make_round_loss(example().simulate(example_policy(), 70, 2), example_policy(), 3, s, used,
                  reused);
  make_round_loss(t, example_policy(), 2, s, used, reused);
  const RoundLoss fresh = loss_of(t, s, 2);
  EXPECT_EQ(reused.target, fresh.target);
  EXPECT_EQ(reused.curvature, fresh.curvature);
  EXPECT_EQ(reused.constant, fresh.constant);
  EXPECT_EQ(reused.step_kl, fresh.step_kl);
}

TEST_P(EveryMethod, AllocatesNothingInTheSteadyState) {
  if (!test_support::allocations_are_counted())
    GTEST_SKIP() << "allocations are not counted in this build";
  for (const StepRule rule : {StepRule::trust_region, StepRule::line_search}) {
    BaseLearnerSettings s = settings_of(GetParam());
    s.step.rule = rule;
    const Trajectories t = example().simulate(example_policy(), 40, 1);
    const GaussianPolicy policy = example_policy();
    BaseLearnerWorkspace w;
    RoundLoss loss;
    make_round_loss(t, policy, 0, s, w, loss);
    const std::int64_t before = test_support::allocation_count();
    for (int visit = 1; visit < 4; ++visit) make_round_loss(t, policy, visit, s, w, loss);
    EXPECT_EQ(test_support::allocation_count(), before);
  }
}

TEST_P(EveryMethod, BadInputThrowsAndLeavesTheLossAlone) {
  const BaseLearnerSettings s = settings_of(GetParam());
  const Trajectories good = example().simulate(example_policy(), 10, 1);
  BaseLearnerWorkspace w;
  RoundLoss loss;
  make_round_loss(good, example_policy(), 0, s, w, loss);
  const RoundLoss before = loss;
  const auto rejects = [&](const Trajectories& t, const GaussianPolicy& policy, double visit,
                           const BaseLearnerSettings& settings, const std::string& field) {
    try {
      make_round_loss(t, policy, visit, settings, w, loss);
      ADD_FAILURE() << "accepted bad " << field;
    } catch (const InvalidInput& e) {
      EXPECT_NE(e.field().find(field), std::string::npos) << e.what();
    }
    EXPECT_EQ(loss.target, before.target);
    EXPECT_EQ(loss.curvature, before.curvature);
    EXPECT_EQ(loss.constant, before.constant);
    EXPECT_EQ(loss.mean_cost, before.mean_cost);
    EXPECT_EQ(loss.played, before.played);
    EXPECT_EQ(loss.status, before.status);
  };
  for (const double bad : {kNaN, kInfinity}) {
    Trajectories t = good;
    t.feature(3, 4, 1) = bad;
    rejects(t, example_policy(), 0, s, "feature (trajectory 3, step 4, column 1)");
    t = good;
    t.action(9, 9, 0) = bad;
    rejects(t, example_policy(), 0, s, "action (trajectory 9, step 9, column 0)");
    t = good;
    t.cost(0, 0) = bad;
    rejects(t, example_policy(), 0, s, "cost (trajectory 0, step 0");
  }
  Trajectories t = good;
  for (int m = 0; m < t.steps(); ++m) t.feature(2, m, 0) = 1e200;
  rejects(t, example_policy(), 0, s, "trajectories");
  t = good;
  t.set_length(2, 11);
  rejects(t, example_policy(), 0, s, "length[2]");
  t.set_length(2, -1);
  rejects(t, example_policy(), 0, s, "length[2]");
  rejects(Trajectories{}, example_policy(), 0, s, "trajectories");
  rejects(good, GaussianPolicy(Eigen::MatrixXd::Zero(2, 4), 0.5), 0, s, "features");
  rejects(good, GaussianPolicy(Eigen::MatrixXd::Zero(1, 3), 0.5), 0, s, "actions");
  rejects(good, example_policy().without_noise(), 0, s, "sigma");
  rejects(good, example_policy(), -1, s, "visit");
  rejects(good, example_policy(), kNaN, s, "visit");
  BaseLearnerSettings bad = s;
  bad.temperature = 0;
  rejects(good, example_policy(), 0, bad, "temperature");
  bad = s;
  bad.relative_damping = 0;
  rejects(good, example_policy(), 0, bad, "relative_damping");
  bad = s;
  bad.step.trust_region = -1;
  rejects(good, example_policy(), 0, bad, "trust_region");
}

TEST_P(EveryMethod, SingularCurvatureIsDampedAndSaid) {
  Trajectories t = example().simulate(example_policy(), 30, 1);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) t.feature(i, m, 2) = 2 * t.feature(i, m, 0);
  }
  const RoundLoss loss = loss_of(t, settings_of(GetParam()));
  EXPECT_EQ(loss.status, RoundLossStatus::damped_curvature);
  EXPECT_TRUE(loss.target.allFinite());
  EXPECT_TRUE(loss.curvature.allFinite());
  EXPECT_LT((loss.target - loss.played).norm(), 100);
}

TEST_P(EveryMethod, NothingToLearnFromIsNoSignal) {
  Trajectories t = example().simulate(example_policy(), 30, 1);
  for (int i = 0; i < t.count(); ++i) test_support::fail(t, i, 0, 3.0);
  const RoundLoss loss = loss_of(t, settings_of(GetParam()));
  EXPECT_EQ(loss.status, RoundLossStatus::no_signal);
  EXPECT_EQ(loss.target, loss.played);
  EXPECT_NEAR(loss.mean_cost, 3.0, 1e-12);
}

TEST(BaseLearner, EqualCostsLeaveThePolicyWhereItIs) {
  Trajectories t = example().simulate(example_policy(), 30, 1);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) t.cost(i, m) = 1.0;
  }
  const RoundLoss loss = loss_of(t, {});
  EXPECT_EQ(loss.status, RoundLossStatus::no_signal);
  EXPECT_EQ(loss.target, loss.played);
}

TEST(BaseLearner, CostScaleIsTheLinearisedCostPlusItsMetric) {
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::reinforce, BaseLearnerMethod::natural_actor_critic,
        BaseLearnerMethod::natural_actor_critic_regression}) {
    BaseLearnerSettings s = settings_of(method);
    s.loss_scale = LossScale::cost;
    s.step.shrinkage = NoiseShrinkage::none;
    const RoundLoss loss = loss_of(example().simulate(example_policy(), 40, 6), s);
    EXPECT_NEAR(loss.value(loss.played), loss.mean_cost, 1e-12);
    EXPECT_LT((loss.gradient(loss.played) - loss.cost_gradient).norm(),
              1e-10 * loss.cost_gradient.norm());
  }
}

TEST(BaseLearner, NormalisationDoesNotChangeUnits) {
  const Trajectories t = example().simulate(example_policy(), 40, 6);
  BaseLearnerSettings s;
  s.advantages.step_mean = true;
  const RoundLoss with = loss_of(t, s);
  s.advantages.normalise = false;
  const RoundLoss without = loss_of(t, s);
  EXPECT_LT((with.cost_gradient - without.cost_gradient).norm(),
            1e-3 * without.cost_gradient.norm());
  EXPECT_NEAR(with.noise_share, without.noise_share, 1e-3);
}

TEST(Steps, FollowTheirFormulas) {
  const Trajectories t = example().simulate(example_policy(), 40, 6);
  BaseLearnerSettings s;
  s.step.shrinkage = NoiseShrinkage::none;
  s.step.trust_region = 0.3;
  s.step.decay = 1.5;
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::reinforce, BaseLearnerMethod::natural_actor_critic,
        BaseLearnerMethod::natural_actor_critic_regression}) {
    s.method = method;
    s.step.rule = StepRule::trust_region;
    EXPECT_NEAR(loss_of(t, s, 0).step_kl, 0.3, 1e-12);
    EXPECT_NEAR(loss_of(t, s, 3).step_kl, 0.3 / 8, 1e-12);
    const RoundLoss loss = loss_of(t, s, 0);
    if (method != BaseLearnerMethod::reinforce) {
      EXPECT_NEAR(loss.value(loss.played), 0.3, 1e-12);  // the metric scale is in nats
    }
    s.step.rule = StepRule::fixed;
    s.step.size = 0.01;
    const Eigen::VectorXd fixed = loss_of(t, s, 7).target - loss.played;
    s.step.rule = StepRule::harmonic;
    const Eigen::VectorXd harmonic = loss_of(t, s, 7).target - loss.played;
    EXPECT_LT((fixed / 8 - harmonic).norm(), 1e-12);
    EXPECT_GT(fixed.dot(loss.target - loss.played), 0);
  }
  s.method = BaseLearnerMethod::reinforce;
  s.step.rule = StepRule::fixed;
  s.advantages.normalise = false;
  const RoundLoss loss = loss_of(t, s);
  EXPECT_LT((loss.target - (loss.played - 0.01 * loss.cost_gradient * t.steps())).norm(), 1e-12);
  EXPECT_NEAR(s.step.radius(0), 0.3, 1e-16);
}

// What the base learner says of its step, against the loss that it made: with and without noise
// that shortens it, in nats and in units of cost.
TEST(Steps, CarryTheirRadiusAndUnit) {
  const Trajectories t = example().simulate(example_policy(), 40, 6);
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::reinforce, BaseLearnerMethod::natural_actor_critic,
        BaseLearnerMethod::natural_actor_critic_regression, BaseLearnerMethod::weighted_likelihood,
        BaseLearnerMethod::fit_demonstrations}) {
    for (const LossScale scale : {LossScale::metric, LossScale::cost}) {
      for (const NoiseShrinkage shrinkage : {NoiseShrinkage::none, NoiseShrinkage::measured}) {
        BaseLearnerSettings s;
        s.method = method;
        s.loss_scale = scale;
        s.step.shrinkage = shrinkage;
        BaseLearnerWorkspace workspace;
        const RoundLoss loss = make_round_loss(t, example_policy(), 0, s, workspace);
        const double distance = loss.value(loss.played) - loss.constant;
        EXPECT_NEAR(loss.radius * loss.shrinkage * loss.shrinkage, distance, 1e-9 * distance);
        if (shrinkage == NoiseShrinkage::none) {
          EXPECT_EQ(loss.shrinkage, 1);
        }
        EXPECT_EQ(loss.shrinkage_floor,
                  shrinkage == NoiseShrinkage::none ? 1 : s.step.shrinkage_floor);
        if (method == BaseLearnerMethod::fit_demonstrations) {
          EXPECT_TRUE(std::isnan(loss.cost_unit));
        } else if (method != BaseLearnerMethod::natural_actor_critic_regression) {
          EXPECT_LT(
              (loss.cost_unit * workspace.policy_gradient.gradient - loss.cost_gradient).norm(),
              1e-12 * loss.cost_gradient.norm());
        }
      }
    }
  }
}

TEST(Steps, LineSearchLowersTheTrueCost) {
  BaseLearnerSettings s;
  s.step.rule = StepRule::line_search;
  s.step.shrinkage = NoiseShrinkage::none;
  s.step.trust_region = 64;
  const double before = example().expected_cost(LinearSystem::example_gains());
  int better = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RoundLoss loss = loss_of(example().simulate(example_policy(), 50, 100 + seed), s);
    // One of the twelve radii 64 · 2^{-k}.
    const double k = std::log2(64 / loss.step_kl);
    EXPECT_NEAR(k, std::round(k), 1e-9);
    EXPECT_GE(k, 0);
    EXPECT_LT(k, 11.5);
    better += example().expected_cost(gains_from_parameters(loss.target, 2)) < before ? 1 : 0;
  }
  EXPECT_GE(better, 18);
}

/// Mean of independent numbers and its standard error.
struct Estimate {
  explicit Estimate(const std::vector<double>& numbers) {
    const double n = static_cast<double>(numbers.size());
    for (const double x : numbers) mean += x / n;
    double squares = 0;
    for (const double x : numbers) squares += (x - mean) * (x - mean);
    error = std::sqrt(squares / (n - 1) / n);
  }
  double mean = 0;
  double error = 0;
};

// N is what sampling adds to q on average: E[ĝᵀF⁻¹ĝ] = gᵀF⁻¹g + N.
TEST(NoiseShrinkage, MeasuredNoiseIsWhatSamplingAdds) {
  BaseLearnerSettings s;
  s.advantages.discount = s.advantages.trace = 1;
  s.advantages.state_baseline = s.advantages.normalise = false;
  const Eigen::MatrixXd k = LinearSystem::example_gains();
  const double truth = example().expected_gradient(k).dot(example().expected_natural_gradient(k));
  std::vector<double> signal, noise;
  for (std::uint64_t b = 0; b < 600; ++b) {
    const RoundLoss loss = loss_of(example().simulate(example_policy(), 100, 1000 + b), s);
    noise.push_back(loss.noise_share * loss.natural_norm_squared);
    signal.push_back(loss.natural_norm_squared - noise.back());
  }
  EXPECT_GT(Estimate(noise).mean, truth);  // without it the estimate would be twice too long
  EXPECT_LT(Estimate(signal).error, 0.15 * truth);
  // The baseline and F come from the same hundred trajectories, which shifts q by a few percent.
  EXPECT_NEAR(Estimate(signal).mean, truth, 4 * Estimate(signal).error + 0.05 * truth);
}

// Costs that have nothing to do with the actions: all of q is noise, and both estimates say so.
TEST(NoiseShrinkage, PureNoiseHasNoiseShareOne) {
  for (const NoiseShrinkage kind : {NoiseShrinkage::white, NoiseShrinkage::measured}) {
    BaseLearnerSettings s;
    s.step.shrinkage = kind;
    s.advantages.trace = 0;
    s.advantages.state_baseline = false;
    double q = 0, noise = 0;
    for (std::uint64_t b = 0; b < 200; ++b) {
      Trajectories t = example().simulate(example_policy(), 50, b);
      for (int i = 0; i < t.count(); ++i) {
        const CounterRandom random(b, RandomStream::user, 90000 + static_cast<std::uint64_t>(i));
        for (int m = 0; m < t.steps(); ++m) {
          t.cost(i, m) = random.normal(static_cast<std::uint32_t>(m));
        }
      }
      const RoundLoss loss = loss_of(t, s);
      q += loss.natural_norm_squared;
      noise += loss.noise_share * loss.natural_norm_squared;
      const double full = std::sqrt(s.step.trust_region / loss.step_kl);
      EXPECT_NEAR(1 / full, std::max(0.05, 1 - loss.noise_share), 1e-9);
    }
    EXPECT_NEAR(noise / q, 1, 0.12);
  }
}

TEST(NaturalActorCritic, BothFormsEstimateTheNaturalGradient) {
  LinearSystem system = LinearSystem::example();
  system.start_deviation *= 0.2;  // most of the return's variance then comes from the actions
  const Eigen::MatrixXd k = LinearSystem::example_gains();
  const Eigen::VectorXd expected = system.expected_natural_gradient(k);
  BaseLearnerSettings s;
  s.advantages.discount = s.advantages.trace = 1;
  s.advantages.normalise = false;
  s.step.rule = StepRule::fixed;
  s.step.size = 1;
  s.step.shrinkage = NoiseShrinkage::none;
  const int batches = 40;
  for (const BaseLearnerMethod method : {BaseLearnerMethod::natural_actor_critic,
                                         BaseLearnerMethod::natural_actor_critic_regression}) {
    s.method = method;
    Eigen::MatrixXd directions(6, batches);
    for (int b = 0; b < batches; ++b) {
      const Trajectories t =
          system.simulate(system.policy(k), 1500, 50 + static_cast<std::uint64_t>(b));
      const RoundLoss loss = loss_of(t, s);
      directions.col(b) = (loss.played - loss.target) / system.steps;
    }
    const Eigen::VectorXd mean = directions.rowwise().mean();
    double squared_error = 0;  // expected, of the mean
    for (int e = 0; e < 6; ++e) {
      const double variance =
          (directions.row(e).array() - mean(e)).square().sum() / (batches - 1.0) / batches;
      EXPECT_NEAR(mean(e), expected(e), 4 * std::sqrt(variance)) << "entry " << e;
      squared_error += variance;
    }
    EXPECT_LT(std::sqrt(squared_error), 0.1 * expected.norm());  // or the test would say little
  }
}

BaseLearnerSettings regression_settings(double discount, bool discount_scores) {
  BaseLearnerSettings s = settings_of(BaseLearnerMethod::natural_actor_critic_regression);
  s.advantages.discount = discount;
  s.discount_scores = discount_scores;
  s.step.rule = StepRule::fixed;
  s.step.size = 1;
  s.step.shrinkage = NoiseShrinkage::none;
  return s;
}

// The regression as the textbook has it: one row (Σ_m w_m ∇log π, 1) and one return for each
// trajectory, by a dense solver.
TEST(NaturalActorCritic, RegressionAgreesWithTheDenseOneInBothConventions) {
  const GaussianPolicy policy = example_policy();
  const Trajectories t = example().simulate(policy, 40, 3);
  for (const double discount : {1.0, 0.9}) {
    for (const bool discount_scores : {false, true}) {
      Eigen::MatrixXd rows = Eigen::MatrixXd::Ones(t.count(), 7);
      Eigen::VectorXd returns = Eigen::VectorXd::Zero(t.count());
      for (int i = 0; i < t.count(); ++i) {
        Eigen::MatrixXd score = Eigen::MatrixXd::Zero(2, 3);
        for (int m = 0; m < t.steps(); ++m) {
          Eigen::Vector3d x;
          for (int f = 0; f < 3; ++f) x(f) = t.feature(i, m, f);
          const Eigen::Vector2d u(t.action(i, m, 0), t.action(i, m, 1));
          const double weight = discount_scores ? std::pow(discount, m) : 1.0;
          score +=
              weight / (policy.sigma() * policy.sigma()) * (u - policy.mean(x)) * x.transpose();
          returns(i) += std::pow(discount, m) * t.cost(i, m);
        }
        rows.row(i).head(6) = parameters_from_gains(score).transpose();
      }
      const Eigen::VectorXd expected = rows.colPivHouseholderQr().solve(returns);
      const RoundLoss loss = loss_of(t, regression_settings(discount, discount_scores));
      EXPECT_LT((loss.played - loss.target - expected.head(6)).norm(), 1e-9 * expected.norm());
    }
  }
}

// What each convention estimates where γ < 1, against the closed form: undiscounted scores give
// F⁻¹g with the gradient g = Σ γ^m g_m of the discounted cost; discounted ones count every step
// γ^{2m} in both.
TEST(NaturalActorCritic, ConventionsOfTheRegressionEstimateWhatTheySay) {
  LinearSystem system = LinearSystem::example();
  system.start_deviation *= 0.2;
  const Eigen::MatrixXd k = LinearSystem::example_gains();
  const double discount = 0.9;
  const std::vector<Eigen::VectorXd> gradients = system.expected_step_gradients(k, discount);
  std::vector<Eigen::MatrixXd> fishers;  // of each step
  for (int m = 0; m < system.steps; ++m) {
    LinearSystem shorter = system;
    shorter.steps = m;
    const Eigen::MatrixXd before = shorter.expected_fisher(k);
    shorter.steps = m + 1;
    fishers.push_back(shorter.expected_fisher(k) - before);
  }
  std::vector<Eigen::VectorXd> limits;
  for (const bool discount_scores : {false, true}) {
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(6);
    Eigen::MatrixXd fisher = Eigen::MatrixXd::Zero(3, 3);
    for (int m = 0; m < system.steps; ++m) {
      const double weight = discount_scores ? std::pow(discount, m) : 1.0;
      gradient += weight * std::pow(discount, m) * gradients[m];
      fisher += weight * weight * fishers[m];
    }
    const Eigen::VectorXd expected =
        parameters_from_gains(gains_from_parameters(gradient, 2) * fisher.inverse());
    limits.push_back(expected);
    const int batches = 40;
    Eigen::MatrixXd directions(6, batches);
    for (int b = 0; b < batches; ++b) {
      const Trajectories t =
          system.simulate(system.policy(k), 1500, 950 + static_cast<std::uint64_t>(b));
      const RoundLoss loss = loss_of(t, regression_settings(discount, discount_scores));
      directions.col(b) = loss.played - loss.target;
    }
    const Eigen::VectorXd mean = directions.rowwise().mean();
    double squared_error = 0;
    for (int e = 0; e < 6; ++e) {
      const double variance =
          (directions.row(e).array() - mean(e)).square().sum() / (batches - 1.0) / batches;
      EXPECT_NEAR(mean(e), expected(e), 4 * std::sqrt(variance)) << "entry " << e;
      squared_error += variance;
    }
    EXPECT_LT(std::sqrt(squared_error), 0.1 * expected.norm());
  }
  const double apart = (limits[0] - limits[1]).norm() / limits[0].norm();
  std::printf("the two conventions are %.0f %% apart\n", 100 * apart);
  EXPECT_GT(apart, 0.2);
}

TEST(NaturalActorCritic, RegressionWithTooFewTrajectoriesIsDamped) {
  const RoundLoss loss = loss_of(example().simulate(example_policy(), 4, 1),
                                 settings_of(BaseLearnerMethod::natural_actor_critic_regression));
  EXPECT_EQ(loss.status, RoundLossStatus::damped_curvature);
  EXPECT_TRUE(std::isnan(loss.noise_share));
  EXPECT_TRUE(loss.target.allFinite());
}

TEST(WeightedLikelihood, WeightsAreFairAndFavourCheapSteps) {
  Trajectories t = example().simulate(example_policy(), 30, 2);
  test_support::fail(t, 4, 2, 9.0);
  AdvantageWorkspace a;
  compute_advantages(t, AdvantageSettings{}, a);
  AlignedVector<double> weights;
  likelihood_weights(t, a.advantages.data(), 0.5, weights);
  double sum = 0, live = 0;
  for (int m = 0; m < t.steps(); ++m) {
    for (int i = 0; i < t.count(); ++i) {
      const std::size_t at = static_cast<std::size_t>(m) * t.stride() + i;
      ASSERT_GE(weights[at], 0);
      if (m >= t.length(i)) {
        ASSERT_EQ(weights[at], 0);
        continue;
      }
      sum += weights[at];
      live += 1;
      if (i + 1 < t.length(i) && m + 1 < t.length(i)) {
        const std::size_t next = at + t.stride();
        ASSERT_EQ(weights[at] > weights[next], a.advantages[at] < a.advantages[next]);
      }
    }
  }
  EXPECT_NEAR(sum / live, 1, 1e-12);
}

TEST(WeightedLikelihood, LossIsTheNegativeLogLikelihood) {
  const Trajectories t = example().simulate(example_policy(), 30, 2);
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::weighted_likelihood, BaseLearnerMethod::fit_demonstrations}) {
    BaseLearnerWorkspace w;
    const RoundLoss loss = make_round_loss(t, example_policy(), 0, settings_of(method), w);
    for (std::uint64_t trial = 0; trial < 5; ++trial) {
      const Eigen::VectorXd alpha = random_parameters(6, trial);
      const double direct = weighted_negative_log_likelihood(
          t, GaussianPolicy::from_parameters(alpha, 2, example().sigma), w.weights.data());
      EXPECT_NEAR(loss.value(alpha), direct, 1e-10 * direct);
    }
  }
}

// The targets' steps, measured along the gradient of the true expected cost.
TEST(WeightedLikelihood, DescendsWhereUnitWeightsStay) {
  LinearSystem system = LinearSystem::example();
  system.start_deviation *= 0.2;
  const GaussianPolicy policy = example_policy();
  const Eigen::VectorXd gradient = system.expected_gradient(policy.gains());
  // Every step: the default stride would leave the baseline two of these ten steps.
  BaseLearnerSettings settings = settings_of(BaseLearnerMethod::weighted_likelihood);
  settings.advantages.baseline_stride = 1;
  std::vector<double> weighted, unit;
  for (std::uint64_t b = 0; b < 100; ++b) {
    const Trajectories t = system.simulate(policy, 100, 300 + b);
    RoundLoss loss = loss_of(t, settings);
    weighted.push_back(gradient.dot(loss.target - loss.played));
    loss = loss_of(t, settings_of(BaseLearnerMethod::fit_demonstrations));
    unit.push_back(gradient.dot(loss.target - loss.played));
  }
  EXPECT_LT(Estimate(weighted).mean, -6 * Estimate(weighted).error);
  EXPECT_NEAR(Estimate(unit).mean, 0, 4 * Estimate(unit).error);
  EXPECT_LT(Estimate(unit).error, -0.1 * Estimate(weighted).mean);
}

TEST(FitDemonstrations, FindsTheDemonstratorsGains) {
  Eigen::MatrixXd expert(2, 3);
  expert << 0.4, -1.0, 0.2, 0.3, 0.1, -0.7;
  const Trajectories t = example().simulate(GaussianPolicy(expert, 0.0), 10, 2);
  const RoundLoss loss = loss_of(t, settings_of(BaseLearnerMethod::fit_demonstrations));
  EXPECT_LT((loss.target - parameters_from_gains(expert)).norm(), 1e-9);
  EXPECT_TRUE(std::isnan(loss.natural_norm_squared));
}

TEST(RoundLoss, IsBornNotRun) {
  const RoundLoss loss;
  EXPECT_EQ(loss.status, RoundLossStatus::not_run);
  EXPECT_TRUE(std::isnan(loss.constant));
  EXPECT_TRUE(std::isnan(loss.mean_cost));
  EXPECT_EQ(loss.actions(), 0);
  const RoundLoss run = loss_of(example().simulate(example_policy(), 10, 2), {});
  EXPECT_THROW(run.value(Eigen::VectorXd::Zero(5)), InvalidInput);
  EXPECT_THROW(run.gradient(Eigen::VectorXd::Zero(7)), InvalidInput);
}

}  // namespace lifeguard::base_learner_test
