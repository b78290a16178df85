// A batch is a pure function of (task, policy, seed, index range), to the bit.

#include <gtest/gtest.h>

#include "lifeguard/trajectories/kernel.hpp"
#include "lifeguard/trajectories/rollout.hpp"
#include "tests/support/trajectories.hpp"

namespace lifeguard::determinism_test {

using test_support::same_bits;

struct Case {
  Task task;
  GaussianPolicy policy;
  RolloutSettings settings;
};

/// Every system with every feature map and integrator, with policies that hold and that fail.
std::vector<Case> cases() {
  std::vector<Case> result;
  for (Task task : test_support::built_in_tasks()) {
    for (const auto integrator : test_support::kIntegrators) {
      task.settings.integrator = integrator;
      for (const Features& features : {Features{}, Features{true, true}}) {
        for (const GaussianPolicy& policy : test_support::assorted_policies(task, features)) {
          result.push_back({task,
                            policy,
                            {.trajectories = 53,
                             .steps = 43,
                             .seed = 20 + result.size(),
                             .first_index = (1ull << 32) - 30,
                             .features = features}});
        }
      }
    }
  }
  return result;
}

/// Uses one SIMD target while it lives.
class TargetChoice {
 public:
  explicit TargetChoice(const std::string& name) { select_simd_target(name); }
  ~TargetChoice() { select_simd_target(""); }
  TargetChoice(const TargetChoice&) = delete;
  TargetChoice& operator=(const TargetChoice&) = delete;
};

TEST(Determinism, EverySimdTargetGivesTheSameBits) {
  const std::vector<std::string> targets = simd_targets();
  ASSERT_FALSE(targets.empty());
  for (const Case& c : cases()) {
    const Trajectories best = rollout(c.task, c.policy, c.settings);
    const double best_cost = evaluate(c.task, c.policy, c.settings).mean_cost;
    for (const std::string& target : targets) {
      const TargetChoice choice(target);
      ASSERT_EQ(current_simd_target(), target);
      ASSERT_TRUE(same_bits(rollout(c.task, c.policy, c.settings), best))
          << target << ' ' << c.task.name << " seed " << c.settings.seed;
      ASSERT_EQ(evaluate(c.task, c.policy, c.settings).mean_cost, best_cost) << target;
    }
  }
}

TEST(Determinism, AnyNumberOfThreadsGivesTheSameBits) {
  for (Case c : cases()) {
    const Trajectories one = rollout(c.task, c.policy, c.settings);
    const Evaluation evaluation = evaluate(c.task, c.policy, c.settings);
    for (const int threads : {2, 3, 0}) {
      c.settings.threads = threads;
      ASSERT_TRUE(same_bits(rollout(c.task, c.policy, c.settings), one)) << threads;
      ASSERT_EQ(evaluate(c.task, c.policy, c.settings).mean_cost, evaluation.mean_cost);
    }
  }
}

TEST(Determinism, AnySplitGivesTheSameTrajectories) {
  for (const Case& c : cases()) {
    const Trajectories whole = rollout(c.task, c.policy, c.settings);
    for (const std::vector<int>& sizes : {std::vector{20, 33}, {16, 16, 16, 5}, {1, 2, 50}}) {
      int first = 0;
      for (const int size : sizes) {
        RolloutSettings settings = c.settings;
        settings.trajectories = size;
        settings.first_index += static_cast<std::uint64_t>(first);
        const Trajectories part = rollout(c.task, c.policy, settings);
        for (int i = 0; i < size; ++i) {
          ASSERT_EQ(part.length(i), whole.length(first + i));
          ASSERT_EQ(part.diverged_flags()[i], whole.diverged_flags()[first + i]);
          for (int m = 0; m < settings.steps; ++m) {
            ASSERT_EQ(part.cost(i, m), whole.cost(first + i, m));
            for (int f = 0; f < part.features(); ++f) {
              ASSERT_EQ(part.feature(i, m, f), whole.feature(first + i, m, f));
            }
            for (int a = 0; a < part.actions(); ++a) {
              ASSERT_EQ(part.action(i, m, a), whole.action(first + i, m, a));
            }
          }
        }
        first += size;
      }
      ASSERT_EQ(first, whole.count());
    }
  }
}

TEST(Determinism, FewerStepsAreTheBeginningOfMore) {
  for (Case c : cases()) {
    const Trajectories longer = rollout(c.task, c.policy, c.settings);
    for (const int steps : {1, 2, 3, 4, 5, 42}) {
      c.settings.steps = steps;
      const Trajectories shorter = rollout(c.task, c.policy, c.settings);
      for (int i = 0; i < shorter.count(); ++i) {
        ASSERT_EQ(shorter.length(i), std::min(longer.length(i), steps));
        ASSERT_EQ(shorter.cost(i, steps - 1), longer.cost(i, steps - 1));
        ASSERT_EQ(shorter.action(i, steps - 1, 0), longer.action(i, steps - 1, 0));
      }
    }
  }
}

TEST(Determinism, AllAtOnceEqualsOneByOne) {
  const std::vector<Case> all = cases();
  for (const int threads : {1, 2, 0}) {
    std::vector<Trajectories> results(all.size());
    std::vector<RolloutRequest> requests;
    for (std::size_t i = 0; i < all.size(); ++i) {
      RolloutSettings settings = all[i].settings;
      settings.trajectories = 1 + static_cast<int>(i) % 40;
      requests.push_back({&all[i].task, &all[i].policy, settings, &results[i]});
    }
    rollout_all(requests, threads);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(same_bits(results[i], rollout(all[i].task, all[i].policy, requests[i].settings)));
    }
  }
}

TEST(Determinism, EvaluationIsTheMeanCostOfTheRollout) {
  for (const Case& c : cases()) {
    const Trajectories batch = rollout(c.task, c.policy, c.settings);
    const Evaluation evaluation = evaluate(c.task, c.policy, c.settings);
    ASSERT_EQ(evaluation.mean_cost, batch.mean_cost());
    ASSERT_EQ(evaluation.failed, batch.failed());
    ASSERT_EQ(evaluation.diverged, batch.diverged());
  }
}

TEST(Determinism, SeedsAndIndicesGiveOtherTrajectories) {
  Case c = cases().front();
  const Trajectories batch = rollout(c.task, c.policy, c.settings);
  for (int i = 1; i < batch.count(); ++i) EXPECT_NE(batch.cost(i, 0), batch.cost(0, 0));
  c.settings.seed += 1;
  const Trajectories other = rollout(c.task, c.policy, c.settings);
  for (int i = 0; i < batch.count(); ++i) EXPECT_NE(batch.cost(i, 0), other.cost(i, 0));
}

TEST(Determinism, ReusedMemoryKeepsNothing) {
  Trajectories reused;
  for (const Case& c : cases()) {
    for (const int count : {1, 5, 16, 17, 33}) {
      RolloutSettings settings = c.settings;
      settings.trajectories = count;
      settings.steps = 7;
      rollout(c.task, c.policy, settings, reused);
      ASSERT_TRUE(same_bits(reused, rollout(c.task, c.policy, settings)));
      ASSERT_TRUE(test_support::well_formed(reused, c.task.settings.failure_cost));
    }
  }
}

}  // namespace lifeguard::determinism_test
