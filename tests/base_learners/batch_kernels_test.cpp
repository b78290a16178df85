#include "lifeguard/base_learners/batch_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "lifeguard/base_learners/base_learner.hpp"
#include "lifeguard/trajectories/kernel.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::batch_kernels_test {

using test_support::LinearSystem;

TEST(BatchKernels, EveryTargetGivesTheSameBits) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  Trajectories t = system.simulate(policy, 45, 12);
  test_support::fail(t, 7, 6, 3.0);
  test_support::cut(t, 11, 5);
  test_support::cut(t, 12, 2);
  const std::vector<std::string> targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::natural_actor_critic, BaseLearnerMethod::natural_actor_critic_regression,
        BaseLearnerMethod::weighted_likelihood}) {
    BaseLearnerSettings settings;
    settings.method = method;
    settings.advantages.baseline_sweeps = 2;
    BaseLearnerWorkspace w;
    const RoundLoss best = make_round_loss(t, policy, 1, settings, w);
    for (const std::string& target : targets) {
      select_simd_target(target);
      const RoundLoss loss = make_round_loss(t, policy, 1, settings, w);
      EXPECT_EQ(loss.target, best.target) << target;
      EXPECT_EQ(loss.curvature, best.curvature) << target;
      EXPECT_EQ(loss.cost_gradient, best.cost_gradient) << target;
      EXPECT_EQ(loss.constant, best.constant) << target;
      EXPECT_EQ(loss.mean_cost, best.mean_cost) << target;
    }
    select_simd_target("");
  }
}

// Rows are read in whole groups of lanes; what lies behind the last trajectory must not matter.
TEST(BatchKernels, NumbersBehindTheLastTrajectoryDoNotMatter) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  Trajectories t = system.simulate(policy, 13, 12);
  test_support::cut(t, 4, 6);
  BaseLearnerWorkspace w;
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::natural_actor_critic, BaseLearnerMethod::natural_actor_critic_regression,
        BaseLearnerMethod::weighted_likelihood}) {
    BaseLearnerSettings settings;
    settings.method = method;
    const RoundLoss clean = make_round_loss(t, policy, 0, settings, w);
    Trajectories dirty = t;
    for (int m = 0; m < t.steps(); ++m) {
      for (std::size_t i = 13; i < t.stride(); ++i) {
        for (int f = 0; f < 3; ++f) dirty.feature_row(m, f)[i] = std::nan("");
        for (int a = 0; a < 2; ++a) dirty.action_row(m, a)[i] = std::nan("");
        dirty.cost_row(m)[i] = std::nan("");
      }
    }
    const RoundLoss loss = make_round_loss(dirty, policy, 0, settings, w);
    EXPECT_EQ(loss.target, clean.target);
    EXPECT_EQ(loss.curvature, clean.curvature);
    EXPECT_EQ(loss.mean_cost, clean.mean_cost);
  }
}

}  // namespace lifeguard::batch_kernels_test
