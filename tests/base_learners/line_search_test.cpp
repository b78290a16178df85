#include "lifeguard/base_learners/line_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lifeguard/core/check.hpp"
#include "tests/base_learners/linear_system.hpp"

namespace lifeguard::line_search_test {

using test_support::LinearSystem;

TEST(LineSearch, FindsTheRadiusOfLowestImportanceWeightedCost) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  const Trajectories t = system.simulate(policy, 40, 3);
  for (const BaseLearnerMethod method :
       {BaseLearnerMethod::reinforce, BaseLearnerMethod::natural_actor_critic}) {
    BaseLearnerSettings settings;
    settings.method = method;
    settings.step.trust_region = 8;
    settings.step.line_search_effective_share = 0.2;
    BaseLearnerWorkspace w;
    const LineSearchResult found = search_trust_region(t, policy, settings, w);
    ASSERT_EQ(found.status, RoundLossStatus::ok);

    // All candidates, one after the other.
    ImportanceLine line;
    line.prepare(t, policy, w.advantages.advantages.data(), w.direction, 10);
    double lowest = std::numeric_limits<double>::infinity();
    double best = 0;
    for (int k = 0; k < settings.step.line_search_candidates; ++k) {
      const double radius = 8 * std::pow(0.5, k);
      const double step = found.step * std::sqrt(radius / found.trust_region);
      const ImportanceLine::Point point = line.at(step);
      if (point.effective_share >= 0.2 && point.value < lowest) {
        lowest = point.value;
        best = radius;
      }
    }
    EXPECT_NEAR(found.trust_region, best, 1e-9 * best);
    EXPECT_LT(lowest, 0);

    // What it returns is the step that the rule takes.
    settings.step.rule = StepRule::trust_region;
    settings.step.trust_region = found.trust_region;
    settings.step.shrinkage = NoiseShrinkage::none;
    const RoundLoss loss = make_round_loss(t, policy, 0, settings, w);
    EXPECT_LT((loss.played - found.step * w.direction - loss.target).norm(), 1e-9);
  }
}

TEST(LineSearch, SaysWhenThereIsNothingToSearchAlong) {
  const LinearSystem system = LinearSystem::example();
  const GaussianPolicy policy = system.policy(LinearSystem::example_gains());
  Trajectories t = system.simulate(policy, 12, 3);
  BaseLearnerWorkspace w;
  BaseLearnerSettings settings;
  settings.method = BaseLearnerMethod::fit_demonstrations;
  EXPECT_THROW(search_trust_region(t, policy, settings, w), InvalidInput);
  for (int i = 0; i < t.count(); ++i) {
    for (int m = 0; m < t.steps(); ++m) t.cost(i, m) = 1;
  }
  const LineSearchResult none = search_trust_region(t, policy, BaseLearnerSettings{}, w);
  EXPECT_EQ(none.status, RoundLossStatus::no_signal);
  EXPECT_TRUE(std::isnan(none.trust_region));
}

}  // namespace lifeguard::line_search_test
